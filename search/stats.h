// What the last searches of this process cost: the rows of glove_stats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "search/backend.h"

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

constexpr size_t kRememberedSearches = 256;

// Whoever asked for the search records it, once it is over; the oldest report makes room. Thread-safe.
void record_search(SearchReport report);

// A copy, newest first. Thread-safe.
std::vector<SearchReport> recent_searches();

}  // namespace glove
