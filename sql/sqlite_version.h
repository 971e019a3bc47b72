// Which calls of newer SQLite may be used. A call that the running library lacks is a null pointer in
// its table, so everything newer than 3.14 is asked for here first.
#pragma once

#include <algorithm>

#include "sql/boundary.h"

// Build with -DGLOVE_SQLITE_VERSION_LIMIT=3037000 to behave as on an older SQLite: its tests do.
#ifndef GLOVE_SQLITE_VERSION_LIMIT
#define GLOVE_SQLITE_VERSION_LIMIT 999999999
#endif

namespace glove::sql {

inline int sqlite_version() {
  return std::min(sqlite3_libversion_number(), GLOVE_SQLITE_VERSION_LIMIT);
}

// sqlite3_vtab_in, sqlite3_vtab_in_first, sqlite3_vtab_in_next, sqlite3_vtab_rhs_value,
// sqlite3_vtab_distinct, and the LIMIT and OFFSET constraints.
inline bool has_whole_in_lists() {
  return sqlite_version() >= 3038000;
}

// sqlite3_is_interrupted.
inline bool has_is_interrupted() {
  return sqlite_version() >= 3041000;
}

}  // namespace glove::sql
