#include "search/statistics.h"

#include <gtest/gtest.h>

#include <thread>

namespace glove {
namespace {

TEST(Statistics, KeepsTheLastSearchesNewestFirst) {
  Statistics statistics;
  for (int i = 0; i < 300; ++i) {
    SearchReport report;
    report.k = i;
    statistics.record(std::move(report));
  }
  const auto reports = statistics.recent();
  ASSERT_EQ(reports.size(), Statistics::kRemembered);
  for (size_t i = 0; i < reports.size(); ++i) EXPECT_EQ(reports[i].k, 299 - static_cast<int64_t>(i));
}

TEST(Statistics, ManyThreads) {
  Statistics statistics;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        statistics.record({});
        EXPECT_LE(statistics.recent().size(), Statistics::kRemembered);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace glove
