// What a query of a live index searches for.
#pragma once

#include "base/cancel.h"
#include "search/query.h"
#include "sql/index/content_rows.h"
#include "sql/index/index_definition.h"
#include "sql/nn/glove_nn_inputs.h"

namespace glove::sql {

// Returns the vector of the input `query` for an index of `dims` dimensions (0: it has never had a row);
// nullopt if it has no rows. REQUIRES: rows.begin() was called, and the float environment.
Result<MaybeQuery> index_query(const IndexDefinition& index, ContentRows& rows, int64_t dims,
                               const nn::ExprValue& query, const InterruptCheck& interrupted);

}  // namespace glove::sql
