// What a process does around a statement: signals that arrive at any time, clocks that jump, and system calls
// for the extension's own files that fail (tests/live/full_disk_test.cpp fails those of SQLite).
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/sql/fault_database.h"

namespace glove::testing {

// Whether system calls of the process fail with EINTR, every other time, as if a signal had interrupted them.
std::atomic<bool> calls_are_interrupted{false};
std::atomic<int> interrupted_calls{0};
// Whether the clock of the day jumps by years, backwards and forwards, whenever it is read, and the one that
// is only to go forwards does so by up to 17 minutes, as after a pause of a virtual machine.
std::atomic<bool> clocks_jump{false};
std::atomic<int> clock_reads{0};

// The number of the system call for a file that fails with EIO; 0 for none.
std::atomic<int> failing_call{0};
std::atomic<int> calls_for_files{0};

bool fail_call() {
  if (failing_call == 0 || ++calls_for_files != failing_call) return false;
  errno = EIO;
  return true;
}

bool interrupt_call() {
  if (fail_call()) return true;
  if (!calls_are_interrupted || ++interrupted_calls % 2 == 0) return false;
  errno = EINTR;
  return true;
}

namespace {

std::atomic<sqlite3*> interrupted_connection{nullptr};
std::atomic<int> signals{0};

void on_alarm(int) {
  ++signals;
  if (sqlite3* const db = interrupted_connection) sqlite3_interrupt(db);
}

// Sends the process SIGALRM again and again while it lives, whose handler interrupts system calls.
class Alarms {
 public:
  explicit Alarms(long microseconds) {
    struct sigaction action {};
    action.sa_handler = on_alarm;  // and no SA_RESTART
    sigaction(SIGALRM, &action, &before_);
    set(microseconds);
  }
  ~Alarms() {
    set(0);
    sigaction(SIGALRM, &before_, nullptr);
  }
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;

 private:
  static void set(long microseconds) {
    const itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
  struct sigaction before_ {};
};

class Surroundings : public FaultTest {
 protected:
  std::vector<Statement> statements() const {
    const std::string saved = sql_text(folder_.path("saved.safetensors"));
    return {
        {"SELECT glove_load(" + model_ + ", 'm')", "", Changes::kProcess},
        {"SELECT glove_save('m', " + saved + ") LIKE '%saved.safetensors'", "", Changes::kProcess},
        {"SELECT glove_load(" + saved + ", 's')", "SELECT glove_save('m', " + saved + ")", Changes::kProcess},
        {"SELECT neighbor, rank FROM glove_nn('king', NULL, 3)"},
        {"SELECT d.id, v.id FROM doc d JOIN v ON v.query = d.e AND v.k = 2 ORDER BY d.id, v.rank"},
        {"SELECT id FROM t WHERE query = 'the king' ORDER BY rank"},
        {"SELECT count(*) FROM w WHERE query = '[1,2,3,4]' AND k = 5 AND recall = 0.9"},
        {"UPDATE doc SET e = json_array(id, 2, 0, 1) WHERE id % 3 = 0"},
        {"INSERT INTO v(v) VALUES ('sync')"},
        {"INSERT INTO t(t) VALUES ('merge')"},
        {"INSERT INTO w(w) VALUES ('rebuild')"},
        {"DROP TABLE v"},
        {"SELECT word, cluster FROM glove_kmeans(2, NULL, 'm') ORDER BY word"},
    };
  }

  // Empty if there is no such file.
  static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path("")))
      all.insert(entry.path().filename());
    return all;
  }

  // Every statement returns the same and leaves the same while disturb() has its effect as without.
  template <class Disturb>
  void expect_no_effect(const Disturb& disturb) {
    for (const Statement& statement : statements()) {
      SCOPED_TRACE(statement.sql);
      std::string rows[2], after[2];
      for (const bool disturbed : {false, true}) {
        sqlite3* db = open(statement);
        if (disturbed) {
          const auto effect = disturb();
          rows[1] = must_run(db, statement.sql);
        } else {
          rows[0] = must_run(db, statement.sql);
        }
        after[disturbed] = state(db);
        EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
      }
      EXPECT_EQ(rows[1], rows[0]);
      EXPECT_TRUE(same(after[1], after[0]));
    }
  }
};

// Sets a flag while it lives.
class While {
 public:
  explicit While(std::atomic<bool>& flag) : flag_(flag) { flag_ = true; }
  ~While() { flag_ = false; }
  While(const While&) = delete;
  While& operator=(const While&) = delete;

 private:
  std::atomic<bool>& flag_;
};

TEST_F(Surroundings, SignalsChangeNothing) {
  signals = 0;
  expect_no_effect([] { return Alarms(100); });
  EXPECT_GT(signals, 10);
}

TEST_F(Surroundings, InterruptedSystemCallsAreMadeAgain) {
  interrupted_calls = 0;
  expect_no_effect([] { return While(calls_are_interrupted); });
  EXPECT_GT(interrupted_calls, 10);
}

TEST_F(Surroundings, ClocksThatJumpChangeNothing) {
  clock_reads = 0;
  expect_no_effect([] { return While(clocks_jump); });
  EXPECT_GT(clock_reads, 10);
}

// Every call in turn, for statements that read or write files. The error is that of the system; a file that
// is replaced has its old content or the new one, no other file is left behind, and the statement works
// again. A call that fails without an error is one that the extension can do without.
TEST_F(Surroundings, FilesThatCannotBeReadOrWrittenAreErrors) {
  const std::string path = folder_.path("saved.safetensors");
  const std::string save = "SELECT glove_save('m', " + sql_text(path) + ") IS NOT NULL";
  const std::string derive = "SELECT glove_derive('d', '{\"dims\":2}', 'm'); ";
  const std::string load_saved = "SELECT glove_load(" + sql_text(path) + ", 's'";
  int errors = 0;
  for (const Statement& statement : std::vector<Statement>{
           {"SELECT glove_load(" + model_ + ", 'n')", "", Changes::kProcess},
           {save, "", Changes::kProcess},
           {"SELECT glove_save('d', " + sql_text(path) + ") IS NOT NULL", derive + save, Changes::kProcess},
           {load_saved + ")", save, Changes::kProcess},
           {load_saved + ", '{\"verify\":true}')", save, Changes::kProcess}}) {
    SCOPED_TRACE(statement.sql);
    sqlite3* db = open(statement);
    const std::string before = state(db), content_before = content(path);
    const std::string rows = must_run(db, statement.sql);
    const std::string after = state(db), content_after = content(path);
    const auto files = names();
    EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
    bool failed = true;
    for (int call = 1; failed && !HasFailure(); ++call) {
      SCOPED_TRACE("call " + std::to_string(call));
      db = open(statement);
      int code = SQLITE_OK;
      calls_for_files = 0;
      failing_call = call;
      const std::string seen_rows = run(db, statement.sql, &code);
      failing_call = 0;
      failed = calls_for_files >= call;
      const std::string message = sqlite3_errmsg(db);
      const std::string seen = content(path);
      if (code == SQLITE_OK) {
        EXPECT_EQ(seen_rows, rows);
        EXPECT_TRUE(seen == content_after);
        EXPECT_TRUE(same(state(db), after));
      } else {
        ++errors;
        EXPECT_NE(message.find(": Input/output error"), std::string::npos) << message;
        EXPECT_TRUE(seen == content_before || seen == content_after) << message;
        EXPECT_TRUE(same(state(db), before)) << message;
        EXPECT_EQ(must_run(db, statement.sql), rows) << "again";
        EXPECT_TRUE(same(state(db), after)) << "again";
        EXPECT_TRUE(content(path) == content_after) << "again";
      }
      EXPECT_EQ(names(), files) << message;
      EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
    }
  }
  EXPECT_GT(errors, 20);
}

// As a shell does at Ctrl-C. The statement ends in SQLITE_INTERRUPT, or has its effect. While SQLite makes an
// eponymous table, it returns SQLITE_ERROR for each error, with the message.
TEST_F(Surroundings, AHandlerMayInterruptAtAnyTime) {
  int interrupts = 0;
  for (const Statement& statement : statements()) {
    SCOPED_TRACE(statement.sql);
    sqlite3* db = open(statement);
    const std::string before = state(db);
    sqlite3_close(db);
    db = open(statement);
    const std::string rows = must_run(db, statement.sql);
    const std::string after = state(db);
    sqlite3_close(db);
    for (const long microseconds : {30, 60, 100, 200, 400, 800, 1600, 3000}) {
      db = open(statement);
      interrupted_connection = db;
      int code = SQLITE_OK;
      std::string seen_rows;
      {
        const Alarms alarms(microseconds);
        seen_rows = run(db, statement.sql, &code);
      }
      interrupted_connection = nullptr;
      const bool interrupted = code == SQLITE_INTERRUPT || sqlite3_errmsg(db) == std::string("interrupted");
      EXPECT_TRUE(code == SQLITE_OK || interrupted) << sqlite3_errmsg(db);
      if (code == SQLITE_OK) {
        EXPECT_EQ(seen_rows, rows);
      }
      interrupts += interrupted;
      const std::string seen = state(db);
      const bool undone = code != SQLITE_OK && (statement.changes == Changes::kDatabase || seen == before);
      EXPECT_TRUE(same(seen, undone ? before : after));
      if (undone) {
        EXPECT_EQ(must_run(db, statement.sql), rows) << "again";
      }
      EXPECT_EQ(sqlite3_close(db), SQLITE_OK);
    }
  }
  EXPECT_GT(interrupts, 0);
}

}  // namespace
}  // namespace glove::testing

// Take the place of the C library's for the extension.
#pragma GCC visibility push(default)
extern "C" {
ssize_t pread(int descriptor, void* into, size_t bytes, off_t offset) {
  return glove::testing::interrupt_call() ? -1 : syscall(SYS_pread64, descriptor, into, bytes, offset);
}
ssize_t pwrite(int descriptor, const void* from, size_t bytes, off_t offset) {
  return glove::testing::interrupt_call() ? -1 : syscall(SYS_pwrite64, descriptor, from, bytes, offset);
}
int ftruncate(int descriptor, off_t bytes) noexcept {
  return glove::testing::interrupt_call() ? -1 : static_cast<int>(syscall(SYS_ftruncate, descriptor, bytes));
}
int fsync(int descriptor) {
  return glove::testing::interrupt_call() ? -1 : static_cast<int>(syscall(SYS_fsync, descriptor));
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, unsigned) : 0;
  va_end(rest);
  if (glove::testing::fail_call()) return -1;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  if (glove::testing::fail_call()) return -1;
  return static_cast<int>(syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}
int rename(const char* from, const char* to) noexcept {
  if (glove::testing::fail_call()) return -1;
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (!glove::testing::clocks_jump) return result;
  const int read = ++glove::testing::clock_reads;
  if (clock == CLOCK_MONOTONIC)
    time->tv_sec += read;  // 1,000 reads: 17 minutes
  else
    time->tv_sec += (read % 2 == 0 ? 1 : -1) * read * 86400L;
  return result;
}
}
#pragma GCC visibility pop
