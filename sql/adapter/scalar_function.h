// The adapter between SQLite's scalar functions and C++ functions.
#pragma once

#include "base/status.h"
#include "sql/adapter/arguments.h"
#include "sql/adapter/boundary.h"

namespace glove::sql {

// The callback of SQLite that runs kBody inside guard().
template <Status (*kBody)(sqlite3_context*, Arguments)>
void scalar_callback(sqlite3_context* context, int argc, sqlite3_value** argv) noexcept {
  guard(context, [&] { return kBody(context, Arguments(argv, static_cast<size_t>(argc))); });
}

// Registers kBody as the function `name`, as register_function() does. kBody sets the result, which is NULL
// by default, or returns an error.
template <Status (*kBody)(sqlite3_context*, Arguments)>
int register_scalar_function(sqlite3* db, Engine& engine, const char* name, int fewest, int most, int flags) {
  return register_function(db, engine, name, fewest, most, flags, scalar_callback<kBody>);
}

}  // namespace glove::sql
