// The boundary between C++ and SQLite: the only place that converts errors to SQLite codes and stops
// exceptions. Every callback that we register runs a body that returns a Status inside guard(). The
// exceptions are the noexcept callbacks of sql/adapter/table.h, which free an object or return a value of the
// current row from memory.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/float_environment.h"
#include "base/status.h"
// SQLite's functions are called through this table. A program may contain other extensions with a table of
// the usual name.
#define sqlite3_api glove_sqlite3_api
#include "sqlite3ext.h"

SQLITE_EXTENSION_INIT3

// The newest SQLite whose interfaces this build uses. Tests lower it to exclude newer calls.
#ifndef GLOVE_SQLITE_CEILING
#define GLOVE_SQLITE_CEILING 999999999
#endif

namespace glove::sql {

// The features of the running SQLite. The headers are newer than most libraries that load the extension, so
// check here before calling any interface that is newer than the oldest supported SQLite (3.9).

// True if the running SQLite is at least `version` (3038000 is 3.38.0) and the build may use it.
inline bool sqlite_has(int version) {
  return version <= GLOVE_SQLITE_CEILING && sqlite3_libversion_number() >= version;
}

constexpr int kSqliteSetLastInsertRowid = 3018000;  // sqlite3_set_last_insert_rowid
constexpr int kSqlitePointers = 3020000;            // sqlite3_bind_pointer, sqlite3_value_pointer
constexpr int kSqliteVtabCollation = 3022000;       // sqlite3_vtab_collation
constexpr int kSqliteWindowFunctions = 3025000;     // sqlite3_create_window_function
constexpr int kSqliteDirectOnly = 3030000;          // SQLITE_DIRECTONLY
constexpr int kSqliteTxnState = 3034000;            // sqlite3_txn_state
constexpr int kSqliteVtabIn = 3038000;         // sqlite3_vtab_in, _rhs_value; LIMIT and OFFSET constraints
constexpr int kSqliteIsInterrupted = 3041000;  // sqlite3_is_interrupted

// SQLITE_NOMEM, SQLITE_INTERRUPT or SQLITE_ERROR.
int sqlite_code(ErrorCode code);

// Returns a copy of the message in memory from sqlite3_malloc, as sqlite3_vtab::zErrMsg and the entry point's
// error argument require. The copy is valid UTF-8, whatever values the message names. Returns nullptr if out
// of memory; the code then has to do.
char* sqlite_message(const std::string& message);

// Replaces the message of the table and returns the code for the callback to return.
int report(sqlite3_vtab* table, const Error& error);
// Makes the error the result of the function.
void report(sqlite3_context* context, const Error& error);

// Calls sqlite3_declare_vtab. If that fails, returns SQLite's error in *message, and SQLITE_INTERRUPT for an
// interrupt, which SQLite calls SQLITE_ERROR. For an eponymous table SQLite passes on only the message.
int declare_table(sqlite3* db, const char* schema, char** message);

// Runs `body` (() -> Status) in the project's floating-point environment; `target` is a sqlite3_vtab* or a
// sqlite3_context*. No exception escapes: std::bad_alloc becomes SQLITE_NOMEM, and any other exception
// becomes SQLITE_ERROR with its text.
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

// The code of a database that refused a statement of the extension's own is that of the user's statement: an
// application repeats its transaction when it sees SQLITE_BUSY.

// Remembers the code for the callback of SQLite that runs on this thread; SQLITE_OK forgets it. Ignores
// SQLITE_CONSTRAINT, which would promise that nothing was written.
void remember_database_code(int code) noexcept;

// Returns the remembered code in place of SQLITE_ERROR, if there is one, and otherwise `code`.
int database_code_for(int code) noexcept;

// Runs body(), which returns an SQLite code, and returns database_code_for() it.
template <class Body>
int with_database_code(Body&& body) {
  remember_database_code(SQLITE_OK);
  return database_code_for(body());
}

}  // namespace glove::sql
