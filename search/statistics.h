// What the last searches cost: the rows of glove_stats.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/fork_safe_mutex.h"
#include "search/searcher.h"

namespace glove {

// What a search was and cost.
struct SearchReport {
  std::string model;    // the name by which the caller knows it
  std::string backend;  // the one that answered
  std::string device;
  std::string kind;  // "word", "expr", "vector", "batch", "all", "words", ...
  int64_t queries = 0;
  int64_t k = 0;
  ScanCost cost;
  double resolve_us = 0;  // words or expression -> vectors
  double total_us = 0;
};

// Remembers the last searches. Thread-safe.
class Statistics {
 public:
  static constexpr size_t kRemembered = 256;

  // Called by whoever asked for the search, once it is over. The oldest report makes room.
  void record(SearchReport report);

  // A copy, newest first.
  std::vector<SearchReport> recent() const;

 private:
  mutable ForkSafeMutex mutex_;  // guards what follows
  std::vector<SearchReport> reports_;
  size_t oldest_ = 0;  // once there are kRemembered; until then they stand in order
};

}  // namespace glove
