#include "sql/adapter/own_statement.h"

#include <array>
#include <new>
#include <utility>

namespace glove::sql {
namespace {

ErrorCode error_code_of(int code) {
  const int primary = code & 0xff;
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) return ErrorCode::kCorrupt;
  return primary == SQLITE_ERROR ? ErrorCode::kInvalidArgument : ErrorCode::kIo;
}

// Returns what a limit of the connection that is lower than the extension's own statements need adds to the
// error of one; empty if there is none. SQLite reports such an error as one of the statement.
std::string low_limit(sqlite3* db) {
  struct Limit {
    int id;
    const char* name;
    int least;
  };
  constexpr std::array<Limit, 6> kNeeded = {
      {{SQLITE_LIMIT_COLUMN, "SQLITE_LIMIT_COLUMN", 16},
       {SQLITE_LIMIT_EXPR_DEPTH, "SQLITE_LIMIT_EXPR_DEPTH", 16},
       {SQLITE_LIMIT_COMPOUND_SELECT, "SQLITE_LIMIT_COMPOUND_SELECT", 4},
       {SQLITE_LIMIT_FUNCTION_ARG, "SQLITE_LIMIT_FUNCTION_ARG", 4},
       {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, "SQLITE_LIMIT_LIKE_PATTERN_LENGTH", 32},
       {SQLITE_LIMIT_VARIABLE_NUMBER, "SQLITE_LIMIT_VARIABLE_NUMBER", 8}}};
  for (const Limit& limit : kNeeded) {
    const int value = sqlite3_limit(db, limit.id, -1);
    if (value < limit.least && (value > 0 || limit.id != SQLITE_LIMIT_EXPR_DEPTH))  // 0 there: none
      return concat("; ", limit.name, " of this connection is ", value,
                    "; raise the limit, or use a connection that has a higher one");
  }
  return {};
}

}  // namespace

Error database_error(sqlite3* db, int code, std::string_view table) {
  if ((code & 0xff) == SQLITE_NOMEM) throw std::bad_alloc();
  if ((code & 0xff) == SQLITE_INTERRUPT) return interrupted_error();
  remember_database_code(code);
  std::string message = std::string(table) + ": " + sqlite3_errmsg(db);
  if ((code & 0xff) == SQLITE_TOOBIG)
    message +=
        concat("; SQLITE_LIMIT_LENGTH of this connection is ", sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1),
               " and SQLITE_LIMIT_SQL_LENGTH is ", sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, -1),
               "; raise the limit, or use a connection that has a higher one");
  const std::string limit = (code & 0xff) == SQLITE_ERROR ? low_limit(db) : std::string();
  if (!limit.empty()) return {ErrorCode::kIo, message + limit};
  return {error_code_of(code), std::move(message)};
}

Status OwnStatement::prepare(sqlite3* db, std::string_view sql, std::string_view table,
                             std::string_view* tail) {
  if (statement_ != nullptr) return {};
  table_ = table;
  const char* rest = nullptr;
  const int code = sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &statement_, &rest);
  prepared_ = code == SQLITE_OK ? Status() : Status(database_error(db, code, table));
  if (code != SQLITE_OK) return prepared_;
  if (tail != nullptr) *tail = sql.substr(static_cast<size_t>(rest - sql.data()));
  return {};
}

OwnStatement::Run& OwnStatement::Run::bound(int code) {
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

OwnStatement::Run& OwnStatement::Run::bind(int64_t value) {
  return bound(sqlite3_bind_int64(statement_.statement_, ++parameter_, value));
}

OwnStatement::Run& OwnStatement::Run::bind(std::string_view text) {
  return bound(sqlite3_bind_text(statement_.statement_, ++parameter_, text.data(),
                                 static_cast<int>(text.size()), SQLITE_STATIC));
}

OwnStatement::Run& OwnStatement::Run::bind(sqlite3_value* value) {
  return bound(sqlite3_bind_value(statement_.statement_, ++parameter_, value));
}

OwnStatement::Run& OwnStatement::Run::bind_real(double value) {
  return bound(sqlite3_bind_double(statement_.statement_, ++parameter_, value));
}

OwnStatement::Run& OwnStatement::Run::bind_blob(std::span<const char> bytes) {
  return bound(
      sqlite3_bind_blob64(statement_.statement_, ++parameter_, bytes.data(), bytes.size(), SQLITE_STATIC));
}

OwnStatement::Run& OwnStatement::Run::bind_pointer(void* object, const char* type) {
  return bound(sqlite3_bind_pointer(statement_.statement_, ++parameter_, object, type, nullptr));
}

Result<bool> OwnStatement::Run::next() {
  if (!statement_.prepared_.ok()) return statement_.prepared_.error();
  const int code = bind_code_ != SQLITE_OK ? bind_code_ : sqlite3_step(statement_.statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_error(sqlite3_db_handle(statement_.statement_), code, statement_.table_);
}

Result<int64_t> OwnStatement::Run::next_integer() {
  GLOVE_ASSIGN_OR_RETURN(const bool found, next());
  return found ? integer(0) : 0;
}

Result<std::string> OwnStatement::Run::next_text() {
  GLOVE_ASSIGN_OR_RETURN(const bool found, next());
  return std::string(found ? text(0) : std::string_view());
}

Result<std::vector<int64_t>> OwnStatement::Run::integers() {
  std::vector<int64_t> all;
  GLOVE_RETURN_IF_ERROR(for_each([&] { all.push_back(integer(0)); }));
  return all;
}

Status execute(sqlite3* db, const std::string& sql, const std::string& table) {
  const int code = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : database_error(db, code, table);
}

}  // namespace glove::sql
