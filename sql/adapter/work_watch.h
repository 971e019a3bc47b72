// Watches long work, such as a fit, on behalf of the statement that waits for it: stops it on an interrupt,
// and reports its progress to SQLite's log.
#pragma once

#include <string>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "sql/adapter/connection.h"
#include "sql/adapter/interrupt.h"

namespace glove::sql {

// REQUIRES: lives on the stack of one callback, and is used by the thread that SQLite called.
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
