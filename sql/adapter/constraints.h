// What xBestIndex can learn about a constraint.
#pragma once

#include "sql/adapter/boundary.h"

namespace glove::sql::vtab {

// sqlite3_vtab_in() recognises an IN among the first 32 constraints only.
constexpr int kInLimit = 32;

// True for = and IS, and for IN, which arrives as =.
inline bool is_equality(int op) {
  return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS;
}

// True if constraint `index`, which appears as an equality, may be an IN.
inline bool may_be_in(sqlite3_index_info* info, int index) {
  if (!sqlite_has(kSqliteVtabIn) || index >= kInLimit) return true;
  return sqlite3_vtab_in(info, index, -1) != 0;
}

// True if constraint `index` compares text by its bytes. False if SQLite cannot tell.
inline bool is_binary(sqlite3_index_info* info, int index) {
  return sqlite_has(kSqliteVtabCollation) &&
         sqlite3_stricmp(sqlite3_vtab_collation(info, index), "BINARY") == 0;
}

}  // namespace glove::sql::vtab
