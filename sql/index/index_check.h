// Whether a live index agrees with its content.
#pragma once

#include <string>

#include "base/status.h"
#include "sql/index/content_rows.h"
#include "sql/index/index_definition.h"
#include "sql/index/index_store.h"

namespace glove::sql {

// Reads all segments and stored vectors from the database and every row of the content, and returns what is
// wrong, or nothing.
// Rows that the content lost without a log entry are not wrong: REPLACE deletes rows without firing triggers.
Result<std::string> find_problem(const IndexDefinition& index, IndexStore& store, ContentRows& rows,
                                 VectorStore& vectors);

}  // namespace glove::sql
