// Lets the user of a connection stop long work.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "base/timer.h"
#include "sql/adapter/boundary.h"
#include "sql/adapter/connection.h"

namespace glove::sql {

// Tells a callback whether the statement that called it must stop, either because of sqlite3_interrupt() from
// any thread or because a progress handler says so.
//
// SQLite reports interrupts since 3.41 (sqlite3_is_interrupted), but no version reports the result of its
// progress handler. The following works with every version: a statement of our own, run on the same
// connection while the caller's is active, ends in SQLITE_INTERRUPT whenever the caller's would, because the
// flag that sqlite3_interrupt() sets is only cleared when no statement runs, and its steps count towards the
// progress handler. The statement reads no table, is prepared only after work has lasted a while, and is
// finalized by the destructor, so it never prevents sqlite3_close().
//
// Construction costs nothing, because SQLite calls us for every row. The time starts at the first call.
//
// REQUIRES: lives on the stack of one callback, and is used by the thread that SQLite called.
class InterruptPoller {
 public:
  explicit InterruptPoller(sqlite3* db) : db_(db) {}
  ~InterruptPoller() {
    if (statement_ != nullptr) sqlite3_finalize(statement_);
  }
  InterruptPoller(const InterruptPoller&) = delete;
  InterruptPoller& operator=(const InterruptPoller&) = delete;

  // Cheap enough to be called every few microseconds. Once true, always true.
  bool interrupted();
  // The same as a function, which must not outlive the poller.
  operator InterruptCheck() {
    return [this] { return interrupted(); };
  }

 private:
  bool statement_interrupted();

  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  std::optional<Timer> since_statement_;  // or since the first call; empty before it
  bool refused_ = false;                  // the statement cannot be prepared: an authorizer forbids it
  bool interrupted_ = false;
};

// Watches long work, such as a fit, on behalf of the statement that waits for it: stops it on an interrupt,
// and reports its progress to SQLite's log. REQUIRES: lives on the stack of one callback, and is used by the
// thread that SQLite called.
class WorkWatch {
 public:
  // `work` begins the messages, such as "glove_map: 5000 words of the model 'glove'".
  WorkWatch(Connection& connection, std::string work)
      : poller_(connection.db()), log_(connection.engine().log(), std::move(work)) {}

  // Both refer to this object.
  InterruptCheck interrupted() {
    return [this] {
      log_.tick();
      return poller_.interrupted();
    };
  }
  ProgressReport progress() {
    return [this](const char* stage, int64_t done, int64_t total) { log_.set(stage, done, total); };
  }
  // Reports progress itself.
  void report(const char* stage, int64_t done, int64_t total) {
    log_.set(stage, done, total);
    log_.tick();
  }

 private:
  InterruptPoller poller_;
  ProgressLog log_;
};

}  // namespace glove::sql
