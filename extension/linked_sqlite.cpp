// Compiled for the static library only, where sqlite3ext.h must declare SQLite's functions instead of macros.
#define SQLITE_CORE
#include "extension/linked_sqlite.h"

// Null in a program that links an older SQLite, for which sqlite_has() returns false, or one without
// blob_open.
#pragma weak sqlite3_bind_pointer
#pragma weak sqlite3_blob_bytes
#pragma weak sqlite3_blob_close
#pragma weak sqlite3_blob_open
#pragma weak sqlite3_blob_read
#pragma weak sqlite3_create_window_function
#pragma weak sqlite3_is_interrupted
#pragma weak sqlite3_set_last_insert_rowid
#pragma weak sqlite3_txn_state
#pragma weak sqlite3_value_pointer
#pragma weak sqlite3_vtab_collation
#pragma weak sqlite3_vtab_in
#pragma weak sqlite3_vtab_in_first
#pragma weak sqlite3_vtab_in_next
#pragma weak sqlite3_vtab_rhs_value

namespace glove {
namespace {

sqlite3_api_routines make_routines() {
  sqlite3_api_routines routines{};
#define SET(name) routines.name = sqlite3_##name
#include "sqlite_calls.inc"  // by cmake/WriteSqliteCalls.cmake
#undef SET
  return routines;
}

}  // namespace

const sqlite3_api_routines* linked_sqlite() {
  static const sqlite3_api_routines routines = make_routines();
  return &routines;
}

}  // namespace glove
