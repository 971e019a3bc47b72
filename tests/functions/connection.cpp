#include "tests/functions/connection.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace glove::testing {
namespace {

std::string text_of_column(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
      return "NULL";
    case SQLITE_FLOAT: {
      char text[40];
      std::snprintf(text, sizeof text, "%.17g", sqlite3_column_double(statement, column));
      return text;
    }
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const unsigned char*>(sqlite3_column_blob(statement, column));
      std::string text = "X'";
      for (int i = 0; i < sqlite3_column_bytes(statement, column); ++i) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02X", bytes[i]);
        text += digits;
      }
      return text + "'";
    }
    default: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return {text, static_cast<size_t>(sqlite3_column_bytes(statement, column))};
    }
  }
}

}  // namespace

Connection::Connection(const std::string& file, bool with_extension) {
  EXPECT_EQ(sqlite3_open(file.c_str(), &db_), SQLITE_OK);
  if (!with_extension) return;
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
  char* message = nullptr;
  const char* other = std::getenv("GLOVE_TEST_EXTENSION");
  EXPECT_EQ(sqlite3_load_extension(db_, other == nullptr ? GLOVE_EXTENSION : other, nullptr, &message),
            SQLITE_OK)
      << (message == nullptr ? "" : message);
  sqlite3_free(message);
}

Connection::~Connection() {
  EXPECT_EQ(sqlite3_close(db_), SQLITE_OK) << "a statement was left open";
}

int Connection::run(std::string_view sql, Rows& rows) {
  const char* rest = sql.data();
  const char* end = sql.data() + sql.size();
  int code = SQLITE_OK;
  while (code == SQLITE_OK && rest < end) {
    sqlite3_stmt* statement = nullptr;
    code = sqlite3_prepare_v2(db_, rest, static_cast<int>(end - rest), &statement, &rest);
    if (code != SQLITE_OK || statement == nullptr) continue;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
      Row row;
      for (int i = 0; i < sqlite3_column_count(statement); ++i) row.push_back(text_of_column(statement, i));
      rows.push_back(std::move(row));
    }
    code = sqlite3_finalize(statement);
  }
  return code;
}

Rows Connection::rows(std::string_view sql) {
  Rows result;
  const int code = run(sql, result);
  EXPECT_EQ(code, SQLITE_OK) << sqlite3_errmsg(db_) << "\nin " << sql;
  return result;
}

std::string Connection::value(std::string_view sql) {
  const Rows result = rows(sql);
  if (result.size() == 1 && result[0].size() == 1) return result[0][0];
  ADD_FAILURE() << "one row of one value was expected from " << sql;
  return "";
}

std::string Connection::error(std::string_view sql) {
  Rows result;
  const int code = run(sql, result);
  EXPECT_NE(code, SQLITE_OK) << "an error was expected from " << sql;
  return code == SQLITE_OK ? "" : sqlite3_errmsg(db_);
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "glove-test-XXXXXX").string();
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  folder_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, std::string_view content) const {
  std::ofstream(path(name), std::ios::binary)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
  return path(name);
}

std::string sql_text(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
  return result + "'";
}

void unload_all(Connection& connection) {
  for (const Row& row : connection.rows("SELECT name FROM glove_models"))
    connection.rows("SELECT glove_unload(" + sql_text(row[0]) + ")");
}

}  // namespace glove::testing
