// Reads, shows and returns values, in addition to sql/adapter/arguments.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/concat.h"
#include "base/status.h"
#include "sql/adapter/boundary.h"

namespace glove::sql {

// Returns the int64_t that a value equals, as do 3, 3.0 and '3'; nullopt if there is none.
std::optional<int64_t> whole_number(sqlite3_value* value);

// Returns a value as error messages show it: text is quoted and cut after 60 bytes.
std::string shown_value(sqlite3_value* value);

// Makes JSON text the result of the function, marked so that SQLite's JSON functions do not quote it. The
// function needs the flag SQLITE_RESULT_SUBTYPE.
void return_json(sqlite3_context* context, std::string_view json);

// Returns an error about an argument or input. `object`, the name of a function or table, begins the message,
// and the pieces follow, as concat() joins them.
template <class... Pieces>
Error invalid_value(std::string_view object, const Pieces&... pieces) {
  return invalid_argument(object, ": ", pieces...);
}

// Returns the error with the name of the function or table before its message.
Error named_error(std::string_view object, const Error& error);
// The same if the error is about an argument or input; otherwise returns the error itself.
Error named_argument_error(std::string_view object, const Error& error);

}  // namespace glove::sql
