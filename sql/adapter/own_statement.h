// The statements that a table of the extension runs itself, on the connection that uses the table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/require.h"
#include "sql/adapter/arguments.h"
#include "sql/adapter/sql_tokens.h"

namespace glove::sql {

// Returns the error of the connection for a code that is not a success. `table` begins its message.
Error database_error(sqlite3* db, int code, std::string_view table);

// A prepared statement, which its holder may run many times. Used by one thread at a time, like its
// connection.
class OwnStatement {
 public:
  OwnStatement() = default;
  ~OwnStatement() { sqlite3_finalize(statement_); }
  OwnStatement(const OwnStatement&) = delete;
  OwnStatement& operator=(const OwnStatement&) = delete;

  // Prepares the statement unless that was done before. `table` begins the message of an error, and outlives
  // the statement. `tail`, if given, receives the text behind the first statement of `sql`.
  Status prepare(sqlite3* db, std::string_view sql, std::string_view table, std::string_view* tail = nullptr);

  // False also for a text without a statement.
  bool prepared() const { return statement_ != nullptr; }
  // REQUIRES: prepared().
  bool is_read_only() const {
    GLOVE_REQUIRE(prepared());
    return sqlite3_stmt_readonly(statement_) != 0;
  }
  int columns() const { return sqlite3_column_count(statement_); }
  // Whether a run since the last call had to prepare the statement again, as after DETACH. REQUIRES:
  // prepared().
  bool was_prepared_again() {
    GLOVE_REQUIRE(prepared());
    return sqlite3_stmt_status(statement_, SQLITE_STMTSTATUS_REPREPARE, 1) != 0;
  }

  // A run of the statement; SQLite holds its locks no longer than this object lives. REQUIRES: prepare() was
  // called, and no other run exists.
  class Run {
   public:
    explicit Run(OwnStatement& statement) : statement_(statement) {}
    ~Run() {
      if (!statement_.prepared()) return;
      sqlite3_reset(statement_.statement_);
      sqlite3_clear_bindings(statement_.statement_);
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    // Sets the next parameter. What a view refers to must outlive the run. If SQLite refuses the value, which
    // may be longer than its limit, next() returns the error.
    Run& bind(int64_t value);
    Run& bind(std::string_view text);
    Run& bind(sqlite3_value* value);
    Run& bind_real(double value);
    Run& bind_blob(std::span<const char> bytes);
    // Passes an object to an SQL object of the extension, which reads it by sqlite3_value_pointer() with this
    // type, a literal. REQUIRES: sqlite_has(kSqlitePointers).
    Run& bind_pointer(void* object, const char* type);

    // Moves to the next row. Returns false after the last one. If prepare() failed, returns its error.
    Result<bool> next();
    // Calls use(), which returns a Status or nothing, for each row that follows.
    template <class Use>
    Status for_each(const Use& use) {
      while (true) {
        GLOVE_ASSIGN_OR_RETURN(const bool more, next());
        if (!more) return {};
        if constexpr (std::is_void_v<decltype(use())>)
          use();
        else
          GLOVE_RETURN_IF_ERROR(use());
      }
    }
    // Runs the statement to its end.
    Status finish() {
      return for_each([] {});
    }
    // Returns the first column of the next row, as SQLite converts it: 0 or empty for NULL or if there is
    // none.
    Result<int64_t> next_integer();
    Result<std::string> next_text();
    // Returns the first column of each row that follows.
    Result<std::vector<int64_t>> integers();

    int columns() const { return statement_.columns(); }
    sqlite3_value* value(int column) const { return sqlite3_column_value(statement_.statement_, column); }
    int64_t integer(int column) const { return sqlite3_column_int64(statement_.statement_, column); }
    bool null(int column) const { return sqlite3_column_type(statement_.statement_, column) == SQLITE_NULL; }
    // Valid until the next row. Empty for NULL.
    std::string_view text(int column) const {
      return null(column) ? std::string_view() : text_of(value(column));
    }
    std::span<const std::byte> blob(int column) const { return blob_of(value(column)); }

   private:
    Run& bound(int code);

    OwnStatement& statement_;
    int parameter_ = 0;
    int bind_code_ = 0;  // of the first bind() that failed; SQLITE_OK: none
  };

 private:
  sqlite3_stmt* statement_ = nullptr;
  Status prepared_;  // how prepare() ended
  std::string_view table_;
};

// A statement that is run once, with these values of its parameters. `table` is as in prepare(); the error of
// preparing the statement is that of the first row.
class OwnQuery : private OwnStatement, public OwnStatement::Run {
 public:
  template <class... Values>
  OwnQuery(sqlite3* db, std::string_view table, const std::string& sql, const Values&... values)
      : OwnStatement::Run(static_cast<OwnStatement&>(*this)) {
    if (prepare(db, sql, table).ok()) (bind(values), ...);
  }
};

// Runs statements without parameters, whose rows are ignored. `table` begins the message of an error.
Status execute(sqlite3* db, const std::string& sql, const std::string& table);

}  // namespace glove::sql
