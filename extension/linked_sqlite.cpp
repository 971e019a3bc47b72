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

// tests/architecture compares these lists with the calls in sql/ and extension/.
#define SET(name) routines.name = sqlite3_##name

// The calls of functions and virtual tables.
void set_object_calls(sqlite3_api_routines& routines) {
  SET(aggregate_context);
  SET(context_db_handle);
  SET(declare_vtab);
  SET(get_auxdata);
  SET(result_blob64);
  SET(result_double);
  SET(result_error);
  SET(result_error_code);
  SET(result_error_nomem);
  SET(result_int);
  SET(result_int64);
  SET(result_null);
  SET(result_subtype);
  SET(result_text);
  SET(result_text64);
  SET(result_value);
  SET(set_auxdata);
  SET(user_data);
  SET(value_blob);
  SET(value_bytes);
  SET(value_double);
  SET(value_dup);
  SET(value_free);
  SET(value_int64);
  SET(value_numeric_type);
  SET(value_pointer);
  SET(value_text);
  SET(value_type);
  SET(vtab_collation);
  SET(vtab_in);
  SET(vtab_in_first);
  SET(vtab_in_next);
  SET(vtab_rhs_value);
}

// The calls of connections and statements, and others.
void set_other_calls(sqlite3_api_routines& routines) {
  SET(bind_blob64);
  SET(bind_double);
  SET(bind_int64);
  SET(bind_pointer);
  SET(bind_text);
  SET(bind_value);
  SET(blob_bytes);
  SET(blob_close);
  SET(blob_open);
  SET(blob_read);
  SET(clear_bindings);
  SET(column_count);
  SET(column_int64);
  SET(column_text);
  SET(column_type);
  SET(column_value);
  SET(create_function_v2);
  SET(create_module_v2);
  SET(create_window_function);
  SET(db_config);
  SET(db_filename);
  SET(db_handle);
  SET(errmsg);
  SET(errstr);
  SET(exec);
  SET(file_control);
  SET(finalize);
  SET(free);
  SET(get_autocommit);
  SET(is_interrupted);
  SET(last_insert_rowid);
  SET(libversion);
  SET(libversion_number);
  SET(limit);
  SET(log);
  SET(mprintf);
  SET(next_stmt);
  SET(prepare_v2);
  SET(randomness);
  SET(reset);
  SET(set_last_insert_rowid);
  SET(sql);
  SET(step);
  SET(stmt_busy);
  SET(stmt_readonly);
  SET(stricmp);
  SET(strnicmp);
  SET(table_column_metadata);
  SET(total_changes);
  SET(txn_state);
}

#undef SET

sqlite3_api_routines make_routines() {
  sqlite3_api_routines routines{};
  set_object_calls(routines);
  set_other_calls(routines);
  return routines;
}

}  // namespace

const sqlite3_api_routines* linked_sqlite() {
  static const sqlite3_api_routines routines = make_routines();
  return &routines;
}

}  // namespace glove
