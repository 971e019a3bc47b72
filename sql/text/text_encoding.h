// The text encoding of a connection.
#pragma once

#include <string_view>

#include "sql/adapter/boundary.h"

namespace glove::sql {

// True if the connection stores text as UTF-8. Also false if this cannot be determined because an authorizer
// forbids the pragma, so callers must treat false as the safe answer. In UTF-16, text sorts by other bytes,
// and bytes that are not valid UTF-8 have become U+FFFD.
//
// Call this whenever it matters, because PRAGMA encoding can change the encoding until a database has its
// first table; statements are then planned again. It takes a few microseconds, and may be called inside
// xBestIndex.
bool stores_utf8(sqlite3* db);

// True if a word equals this text only if their bytes are equal.
bool equals_by_bytes(sqlite3* db, std::string_view text);

}  // namespace glove::sql
