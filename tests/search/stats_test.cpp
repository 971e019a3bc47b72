#include "search/stats.h"

#include <gtest/gtest.h>

#include <thread>

namespace glove {
namespace {

TEST(Stats, KeepsTheLastSearchesNewestFirst) {
  for (int i = 0; i < 300; ++i) {
    SearchReport report;
    report.k = i;
    record_search(std::move(report));
  }
  const auto reports = recent_searches();
  ASSERT_EQ(reports.size(), kRememberedSearches);
  for (size_t i = 0; i < reports.size(); ++i) EXPECT_EQ(reports[i].k, 299 - static_cast<int64_t>(i));
}

TEST(Stats, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) {
        record_search({});
        EXPECT_LE(recent_searches().size(), kRememberedSearches);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace glove
