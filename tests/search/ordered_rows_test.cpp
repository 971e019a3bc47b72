#include "search/nearest.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/loader/random.h"
#include "tests/search/reference.h"

namespace glove {
namespace {

using namespace glove::testing;

std::vector<Neighbor> random_rows(std::mt19937_64& random, size_t count, uint64_t distinct) {
  std::vector<Neighbor> rows;
  for (size_t i = 0; i < count; ++i)
    rows.push_back({static_cast<int32_t>(i), static_cast<double>(random() % distinct) / 1000 - 0.5});
  return rows;
}

TEST(OrderedRows, SortsStepByStep) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const size_t count : {0, 1, 2, 4096, 4097, 60000})
    for (const uint64_t distinct : {1, 2, 1000, 1000000000}) {
      auto rows = random_rows(random, count, distinct);
      if (random() % 4 == 0) std::sort(rows.begin(), rows.end(), ranks_before);
      if (random() % 4 == 0) std::reverse(rows.begin(), rows.end());
      OrderedRows ordered(rows);
      std::sort(rows.begin(), rows.end(), ranks_before);
      for (size_t wanted = 0; wanted < count;) {
        wanted += random() % (count / 3 + 2);
        ASSERT_TRUE(ordered.sort_first(static_cast<int64_t>(wanted), {}).ok());
        const auto sorted = ordered.sorted();
        ASSERT_GE(sorted.size(), std::min(wanted, count));
        ASSERT_EQ(difference(sorted, std::span(rows).first(sorted.size())), "");
      }
      ASSERT_TRUE(ordered.sort_first(INT64_MAX, {}).ok());
      ASSERT_EQ(difference(std::move(ordered).take_first(INT64_MAX), rows), "");
    }
}

TEST(OrderedRows, TheFirstRowsCostNoFullSort) {
  std::mt19937_64 random(1);
  OrderedRows ordered(random_rows(random, 500000, 1000000000));
  ASSERT_TRUE(ordered.sort_first(10, {}).ok());
  EXPECT_LE(ordered.sorted().size(), 5000u);
}

TEST(OrderedRows, StopsAndGoesOn) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  auto rows = random_rows(random, 50000, 1000);
  OrderedRows ordered(rows);
  int interrupts = 0;
  const InterruptCheck sometimes = [&] { return random() % 2 == 0 && ++interrupts > 0; };
  for (Status status(ErrorCode::kInterrupted, ""); !status.ok();
       status = ordered.sort_first(50000, sometimes)) {
    ASSERT_EQ(status.error().code, ErrorCode::kInterrupted);
  }
  std::sort(rows.begin(), rows.end(), ranks_before);
  EXPECT_EQ(difference(ordered.sorted(), rows), "");
}

}  // namespace
}  // namespace glove
