#include "sync/cluster_barrier.h"

#include <gtest/gtest.h>

#include <vector>

namespace glove::verify {
namespace {

constexpr uint32_t kThreads = 4;  // two of each block

const std::vector<uint32_t> kAll = {0, 1, 2, 3};

struct ClusterBarrierTest : testing::Test {
  Clocks clocks{kThreads, false, false, 2};
  ClusterBarrier barrier{kThreads};

  // All the members know and did, or nothing.
  std::optional<uint32_t> arrive(const std::vector<uint32_t>& members, uint32_t at = 10,
                                 bool relaxed = false) {
    const ClockPointer known = relaxed ? nullptr : ClockPointer(clocks.join(members));
    const auto again = barrier.arrive(members, at, known, relaxed);
    clocks.advance(members);
    return again;
  }
};

TEST_F(ClusterBarrierTest, OrdersAllWhoMeet) {
  EXPECT_EQ(arrive(kAll), std::nullopt);
  EXPECT_EQ(barrier.wait(kAll, 11), std::nullopt);
  const auto end = barrier.end_phase(kAll, clocks);
  EXPECT_EQ(end.released, kAll);
  EXPECT_TRUE(end.orders_all);
  EXPECT_TRUE(clocks.before(0, 1, 3));
  EXPECT_FALSE(clocks.before(0, 2, 3));
  EXPECT_EQ(clocks.cluster_phases(3), 1u);
  EXPECT_TRUE(barrier.idle(kAll));
}

TEST_F(ClusterBarrierTest, WhatComesBetweenArrivalAndWaitIsNotOrdered) {
  arrive(kAll);
  EXPECT_EQ(barrier.wait(kAll, 12), std::nullopt);
  EXPECT_FALSE(barrier.end_phase(kAll, clocks).orders_all);
  EXPECT_FALSE(clocks.before(0, 2, 3));
}

TEST_F(ClusterBarrierTest, RelaxedArrivalsOrderNothing) {
  arrive({0, 1});
  arrive({2, 3}, 10, true);
  barrier.wait(kAll, 11);
  EXPECT_FALSE(barrier.end_phase(kAll, clocks).orders_all);
  EXPECT_TRUE(clocks.before(0, 1, 3));
  EXPECT_FALSE(clocks.before(2, 1, 1));
  EXPECT_EQ(clocks.cluster_phases(1), 1u);
}

TEST_F(ClusterBarrierTest, WaitsForAllWhoHaveNotLeft) {
  arrive({0, 1, 2});
  barrier.wait({0, 1}, 11);
  EXPECT_TRUE(barrier.end_phase(kAll, clocks).released.empty());
  EXPECT_EQ(barrier.stuck(kAll), (std::pair<uint32_t, uint32_t>(0, 3)));
  const auto end = barrier.end_phase({0, 1, 2}, clocks);
  EXPECT_EQ(end.released, (std::vector<uint32_t>{0, 1}));
  EXPECT_FALSE(end.orders_all);
  EXPECT_FALSE(barrier.idle({0, 1, 2}));
  EXPECT_FALSE(clocks.before(3, 1, 0));
}

TEST_F(ClusterBarrierTest, EachArrivalNeedsItsWait) {
  EXPECT_EQ(barrier.wait({1}, 11), 1u);
  arrive(kAll);
  EXPECT_EQ(arrive({2}), 2u);
  barrier.wait({0, 1}, 11);
  EXPECT_EQ(barrier.end_phase(kAll, clocks).released.size(), 2u);
  EXPECT_EQ(arrive({2}), 2u);
  EXPECT_EQ(arrive({0}), std::nullopt);
  EXPECT_FALSE(barrier.idle({0, 1}));
  EXPECT_EQ(barrier.wait({2, 3}, 12), std::nullopt);
  EXPECT_EQ(barrier.end_phase(kAll, clocks).released, (std::vector<uint32_t>{2, 3}));
}

}  // namespace
}  // namespace glove::verify
