#include "sync/async_groups.h"

#include <gtest/gtest.h>

namespace glove::verify {
namespace {

constexpr uint32_t kAll = ~0u;
constexpr uint32_t kInFlight = AsyncGroups::kInFlight;

// Begins and commits one batch, and returns its number.
uint32_t batch(AsyncGroups& groups, uint32_t lanes = kAll) {
  groups.begin(lanes);
  const uint32_t number = groups.current();
  groups.commit(lanes);
  return number;
}

TEST(AsyncGroups, AreNumberedFromOne) {
  AsyncGroups groups;
  EXPECT_EQ(groups.current(), 0u);
  EXPECT_EQ(batch(groups), 1u);
  EXPECT_EQ(batch(groups), 2u);
}

TEST(AsyncGroups, ABatchGrowsUntilItIsCommitted) {
  AsyncGroups groups;
  groups.begin(1);
  groups.begin(2);
  EXPECT_EQ(groups.current(), 1u);
  groups.commit(3);
  groups.begin(1);
  EXPECT_EQ(groups.current(), 2u);
}

TEST(AsyncGroups, AreInFlightUntilTheLaneWaits) {
  AsyncGroups groups;
  const uint32_t number = batch(groups);
  EXPECT_EQ(groups.completed(number, 0), kInFlight);
  groups.wait(0, 0, 7);
  EXPECT_EQ(groups.completed(number, 0), 7u);
  EXPECT_EQ(groups.completed(number, 1), kInFlight);
}

TEST(AsyncGroups, AWaitLeavesTheLastGroupsPending) {
  AsyncGroups groups;
  const uint32_t first = batch(groups), second = batch(groups), third = batch(groups);
  groups.wait(0, 1, 5);
  EXPECT_EQ(groups.completed(first, 0), 5u);
  EXPECT_EQ(groups.completed(second, 0), 5u);
  EXPECT_EQ(groups.completed(third, 0), kInFlight);
}

TEST(AsyncGroups, AWaitForAsManyAsThereAreCompletesNothing) {
  AsyncGroups groups;
  const uint32_t first = batch(groups), second = batch(groups);
  groups.wait(0, 2, 5);
  EXPECT_EQ(groups.completed(first, 0), kInFlight);
  groups.wait(0, ~0u, 5);
  EXPECT_EQ(groups.completed(second, 0), kInFlight);
}

TEST(AsyncGroups, AWaitDoesNotCompleteWhatIsNotCommitted) {
  AsyncGroups groups;
  groups.begin(1);
  groups.wait(0, 0, 3);
  EXPECT_EQ(groups.completed(1, 0), kInFlight);
}

TEST(AsyncGroups, OneGroupHoldsWhatWasBegunBeforeAndBehindAWait) {
  AsyncGroups groups;
  groups.begin(1);
  groups.wait(0, 0, 3);
  groups.begin(1);
  EXPECT_EQ(groups.current(), 2u) << "a wait ends the batch";
  groups.commit(1);
  groups.wait(0, 0, 4);
  EXPECT_EQ(groups.completed(1, 0), 4u);
  EXPECT_EQ(groups.completed(2, 0), 4u);
}

TEST(AsyncGroups, WaitAllCommitsFirst) {
  AsyncGroups groups;
  groups.begin(3);
  groups.wait_all(0, 9);
  EXPECT_EQ(groups.completed(1, 0), 9u);
  EXPECT_EQ(groups.completed(1, 1), kInFlight);
}

TEST(AsyncGroups, ALaterWaitDoesNotMoveTheEpoch) {
  AsyncGroups groups;
  const uint32_t number = batch(groups);
  groups.wait(0, 0, 2);
  groups.wait(0, 0, 8);
  EXPECT_EQ(groups.completed(number, 0), 2u);
}

TEST(AsyncGroups, LanesThatBeganNothingAreElsewhere) {
  AsyncGroups groups;
  const uint32_t number = batch(groups, 1);
  groups.wait(0, 0, 2);
  EXPECT_EQ(groups.completed(number, 1), AsyncGroups::kElsewhere);
  EXPECT_EQ(groups.completed(number + 1, 0), kInFlight) << "nobody has begun it";
}

TEST(AsyncGroups, EmptyGroupsAgeABatch) {
  AsyncGroups groups;
  const uint32_t number = batch(groups, 1);
  EXPECT_EQ(groups.age(number, 0), 1u);
  groups.commit(1);
  groups.commit(1);
  EXPECT_EQ(groups.age(number, 0), 3u);
  groups.wait(0, 2, 6);
  EXPECT_EQ(groups.completed(number, 0), 6u);
  EXPECT_EQ(groups.age(number, 0), 0u);
}

TEST(AsyncGroups, GroupsBeforeTheFirstOperationDoNotCount) {
  AsyncGroups groups;
  groups.commit(kAll);
  const uint32_t number = batch(groups);
  EXPECT_EQ(groups.age(number, 0), 1u);
}

TEST(AsyncGroups, AgesTellStatesApart) {
  AsyncGroups groups;
  (void)batch(groups, 3);
  (void)batch(groups, 1);
  EXPECT_EQ(groups.ages(1), (std::vector<uint32_t>{0, 2, 0, 1}));
  EXPECT_EQ(groups.ages(2), (std::vector<uint32_t>{1, 1}));
  EXPECT_TRUE(groups.ages(4).empty());
  EXPECT_EQ(groups.batches(1), 2u);
  EXPECT_EQ(groups.batches(2), 1u);
  EXPECT_EQ(groups.batches(4), 0u);
}

TEST(AsyncGroups, ForgetCompletedKeepsWhatFlies) {
  AsyncGroups groups;
  const uint32_t first = batch(groups, 1), second = batch(groups, 1);
  groups.wait(0, 1, 4);
  groups.forget_completed();
  EXPECT_EQ(groups.completed(first, 0), kInFlight) << "it is not known any more";
  EXPECT_EQ(groups.batches(1), 1u);
  groups.wait(0, 0, 5);
  EXPECT_EQ(groups.completed(second, 0), 5u);
}

TEST(AsyncGroups, AssignTakesTheOtherStateOfSomeLanes) {
  AsyncGroups groups;
  const uint32_t number = batch(groups, 3);
  AsyncGroups other = groups;
  other.wait(0, 0, 4);
  other.wait(1, 0, 4);
  groups.assign(1, other);
  EXPECT_EQ(groups.completed(number, 0), 4u);
  EXPECT_EQ(groups.completed(number, 1), kInFlight);
}

TEST(AsyncGroups, AssignForgetsWhatTheOtherHasNotBegun) {
  AsyncGroups groups;
  const AsyncGroups before = groups;
  const uint32_t number = batch(groups, 3);
  groups.assign(1, before);
  EXPECT_EQ(groups.completed(number, 0), AsyncGroups::kElsewhere);
  EXPECT_EQ(groups.batches(1), 0u);
  EXPECT_EQ(groups.batches(2), 1u);
}

TEST(AsyncGroups, WhatAbandonedLanesHaveInFlightIsNeverComplete) {
  AsyncGroups groups;
  const uint32_t number = batch(groups, 1);
  const AsyncGroups left = groups;
  groups.wait(0, 0, 4);
  groups.abandon(1, left);
  EXPECT_EQ(groups.completed(number, 0), kInFlight);
  groups.forget_completed();
  groups.wait_all(0, 5);
  EXPECT_EQ(groups.completed(number, 0), kInFlight);
}

TEST(AsyncGroups, MergedWaysHaveWaitedOnlyIfBothHave) {
  AsyncGroups groups;
  const uint32_t number = batch(groups, 3);
  AsyncGroups other = groups;
  groups.wait(0, 0, 4), groups.wait(1, 0, 4);
  other.wait(0, 0, 6);
  groups.merge(3, other);
  EXPECT_EQ(groups.completed(number, 0), 6u) << "the later of both waits";
  EXPECT_EQ(groups.completed(number, 1), kInFlight);
}

TEST(AsyncGroups, MergedWaysAreAsYoungAsTheYounger) {
  AsyncGroups groups;
  const uint32_t number = batch(groups, 1);
  AsyncGroups other = groups;
  groups.commit(1), groups.commit(1);  // age 3
  other.commit(1);                     // age 2
  groups.merge(1, other);
  EXPECT_EQ(groups.age(number, 0), 2u);
  groups.wait(0, 2, 5);
  EXPECT_EQ(groups.completed(number, 0), kInFlight);
  groups.wait(0, 1, 5);
  EXPECT_EQ(groups.completed(number, 0), 5u);
}

TEST(AsyncGroups, MergeAddsWhatOnlyTheOtherHasBegun) {
  AsyncGroups groups;
  AsyncGroups other = groups;
  const uint32_t number = batch(other, 1);
  groups.merge(1, other);
  EXPECT_EQ(groups.completed(number, 0), kInFlight);
  EXPECT_EQ(batch(groups, 1), number + 1) << "numbers are not used twice";
}

TEST(AsyncGroups, MergeOfCompletedWaysKeepsTheEpochOfTheOneThatBegan) {
  AsyncGroups groups;
  AsyncGroups other = groups;
  const uint32_t number = batch(other, 1);
  other.wait(0, 0, 3);
  groups.merge(1, other);
  EXPECT_EQ(groups.completed(number, 0), 3u);
}

}  // namespace
}  // namespace glove::verify
