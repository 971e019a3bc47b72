// Long work that SQLite's user can stop.
#pragma once

#include <optional>

#include "base/timer.h"
#include "sql/boundary.h"

namespace glove::sql {

// Tells, from inside a callback, whether the statement that called it shall stop: after
// sqlite3_interrupt() from any thread, or because a progress handler says so.
//
// SQLite can be asked since 3.41 (sqlite3_is_interrupted), and no version can be asked on behalf of its
// progress handler. What works everywhere: a statement of our own, run on the same connection while the
// caller's is active, ends in SQLITE_INTERRUPT when the caller's would, because the mark that
// sqlite3_interrupt() leaves is only cleared when no statement runs; and the steps it takes count towards
// the progress handler. It reads no table, is prepared only when work has lasted a while, and is
// finalized by the destructor, so it never keeps sqlite3_close() from closing.
//
// Making one costs nothing: SQLite calls us for every row. The time starts with the first question.
//
// REQUIRES: lives on the stack of one callback, and is used from the thread that SQLite called.
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

 private:
  bool statement_interrupted();

  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  std::optional<Timer> since_statement_;  // or since the first question; empty: nobody has asked
  bool refused_ = false;                  // the statement cannot be prepared: an authorizer forbids it
  bool interrupted_ = false;
};

}  // namespace glove::sql
