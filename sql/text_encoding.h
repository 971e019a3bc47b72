// How a connection stores text.
#pragma once

#include <string_view>

#include "sql/boundary.h"

namespace glove::sql {

// Whether it is UTF-8. False also where the connection does not tell (an authorizer forbids the pragma), so
// false must be the careful answer. In UTF-16 text sorts by other bytes, and bytes that are no UTF-8 have
// become U+FFFD on the way.
//
// Asked for whenever it matters, because PRAGMA encoding can change it until a database has its first table;
// statements are then planned again. It takes a few microseconds, and may be asked inside xBestIndex.
bool stores_utf8(sqlite3* db);

// True if a word equals this text only where its bytes do.
bool equals_by_bytes(sqlite3* db, std::string_view text);

}  // namespace glove::sql
