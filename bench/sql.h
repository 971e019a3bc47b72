// SQLite for benchmarks that go through SQL: every error ends the program.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace glove::bench {

inline void require(sqlite3* db, int code, const char* what) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  std::fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
  std::exit(1);
}

// A prepared statement.
class Statement {
 public:
  Statement(sqlite3* db, const std::string& sql) : db_(db) {
    require(db, sqlite3_prepare_v2(db, sql.c_str(), -1, &statement_, nullptr), sql.c_str());
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // `value` must live until the statement has run.
  void bind(int place, const std::string& value) {
    require(db_, sqlite3_bind_text(statement_, place, value.c_str(), -1, SQLITE_STATIC), "bind");
  }
  void bind(int place, int64_t value) { require(db_, sqlite3_bind_int64(statement_, place, value), "bind"); }
  void bind(int place, const std::vector<float>& value) {
    require(
        db_,
        sqlite3_bind_blob(statement_, place, value.data(), static_cast<int>(value.size() * 4), SQLITE_STATIC),
        "bind");
  }

  // Whether there is a row; resets the statement after the last one.
  bool step() {
    const int code = sqlite3_step(statement_);
    require(db_, code, "step");
    if (code != SQLITE_ROW) sqlite3_reset(statement_);
    return code == SQLITE_ROW;
  }
  void reset() { sqlite3_reset(statement_); }

  const char* text(int column) {
    const auto* const value = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return value == nullptr ? "" : value;
  }
  double number(int column) { return sqlite3_column_double(statement_, column); }
  int64_t integer(int column) { return sqlite3_column_int64(statement_, column); }

 private:
  sqlite3* const db_;
  sqlite3_stmt* statement_ = nullptr;
};

// A connection with the extension.
class Connection {
 public:
  explicit Connection(const char* extension, int flags = SQLITE_OPEN_FULLMUTEX,
                      const char* path = ":memory:") {
    require(db_, sqlite3_open_v2(path, &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | flags, nullptr),
            "open");
    sqlite3_enable_load_extension(db_, 1);
    require(db_, sqlite3_load_extension(db_, extension, nullptr, nullptr), extension);
  }
  ~Connection() { sqlite3_close(db_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  sqlite3* get() const { return db_; }
  void execute(const std::string& sql) const {
    require(db_, sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr), sql.c_str());
  }
  // The first column of the first row.
  std::string text(const std::string& sql) const {
    Statement statement(db_, sql);
    return statement.step() ? statement.text(0) : "";
  }
  double number(const std::string& sql) const { return std::atof(text(sql).c_str()); }

  // Words of a model at random places, each perhaps several times.
  std::vector<std::string> random_words(const std::string& model, size_t count, uint64_t seed) const {
    const auto rows =
        static_cast<uint64_t>(number("SELECT words FROM glove_models WHERE name = '" + model + "'"));
    Statement word(db_, "SELECT word FROM glove_words WHERE model = ?1 AND id = ?2");
    word.bind(1, model);
    std::mt19937_64 random(seed);
    std::vector<std::string> words;
    while (words.size() < count) {
      word.bind(2, static_cast<int64_t>(random() % rows));
      word.step();
      words.emplace_back(word.text(0));
      word.reset();
    }
    return words;
  }

 private:
  sqlite3* db_ = nullptr;
};

}  // namespace glove::bench
