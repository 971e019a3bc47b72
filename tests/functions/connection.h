// A connection with the extension, as a host program opens it, for tests that speak SQL.
#pragma once

#include <sqlite3.h>

#include <string>
#include <string_view>
#include <vector>

namespace glove::testing {

// A row as text: NULL is "NULL", a BLOB is X'..', a REAL has 17 digits. Enough to compare.
using Row = std::vector<std::string>;
using Rows = std::vector<Row>;

// Used by one thread at a time. Fails the test (ADD_FAILURE) if something unexpected happens.
class Connection {
 public:
  // `with_extension`: load the glove.so under test, through SQLite, as `.load` does. $GLOVE_TEST_EXTENSION
  // names another build of it.
  explicit Connection(const std::string& file = ":memory:", bool with_extension = true);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  sqlite3* handle() { return db_; }

  // All rows of all statements; an error fails the test.
  Rows rows(std::string_view sql);
  // The one value of one row.
  std::string value(std::string_view sql);
  // The message of the error that the SQL must end in.
  std::string error(std::string_view sql);
  // Appends the rows until an error occurs; returns SQLite's code.
  int run(std::string_view sql, Rows& rows);

 private:
  sqlite3* db_ = nullptr;
};

// A new folder, which is removed with its contents at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view content) const;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

// Text as an SQL literal.
std::string sql_text(std::string_view text);

// Unloads every model of the process, so that a test starts without any.
void unload_all(Connection& connection);

}  // namespace glove::testing
