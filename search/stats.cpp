#include "search/stats.h"

#include <mutex>
#include <utility>

namespace glove {
namespace {

struct Ring {
  std::mutex mutex;
  std::vector<SearchReport> reports;
  size_t oldest = 0;  // once there are kRememberedSearches; until then they stand in order
};

Ring& ring() {
  static Ring* const instance = new Ring;  // never freed: searches may outlive static destruction
  return *instance;
}

}  // namespace

void record_search(SearchReport report) {
  Ring& searches = ring();
  const std::lock_guard lock(searches.mutex);
  if (searches.reports.size() < kRememberedSearches) {
    searches.reports.push_back(std::move(report));
  } else {
    std::swap(searches.reports[searches.oldest], report);
    searches.oldest = (searches.oldest + 1) % kRememberedSearches;
  }
}

std::vector<SearchReport> recent_searches() {
  Ring& searches = ring();
  const std::lock_guard lock(searches.mutex);
  const size_t count = searches.reports.size();
  std::vector<SearchReport> newest_first;
  newest_first.reserve(count);
  for (size_t i = 1; i <= count; ++i)
    newest_first.push_back(searches.reports[(searches.oldest + count - i) % count]);
  return newest_first;
}

}  // namespace glove
