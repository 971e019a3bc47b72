#include "sql/boundary.h"

#include "base/utf8.h"

namespace glove::sql {

int sqlite_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOutOfMemory:
      return SQLITE_NOMEM;
    case ErrorCode::kInterrupted:
      return SQLITE_INTERRUPT;
    default:
      return SQLITE_ERROR;
  }
}

char* sqlite_message(const std::string& message) {
  return sqlite3_mprintf("%s", printable_utf8(message).c_str());
}

int report(sqlite3_vtab* table, const Error& error) {
  sqlite3_free(table->zErrMsg);
  table->zErrMsg = sqlite_message(error.message);
  return table->zErrMsg == nullptr ? SQLITE_NOMEM : sqlite_code(error.code);
}

void report(sqlite3_context* context, const Error& error) {
  const std::string message = printable_utf8(error.message);
  sqlite3_result_error(context, message.c_str(), static_cast<int>(message.size()));
  const int code = sqlite_code(error.code);
  if (code == SQLITE_NOMEM) {
    sqlite3_result_error_nomem(context);
  } else if (code != SQLITE_ERROR) {
    sqlite3_result_error_code(context, code);
  }
}

}  // namespace glove::sql
