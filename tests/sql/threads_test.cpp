// Connections of several threads, while models come and go.
#include <atomic>
#include <thread>

#include "tests/sql/nn_test.h"

namespace glove::testing {
namespace {

using Threads = NnTest;

// A connection on its own thread. Errors are returned, because gtest's macros may be used by one thread at a
// time here.
std::string run(sqlite3* db, const char* sql, std::string& rows) {
  rows.clear();
  const auto append = [](void* data, int columns, char** values, char**) {
    for (int i = 0; i < columns; ++i) *static_cast<std::string*>(data) += std::string(values[i]) + ' ';
    return 0;
  };
  char* message = nullptr;
  const int code = sqlite3_exec(db, sql, append, &rows, &message);
  const std::string error = message == nullptr ? "" : message;
  sqlite3_free(message);
  return code == SQLITE_OK ? "" : error;
}

// One thread loads and unloads models all the time, under two names and with different rows. The others
// search both, and get the rows of one of them or the error that there is none.
TEST_F(Threads, 01_QueriesWhileModelsAreLoadedAndUnloaded) {
  const std::string first = folder.write("first.txt", "a 1 0\nb 1 1\nc 0 1\n");
  const std::string second = folder.write("second.txt", "a 1 0\nc 1 1\nb 0 1\n");
  std::atomic<bool> ended = false;
  std::atomic<int> answers = 0, refusals = 0;
  std::string wrong[2];
  const auto ask = [&](std::string& found_wrong) {
    Connection own;
    std::string rows;
    while (!ended && found_wrong.empty()) {
      const std::string error =
          run(own.handle(), "SELECT neighbor, rank FROM glove_nn('a', NULL, 2, 'x')", rows);
      if (error.empty() && rows != "b 1 c 2 " && rows != "c 1 b 2 ") found_wrong = rows;
      if (!error.empty() && !error.starts_with("there is no model 'x'")) found_wrong = error;
      (error.empty() ? answers : refusals)++;
      const std::string other =
          run(own.handle(),
              "SELECT word, neighbor FROM glove_nn WHERE word IN ('king', 'man') AND k = 1 AND "
              "model = 'm' ORDER BY word",
              rows);
      if (!other.empty() || rows != "king queen man 5 ") found_wrong = other + rows;
    }
  };
  std::thread askers[] = {std::thread(ask, std::ref(wrong[0])), std::thread(ask, std::ref(wrong[1]))};
  for (int round = 0; round < 300 || answers == 0 || refusals == 0; ++round) {
    db.rows("SELECT glove_load(" + sql_text(round % 2 == 0 ? first : second) + ", 'x')");
    if (round % 3 == 0) db.rows("SELECT glove_unload('x')");
  }
  ended = true;
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(wrong[0], "");
  EXPECT_EQ(wrong[1], "");
}

// A cursor on a model that was unloaded continues to read it.
TEST_F(Threads, 02_AModelThatIsUnloadedWhileItIsRead) {
  sqlite3_stmt* statement = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(db.handle(), "SELECT neighbor FROM glove_nn('king')", -1, &statement, nullptr),
            SQLITE_OK);
  ASSERT_EQ(sqlite3_step(statement), SQLITE_ROW);
  db.rows("SELECT glove_unload('m')");
  int rows = 1;
  while (sqlite3_step(statement) == SQLITE_ROW) ++rows;
  EXPECT_EQ(rows, 10);
  EXPECT_EQ(sqlite3_finalize(statement), SQLITE_OK);
}

// Connections may be opened, and the extension loaded, by many threads at once.
TEST_F(Threads, 03_ConnectionsOpenedAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&right] {
      Connection own;
      std::string rows;
      run(own.handle(), "SELECT neighbor FROM glove_nn('king', NULL, 1)", rows);
      if (rows == "queen ") ++right;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 8);
}

}  // namespace
}  // namespace glove::testing
