// A model or an index as a side of a join.
#pragma once

#include <memory>
#include <string_view>

#include "search/pair_join.h"
#include "sql/adapter/arguments.h"
#include "sql/adapter/connection.h"

namespace glove::sql {

class JoinTarget : public JoinSide {
 public:
  // Makes the key of a row the result: a word of a model, the key of a row of an index, or a JSON array of
  // the key's columns if there are several.
  virtual Status return_key(sqlite3_context* context, int64_t id) = 0;
  // Identifies the model or the index among those of the connection.
  virtual std::string_view identity() const = 0;
};

// Finds the model or the index of this name, which may be 'schema.name'. `function` begins the messages.
// `among`: as an input of that name; null: all rows. The pin must outlive the target.
Result<std::unique_ptr<JoinTarget>> open_join_target(Connection::Pin& models, const char* function,
                                                     std::string_view name, sqlite3_value* among,
                                                     const InterruptCheck& interrupted);

}  // namespace glove::sql
