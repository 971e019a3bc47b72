#include "sql/text/text_encoding.h"

#include "base/utf8.h"

namespace glove::sql {

bool stores_utf8(sqlite3* db) {
  sqlite3_stmt* statement = nullptr;
  bool utf8 = false;
  if (sqlite3_prepare_v2(db, "PRAGMA encoding", -1, &statement, nullptr) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW) {
    const auto* encoding = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    utf8 = encoding != nullptr && std::string_view(encoding) == "UTF-8";
  }
  sqlite3_finalize(statement);
  return utf8;
}

bool equals_by_bytes(sqlite3* db, std::string_view text) {
  return text.find(kReplacementCharacter) == std::string_view::npos || stores_utf8(db);
}

}  // namespace glove::sql
