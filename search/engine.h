// The state that every connection of a process shares.
#pragma once

#include "base/log.h"
#include "lists/recall_audit.h"
#include "search/backends.h"
#include "search/catalog.h"
#include "search/result_cache.h"
#include "search/settings.h"
#include "search/statistics.h"

namespace glove {

// There is one engine per process. extension/ creates it and never frees it, because connections and threads
// may outlive static destruction. SQL objects receive it by pointer, and tests create their own. Thread-safe.
class Engine {
 public:
  Engine() : settings_(backends_), catalog_(*this) {}

  Log& log() { return log_; }
  Backends& backends() { return backends_; }
  Settings& settings() { return settings_; }
  Statistics& statistics() { return statistics_; }
  ResultCache& results() { return results_; }
  Catalog& catalog() { return catalog_; }
  CacheBudget& cache_budget() { return cache_budget_; }
  AuditClock& audit_clock() { return audit_clock_; }

 private:
  Log log_;
  Backends backends_;
  Settings settings_;
  Statistics statistics_;
  ResultCache results_;
  CacheBudget cache_budget_;
  AuditClock audit_clock_;
  Catalog catalog_;  // last, because its models use the others
};

}  // namespace glove
