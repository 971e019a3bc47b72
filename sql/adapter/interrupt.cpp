#include "sql/adapter/interrupt.h"

namespace glove::sql {
namespace {

// Takes about 1,900 steps of SQLite's virtual machine, or 30 microseconds. Progress handlers are commonly
// registered to run every 1,000 steps.
constexpr const char* kStatement =
    "WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c WHERE x<100) SELECT max(x) FROM c";
constexpr double kUsBetweenStatements = 10'000;

}  // namespace

bool InterruptPoller::interrupted() {
  if (interrupted_) return true;
  if (sqlite_has(kSqliteIsInterrupted) && sqlite3_is_interrupted(db_) != 0) return interrupted_ = true;
  if (!since_statement_) since_statement_.emplace();
  if (refused_ || since_statement_->microseconds() < kUsBetweenStatements) return false;
  interrupted_ = statement_interrupted();
  since_statement_->lap();
  return interrupted_;
}

bool InterruptPoller::statement_interrupted() {
  if (statement_ == nullptr) {
    const int code = sqlite3_prepare_v2(db_, kStatement, -1, &statement_, nullptr);
    if (code == SQLITE_INTERRUPT) return true;
    refused_ = code != SQLITE_OK;
    if (refused_) return false;
  }
  sqlite3_step(statement_);
  return sqlite3_reset(statement_) == SQLITE_INTERRUPT;
}

}  // namespace glove::sql
