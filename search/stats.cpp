#include "search/stats.h"

#include <deque>
#include <mutex>
#include <utility>

namespace glove {
namespace {

struct Ring {
  std::mutex mutex;
  std::deque<SearchReport> reports;  // newest first
};

Ring& ring() {
  static Ring* const instance = new Ring;  // never freed: searches may outlive static destruction
  return *instance;
}

}  // namespace

void record_search(SearchReport report) {
  Ring& searches = ring();
  const std::lock_guard lock(searches.mutex);
  if (searches.reports.size() == kRememberedSearches) searches.reports.pop_back();
  searches.reports.push_front(std::move(report));
}

std::vector<SearchReport> recent_searches() {
  Ring& searches = ring();
  const std::lock_guard lock(searches.mutex);
  return {searches.reports.begin(), searches.reports.end()};
}

}  // namespace glove
