// The features of the running SQLite. The headers are newer than most libraries that load the extension, so
// check here before calling any interface that is newer than the oldest supported SQLite (3.9).
#pragma once

#include "sql/adapter/boundary.h"

// The newest SQLite whose interfaces this build uses. Tests lower it to exclude newer calls.
#ifndef GLOVE_SQLITE_CEILING
#define GLOVE_SQLITE_CEILING 999999999
#endif

namespace glove::sql {

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

}  // namespace glove::sql
