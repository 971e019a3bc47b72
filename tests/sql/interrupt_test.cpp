// Interrupts of long searches.
#include <atomic>
#include <thread>

#include "tests/sql/nn_test.h"

namespace glove::testing {
namespace {

// A model over which the first block of a batch takes a few hundred milliseconds.
class Interrupt : public ::testing::Test {
 protected:
  static constexpr const char* kLongStatement =
      "SELECT count(*) FROM glove_nn WHERE word IN (SELECT word FROM glove_words) AND k = 4000";

  void SetUp() override {
    unload_all(db);
    std::string text;
    for (int i = 0; i < 4000; ++i) {
      text += "w" + std::to_string(i);
      for (int j = 1; j <= 100; ++j) text += ' ' + std::to_string(i * j % 1009 * 7919 % 1009 - 504);
      text += '\n';
    }
    db.rows("SELECT glove_load(" + sql_text(folder.write("m.txt", text)) + ", 'm')");
    db.rows("SELECT * FROM glove_nn('w0', NULL, 777)");  // a mark among the statistics
  }
  void TearDown() override {
    sqlite3_progress_handler(db.handle(), 0, nullptr, nullptr);
    unload_all(db);
  }

  int run(const char* sql) { return sqlite3_exec(db.handle(), sql, nullptr, nullptr, nullptr); }

  TemporaryFolder folder;
  Connection db;
};

// SQLite itself would notice only after the first block, which would then be in the statistics.
TEST_F(Interrupt, 01_FromAnotherThread) {
  std::atomic<bool> ended = false;
  std::thread other([&] {
    while (!ended) {  // repeatedly, because the first may come before the statement starts
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      sqlite3_interrupt(db.handle());
    }
  });
  const int code = run(kLongStatement);
  ended = true;
  other.join();
  EXPECT_EQ(code, SQLITE_INTERRUPT);
  EXPECT_EQ(searches_since(db, "777"), Rows());
  EXPECT_EQ(db.rows("SELECT neighbor FROM glove_nn('w7', NULL, 1)").size(), 1U) << "the next statement works";
}

// With k = 0 only SQLite's own steps call the handler; the calls beyond those come from the search.
TEST_F(Interrupt, 02_ByAProgressHandler) {
  struct Calls {
    int made = 0;
    int most = 1 << 30;
  } calls;
  const auto handler = [](void* data) {
    auto* counted = static_cast<Calls*>(data);
    return ++counted->made > counted->most ? 1 : 0;
  };
  sqlite3_progress_handler(db.handle(), 100, handler, &calls);
  EXPECT_EQ(run("SELECT count(*) FROM glove_nn WHERE word IN (SELECT word FROM glove_words) AND k = 0"),
            SQLITE_OK);
  calls = {0, calls.made + 10};
  EXPECT_EQ(run(kLongStatement), SQLITE_INTERRUPT);
  sqlite3_progress_handler(db.handle(), 0, nullptr, nullptr);
  EXPECT_EQ(searches_since(db, "777"), Rows());
}

// The poller's statement is finalized when the callback returns, so that the connection can be closed (the
// fixture's destructor checks that).
TEST_F(Interrupt, 03_NothingStaysOpen) {
  int calls = 0;
  const auto count = [](void* data) { return ++*static_cast<int*>(data), 0; };
  sqlite3_progress_handler(db.handle(), 1000, count, &calls);
  sqlite3_stmt* statement = nullptr;
  ASSERT_EQ(
      sqlite3_prepare_v2(db.handle(),
                         "SELECT neighbor FROM glove_nn WHERE word IN (SELECT word FROM glove_words WHERE "
                         "id < 500) AND k = 4000",
                         -1, &statement, nullptr),
      SQLITE_OK);
  ASSERT_EQ(sqlite3_step(statement), SQLITE_ROW);
  EXPECT_EQ(sqlite3_next_stmt(db.handle(), nullptr), statement);
  EXPECT_EQ(sqlite3_next_stmt(db.handle(), statement), nullptr);
  sqlite3_finalize(statement);
}

}  // namespace
}  // namespace glove::testing
