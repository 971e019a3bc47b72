#include "search/statistics.h"

#include <utility>

namespace glove {

void Statistics::record(SearchReport report) {
  const Lock lock(mutex_);
  if (reports_.size() < kRemembered) {
    reports_.push_back(std::move(report));
  } else {
    std::swap(reports_[oldest_], report);
    oldest_ = (oldest_ + 1) % kRemembered;
  }
}

std::vector<SearchReport> Statistics::recent() const {
  const Lock lock(mutex_);
  const size_t count = reports_.size();
  std::vector<SearchReport> newest_first;
  newest_first.reserve(count);
  for (size_t i = 1; i <= count; ++i) newest_first.push_back(reports_[(oldest_ + count - i) % count]);
  return newest_first;
}

}  // namespace glove
