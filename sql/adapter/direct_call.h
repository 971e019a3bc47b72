// The rule for the functions that read or write files, run SQL or change the process: only a statement of the
// application calls them, never the text of a database file. SQLite enforces that for SQLITE_DIRECTONLY
// only in part: before 3.30 not at all, and in CHECK constraints not in every version since.
#pragma once

#include "sql/adapter/arguments.h"

namespace glove::sql {

// Returns an error unless the call is one that the application wrote:
// - a statement that runs now calls the function in its own text, as sqlite3_sql() returns it. A statement
//   that is explained does not, nor does the SELECT of glove_load_table.
// - no table of an attached database calls one of these functions, in a CHECK constraint for example. A
//   cursor that is left open is a statement that runs, so the first condition alone is not sufficient. A
//   database that no statement of the connection reads or writes is not looked at if it cannot be read, or
//   if looking would begin its part of an open transaction; none of its tables is in use then.
// A call whose first argument is constant is checked once per run of its statement. The function must have
// been made by direct_function().
Status check_direct_call(sqlite3_context* context);

// The same for an aggregate, which checks its first row: checks each call.
Status check_direct_step(sqlite3_context* context);

// The callback of SQLite that runs kBody inside guard() if check_direct_call() permits that.
template <Status (*kBody)(sqlite3_context*, Arguments)>
void direct_callback(sqlite3_context* context, int argc, sqlite3_value** argv) noexcept {
  guard(context, [&]() -> Status {
    GLOVE_RETURN_IF_ERROR(check_direct_call(context));
    return kBody(context, Arguments(argv, static_cast<size_t>(argc)));
  });
}

// Returns such a function, like scalar_function(). direct_call.cpp lists it by its name.
template <Status (*kBody)(sqlite3_context*, Arguments)>
constexpr SqlObject direct_function(const char* name, int fewest, int most) {
  return {name, nullptr, fewest, most, SQLITE_DIRECTONLY, direct_callback<kBody>};
}

}  // namespace glove::sql
