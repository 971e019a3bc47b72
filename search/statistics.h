// The cost of the most recent searches: the rows of glove_stats.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "lists/recall_audit.h"
#include "search/searcher.h"

namespace glove {

// How one query of a search was answered.
struct AnswerNote {
  bool approximate = false;  // as in ScanCost
  int64_t rows_read = 0;
};

// What a search was, and what it cost.
struct SearchReport {
  std::string model;    // the name that the caller uses for it
  std::string backend;  // the backend that answered
  std::string device;
  std::string kind;  // "word", "expr", "vector", "batch", "all", "words", ...
  int64_t queries = 0;
  int64_t k = 0;
  ScanCost cost;
  double resolve_us = 0;  // words or expression to vectors
  double total_us = 0;
  std::vector<AnswerNote> notes = {};  // of each query if SearchOptions::recall is below 1
  double recall = 1;                   // that was asked for, if some answer is approximate
  AuditedRecall audited = {};          // what audits of this recall have observed before
};

// Keeps reports of the most recent searches. Thread-safe.
class Statistics {
 public:
  static constexpr size_t kRemembered = 256;

  // Called by the code that requested the search, after it has finished. Evicts the oldest report.
  void record(SearchReport report) {
    const Lock lock(mutex_);
    reports_.push_front(std::move(report));
    if (reports_.size() > kRemembered) reports_.pop_back();
  }

  // Returns a copy, newest first.
  std::vector<SearchReport> recent() const {
    const Lock lock(mutex_);
    return {reports_.begin(), reports_.end()};
  }

 private:
  mutable ForkSafeMutex mutex_;
  std::deque<SearchReport> reports_ GLOVE_GUARDED_BY(mutex_);  // newest first
};

}  // namespace glove
