// The border between C++ and SQLite: the only place where errors become SQLite codes and where
// exceptions stop. Every callback that SQLite gets from us is one of these guards around a body that
// returns a Status, but for the noexcept ones of sql/vtab/table.h: they free what SQLite hands back, or
// answer from memory for a row that is there already.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/float_environment.h"
#include "base/status.h"
#include "sqlite3ext.h"

SQLITE_EXTENSION_INIT3

namespace glove::sql {

// SQLITE_NOMEM, SQLITE_INTERRUPT or SQLITE_ERROR.
int sqlite_code(ErrorCode code);

// A copy of the message in sqlite3_malloc'ed memory, well-formed UTF-8 whatever values it names, as
// sqlite3_vtab::zErrMsg and the entry point's error argument want it; nullptr when memory is short (the code
// alone then tells).
char* sqlite_message(const std::string& message);

// Replaces the table's message and gives the code to return.
int report(sqlite3_vtab* table, const Error& error);
// Makes the error the function's result.
void report(sqlite3_context* context, const Error& error);

// Runs `body` (() -> Status) inside the project's float environment; target is a sqlite3_vtab* or a
// sqlite3_context*. Nothing escapes: bad_alloc becomes SQLITE_NOMEM, any other exception
// SQLITE_ERROR with its text.
template <class Target, class Body>
int guard(Target* target, Body&& body) noexcept;

namespace detail {
inline int finish(sqlite3_vtab* table, const Error& error) {
  return report(table, error);
}
inline int finish(sqlite3_context* context, const Error& error) {
  report(context, error);
  return sqlite_code(error.code);
}
}  // namespace detail

template <class Target, class Body>
int guard(Target* target, Body&& body) noexcept {
  try {
    ScopedFloatEnvironment float_environment;
    Status status = std::forward<Body>(body)();
    return status.ok() ? SQLITE_OK : detail::finish(target, status.error());
  } catch (const std::bad_alloc&) {
    if constexpr (std::is_same_v<Target, sqlite3_context>) sqlite3_result_error_nomem(target);
    return SQLITE_NOMEM;
  } catch (const std::exception& exception) {
    try {
      return detail::finish(target, Error{ErrorCode::kInvalidArgument, exception.what()});
    } catch (...) {
      return SQLITE_NOMEM;
    }
  } catch (...) {
    return SQLITE_ERROR;
  }
}

}  // namespace glove::sql
