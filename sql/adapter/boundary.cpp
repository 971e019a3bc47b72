#include "sql/adapter/boundary.h"

#include <string_view>

#include "base/utf8.h"

namespace glove::sql {

int sqlite_code(ErrorCode code) {
  if (code == ErrorCode::kOutOfMemory) return SQLITE_NOMEM;
  return code == ErrorCode::kInterrupted ? SQLITE_INTERRUPT : SQLITE_ERROR;
}

namespace {

thread_local int remembered = SQLITE_OK;

// Returns the message as SQLite gets it. Its middle is left out if it is very long, as one of SQLite itself
// is that names a column of a megabyte: what to do stands at the end.
std::string shown_message(const std::string& message) {
  constexpr size_t kMostHead = 6000;
  constexpr size_t kMostTail = 2000;
  if (message.size() <= kMostHead + kMostTail) return printable_utf8(message);
  return printable_utf8(std::string(utf8_prefix(message, kMostHead)) + "..." +
                        message.substr(message.size() - kMostTail));
}

}  // namespace

char* sqlite_message(const std::string& message) {
  return sqlite3_mprintf("%s", shown_message(message).c_str());
}

int report(sqlite3_vtab* table, const Error& error) {
  sqlite3_free(table->zErrMsg);
  table->zErrMsg = sqlite_message(error.message);
  return table->zErrMsg == nullptr ? SQLITE_NOMEM : sqlite_code(error.code);
}

void report(sqlite3_context* context, const Error& error) {
  const std::string message = shown_message(error.message);
  sqlite3_result_error(context, message.c_str(), static_cast<int>(message.size()));
  const int code = sqlite_code(error.code);
  if (code == SQLITE_NOMEM) {
    sqlite3_result_error_nomem(context);
  } else if (code != SQLITE_ERROR) {
    sqlite3_result_error_code(context, code);
  }
}

int declare_table(sqlite3* db, const char* schema, char** message) {
  const int code = sqlite3_declare_vtab(db, schema);
  if (code != SQLITE_ERROR) return code;
  const std::string_view error = sqlite3_errmsg(db);
  *message = sqlite3_mprintf("%s", error.data());
  return error == "interrupted" ? SQLITE_INTERRUPT : code;
}

void remember_database_code(int code) noexcept {
  if ((code & 0xff) != SQLITE_CONSTRAINT) remembered = code;
}

int database_code_for(int code) noexcept {
  return code == SQLITE_ERROR && remembered != SQLITE_OK ? remembered : code;
}

}  // namespace glove::sql
