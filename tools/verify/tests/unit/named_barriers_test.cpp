#include "sync/clocks.h"

#include <gtest/gtest.h>

namespace glove::verify {
namespace {

constexpr uint32_t kThreads = 64;

std::vector<uint32_t> warp(uint32_t number) {
  std::vector<uint32_t> threads;
  for (uint32_t lane = 0; lane < 32; ++lane) threads.push_back(32 * number + lane);
  return threads;
}

// At barrier 1, of 32 threads per arrival.
Arrival sync(uint32_t count, uint32_t instruction = 10) {
  return {1, count, 32, true, instruction};
}
Arrival arrival(uint32_t count, uint32_t instruction = 20) {
  return {1, count, 32, false, instruction};
}

class NamedBarriersTest : public testing::Test {
 protected:
  Clocks clocks{kThreads};
  NamedBarriers barriers;
};

TEST_F(NamedBarriersTest, AreIdleAndIncompleteAtTheStart) {
  EXPECT_TRUE(barriers.idle());
  EXPECT_FALSE(barriers.complete(0));
  EXPECT_FALSE(barriers.complete(15));
}

TEST_F(NamedBarriersTest, AreCompleteWhenAllHaveCome) {
  EXPECT_FALSE(barriers.arrive(sync(64), warp(0), clocks));
  EXPECT_FALSE(barriers.complete(1));
  EXPECT_FALSE(barriers.idle());
  EXPECT_FALSE(barriers.arrive(sync(64), warp(1), clocks));
  EXPECT_TRUE(barriers.complete(1));
  EXPECT_FALSE(barriers.complete(2));
}

TEST_F(NamedBarriersTest, ReleaseOrdersTheArriversAndEndsThePhase) {
  (void)barriers.arrive(sync(64), warp(0), clocks);
  (void)barriers.arrive(sync(64), warp(1), clocks);
  const auto released = barriers.release(1, clocks);
  EXPECT_EQ(released.size(), 64u);
  EXPECT_TRUE(clocks.before(0, 1, 63));
  EXPECT_TRUE(clocks.before(63, 1, 0));
  EXPECT_FALSE(clocks.before(0, 2, 63));
  EXPECT_EQ(clocks.barrier_generation(0, 1), 1u);
  EXPECT_EQ(clocks.barrier_generation(0, 2), 0u);
  EXPECT_EQ(barriers[1].generation, 1u);
  EXPECT_TRUE(barriers.idle());
}

TEST_F(NamedBarriersTest, WhoArrivesAndGoesOnIsKnownButKnowsNothing) {
  EXPECT_FALSE(barriers.arrive(arrival(64), warp(0), clocks));
  EXPECT_FALSE(barriers.arrive(sync(64), warp(1), clocks));
  EXPECT_EQ(barriers.release(1, clocks), warp(1));
  EXPECT_TRUE(clocks.before(0, 1, 40));
  EXPECT_FALSE(clocks.before(40, 1, 0));
}

TEST_F(NamedBarriersTest, WhatAnArriverDoesBehindTheBarrierIsNotOrdered) {
  (void)barriers.arrive(arrival(64), warp(0), clocks);
  EXPECT_EQ(clocks.epoch(0), 2u);
  (void)barriers.arrive(sync(64), warp(1), clocks);
  (void)barriers.release(1, clocks);
  EXPECT_FALSE(clocks.before(0, 2, 40));
}

TEST_F(NamedBarriersTest, CountsMustAgree) {
  (void)barriers.arrive(sync(64), warp(0), clocks);
  const auto problem = barriers.arrive(sync(96, 11), warp(1), clocks);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->fault, BarrierFault::kCount);
  EXPECT_EQ(problem->detail, "barrier 1 waits for 64 threads, but thread 32 names 96");
  EXPECT_EQ(problem->other_instruction, 10u);
  EXPECT_EQ(problem->other_thread, 0u);
}

TEST_F(NamedBarriersTest, AFaultLeavesTheBarrierAsItWas) {
  (void)barriers.arrive(sync(64), warp(0), clocks);
  (void)barriers.arrive(sync(96), warp(1), clocks);
  EXPECT_EQ(barriers[1].expected, 64u);
  EXPECT_EQ(barriers[1].arrived, 32u);
  EXPECT_EQ(barriers[1].waiting, warp(0));
}

TEST_F(NamedBarriersTest, MoreThreadsThanItWaitsForAreAFault) {
  const auto problem = barriers.arrive({1, 31, 32, true, 10}, warp(0), clocks);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->fault, BarrierFault::kCount);
  EXPECT_EQ(problem->detail, "more than 31 threads arrive at barrier 1");
}

TEST_F(NamedBarriersTest, AnArrivalCountsForItsWeightAndNotItsMembers) {
  EXPECT_FALSE(barriers.arrive({1, 32, 32, true, 10}, {5}, clocks));  // one lane counts for its warp
  EXPECT_TRUE(barriers.complete(1));
  EXPECT_EQ(barriers.release(1, clocks), std::vector<uint32_t>{5});
}

TEST_F(NamedBarriersTest, NobodyWaitsIfAllOnlyArrive) {
  EXPECT_FALSE(barriers.arrive(arrival(64), warp(0), clocks));
  const auto problem = barriers.arrive(arrival(64, 21), warp(1), clocks);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->fault, BarrierFault::kArriveOnly);
  EXPECT_EQ(problem->detail, "all threads arrive at barrier 1 and none waits");
  EXPECT_EQ(problem->other_instruction, 20u);
}

TEST_F(NamedBarriersTest, ArrivingTwiceInOnePhaseIsAFault) {
  (void)barriers.arrive(arrival(96), warp(0), clocks);
  const auto problem = barriers.arrive(arrival(96), warp(0), clocks);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->fault, BarrierFault::kRecycling);
  EXPECT_EQ(problem->other_thread, 0u);
}

TEST_F(NamedBarriersTest, ArrivingInTheNextPhaseWithoutHavingWaitedIsAFault) {
  (void)barriers.arrive(arrival(64), warp(0), clocks);
  (void)barriers.arrive(sync(64), warp(1), clocks);
  (void)barriers.release(1, clocks);
  const auto problem = barriers.arrive(arrival(64), warp(0), clocks);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->fault, BarrierFault::kRecycling);
  EXPECT_EQ(problem->detail,
            "thread 0 arrives again at barrier 1 without having waited for the end of its phase before");
}

TEST_F(NamedBarriersTest, WhoLearnsOfTheEndOfAPhaseElsewhereMayArriveAgain) {
  (void)barriers.arrive(arrival(64), warp(0), clocks);
  (void)barriers.arrive(sync(64), warp(1), clocks);
  (void)barriers.release(1, clocks);
  clocks.synchronise({0, 32});  // thread 32 has waited
  EXPECT_FALSE(barriers.arrive(arrival(64), {0}, clocks));
}

TEST_F(NamedBarriersTest, PhasesFollowEachOther) {
  for (uint32_t phase = 1; phase <= 3; ++phase) {
    EXPECT_FALSE(barriers.arrive(sync(64), warp(1), clocks));
    EXPECT_FALSE(barriers.arrive(sync(64), warp(0), clocks));
    EXPECT_EQ(barriers.release(1, clocks).size(), 64u);
    EXPECT_EQ(barriers[1].generation, phase);
    EXPECT_TRUE(clocks.before(0, phase, 32));
    EXPECT_FALSE(clocks.before(0, phase + 1, 32));
  }
}

TEST_F(NamedBarriersTest, AreIndependentOfEachOther) {
  (void)barriers.arrive({3, 64, 32, true, 10}, warp(0), clocks);
  (void)barriers.arrive({15, 32, 32, true, 11}, warp(1), clocks);
  EXPECT_FALSE(barriers.complete(3));
  EXPECT_TRUE(barriers.complete(15));
  (void)barriers.release(15, clocks);
  EXPECT_FALSE(barriers.idle());
  EXPECT_FALSE(clocks.before(0, 1, 32));
}

}  // namespace
}  // namespace glove::verify
