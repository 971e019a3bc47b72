// How far a command of a live index is: for SQLite's log, and for glove_indexes of every connection of the
// process.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/log.h"
#include "base/status.h"
#include "sql/adapter/connection.h"
#include "sql/adapter/interrupt.h"
#include "sql/index/index_definition.h"

namespace glove::sql {

// Exists while the command runs. Belongs to the thread that uses the connection.
class IndexProgress {
 public:
  // `doing` is a word such as "syncing", of static storage. The other arguments must outlive the object.
  IndexProgress(Connection& connection, const IndexDefinition& index, const char* doing);
  ~IndexProgress();

  // `done` of `total` (0: unknown) rows of `stage`, a string of static storage. Call it for each row.
  void set(const char* stage, int64_t done, int64_t total) {
    done_.store(done, std::memory_order_relaxed);
    total_.store(total, std::memory_order_relaxed);
    log_.set(stage, done, total);
    log_.tick();
  }
  // The same, where no statement of SQLite's runs that calls the progress handler and sees interrupts.
  Status set_and_poll(const char* stage, int64_t done, int64_t total) {
    set(stage, done, total);
    return poller_.interrupted() ? Status(interrupted_error()) : Status();
  }

  // Returns "syncing, 31,000 of 64,512". May be called from any thread.
  std::string text() const;

 private:
  const std::string place_;  // of the index, in the process
  const char* const doing_;
  std::atomic<int64_t> done_ = 0, total_ = 0;
  ProgressLog log_;
  InterruptPoller poller_;
};

// Returns what a command of the index does now, on any connection of the process to its file, as
// IndexProgress::text(); empty if none runs.
std::string index_work(sqlite3* db, const IndexDefinition& index);

}  // namespace glove::sql
