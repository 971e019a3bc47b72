// sqlite3_interrupt takes effect soon, however long the text or the vector is that a function reads, and
// however many pairs a join finds.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sqlite3.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "tests/functions/models.h"
#include "tests/share.h"

namespace glove::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kMostSeconds = 1;
#else
constexpr double kMostSeconds = 0.1;
#endif

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The text so often, or less often under a sanitizer.
std::string repeated(std::string_view text, size_t times) {
  std::string all;
  times /= test::kShare == 1 ? 1 : 4;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

class LongArguments : public TinyModelTest {
 protected:
  struct Run {
    int code = SQLITE_OK;
    double seconds = 0;        // of processor time
    double after_request = 0;  // those after the interrupt
  };

  // Runs the SQL with the argument as ?1, and interrupts it when it has used that much processor time. The
  // processor time of the thread, unlike the time of day, does not depend on what else the machine does.
  Run run(const std::string& sql, const std::string& argument, bool as_blob, double interrupt_at) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(connection.handle(), sql.c_str(), -1, &statement, nullptr), SQLITE_OK);
    if (as_blob)
      sqlite3_bind_blob64(statement, 1, argument.data(), argument.size(), SQLITE_STATIC);
    else
      sqlite3_bind_text64(statement, 1, argument.data(), argument.size(), SQLITE_STATIC, SQLITE_UTF8);
    clockid_t clock{};
    pthread_getcpuclockid(pthread_self(), &clock);
    std::atomic<bool> ended = false;
    std::atomic<double> requested = 0;
    const double start = seconds_of(clock);
    std::thread other([&] {
      while (!ended && seconds_of(clock) < start + interrupt_at)
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      if (ended) return;
      requested = seconds_of(clock);
      sqlite3_interrupt(connection.handle());
    });
    while (sqlite3_step(statement) == SQLITE_ROW) {
    }
    const double end = seconds_of(clock);
    ended = true;
    other.join();
    Run result;
    result.seconds = end - start;
    result.after_request = requested > 0 ? end - requested : 0;
    result.code = sqlite3_finalize(statement);
    return result;
  }

  // The processor time in which an argument, or 16 MiB, is copied to new memory: nothing interrupts such
  // copies, which SQLite makes of texts. On most systems it is 5 ms for 16 MiB, but 60 where page faults are
  // slow.
  static double seconds_to_copy(const std::string& argument) {
    const std::string other(size_t{16} << 20, 'x');
    const std::string& from = argument.size() < other.size() ? other : argument;
    const double start = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    const std::string copy = from;
    EXPECT_EQ(copy.back(), from.back());
    return seconds_of(CLOCK_THREAD_CPUTIME_ID) - start;
  }

  // Interrupts the statement in each part of its work.
  void expect_interruptible(const std::string& sql, const std::string& argument, bool as_blob = false) {
    const double most_seconds = kMostSeconds + 2 * seconds_to_copy(argument);
    const Run whole = run(sql, argument, as_blob, 1e9);
    EXPECT_EQ(whole.code, SQLITE_OK) << sql << ": " << sqlite3_errmsg(connection.handle());
    int interrupted = 0;
    for (const double part : {0.1, 0.6, 0.95}) {
      const Run stopped = run(sql, argument, as_blob, part * whole.seconds);
      interrupted += stopped.code == SQLITE_INTERRUPT;
      EXPECT_LT(stopped.after_request, most_seconds) << sql << ", interrupted after " << part;
    }
    EXPECT_GT(interrupted, 0) << sql;
  }
};

TEST_F(LongArguments, Texts) {
  expect_interruptible("SELECT glove_text_vec(?1, NULL, '{\"components\":0}')",
                       repeated("the king of paris ", 1 << 20));
  if (test::kShortStep != 1) return;
  expect_interruptible("SELECT glove_text_vec(?1, NULL, '{\"components\":0}')", std::string(64 << 20, ' '));
}

TEST_F(LongArguments, Expressions) {
  const std::string sum = repeated("king + ", 1 << 19) + "man";
  expect_interruptible("SELECT glove_vec(?1)", sum);
  if (test::kShortStep != 1) return;  // the others take as long each
  expect_interruptible("SELECT count(*) FROM glove_nn WHERE expr = ?1 AND k = 1", sum);
  expect_interruptible("SELECT count(*) FROM glove_nn WHERE expr IN (?1, 'king') AND k = 1", sum);
  expect_interruptible("SELECT glove_vec(?1)",
                       std::string(2 << 20, '(') + "king" + std::string(2 << 20, ')'));
  expect_interruptible("SELECT glove_vec(?1)", repeated("king ", 1 << 19) + repeated("- ", (1 << 19) - 1));
  std::string unknown = "w";
  for (int i = 0; i < (test::kShare == 1 ? 1 << 18 : 1 << 16); ++i) unknown += " + w" + std::to_string(i);
  expect_interruptible("SELECT glove_oov(?1)", unknown);
}

TEST_F(LongArguments, Vectors) {
  expect_interruptible("SELECT cos_sim(?1, ?1)", repeated(std::string_view("\0\0\x80\x3f", 4), 12 << 20),
                       /*as_blob=*/true);
  if (test::kShortStep != 1) return;
  expect_interruptible("SELECT cos_sim(?1, ?1)", '[' + repeated("1.25,", 1 << 19) + "1]");
  expect_interruptible("SELECT cos_sim(?1, 'king')", "[\"" + std::string(32 << 20, 'a') + "\"]");
}

// Rows of which each is near all others.
TEST_F(LongArguments, Joins) {
  const std::string rows = std::to_string(1400 / (test::kShare == 1 ? 1 : 4));
  connection.rows(
      "CREATE TEMP TABLE alike AS WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < " +
      rows + ") SELECT i AS id, json_array(100 + i % 50, 100 + i / 50, 100) AS v FROM c");
  connection.rows("SELECT glove_load_table('alike', 'SELECT id, v FROM alike')");
  connection.rows("CREATE TABLE doc(id INTEGER PRIMARY KEY, v); INSERT INTO doc SELECT * FROM alike;");
  connection.rows("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='v')");
  expect_interruptible("SELECT a FROM glove_pairs WHERE target = 'alike' AND pairs = 2000000", "");
  if (test::kShortStep != 1) return;
  expect_interruptible("SELECT count(*) FROM glove_groups('alike', 0.5)", "");
  expect_interruptible("SELECT count(*) FROM glove_pairs WHERE target = 'doc_vec' AND k = 2000", "");
}

}  // namespace
}  // namespace glove::testing
