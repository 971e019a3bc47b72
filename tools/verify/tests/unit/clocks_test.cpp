#include "sync/clocks.h"

#include <gtest/gtest.h>

namespace glove::verify {
namespace {

TEST(Clocks, NobodyKnowsOfOthersAtTheStart) {
  const Clocks clocks(3);
  EXPECT_EQ(clocks.threads(), 3u);
  EXPECT_EQ(clocks.epoch(2), 1u);
  EXPECT_FALSE(clocks.before(0, 1, 1));
  EXPECT_FALSE(clocks.before(1, 1, 0));
}

TEST(Clocks, AThreadComesAfterItself) {
  const Clocks clocks(2);
  EXPECT_TRUE(clocks.before(1, 1, 1));
  EXPECT_TRUE(clocks.before(1, 1000, 1));
}

TEST(Clocks, SynchroniseOrdersWhatCameBeforeBothWays) {
  Clocks clocks(3);
  clocks.synchronise({0, 1});
  EXPECT_TRUE(clocks.before(0, 1, 1));
  EXPECT_TRUE(clocks.before(1, 1, 0));
  EXPECT_FALSE(clocks.before(0, 1, 2));
  EXPECT_FALSE(clocks.before(2, 1, 0));
}

TEST(Clocks, SynchroniseOrdersNothingThatFollows) {
  Clocks clocks(2);
  clocks.synchronise({0, 1});
  EXPECT_EQ(clocks.epoch(0), 2u);
  EXPECT_FALSE(clocks.before(0, 2, 1));
  EXPECT_FALSE(clocks.before(1, 2, 0));
}

TEST(Clocks, OrderIsTransitive) {
  Clocks clocks(3);
  clocks.synchronise({0, 1});
  clocks.synchronise({1, 2});
  EXPECT_TRUE(clocks.before(0, 1, 2));
  EXPECT_FALSE(clocks.before(0, 2, 2));
  EXPECT_FALSE(clocks.before(2, 1, 0));
}

TEST(Clocks, OrderDoesNotRunBackwards) {
  Clocks clocks(3);
  clocks.synchronise({1, 2});
  clocks.synchronise({0, 1});
  EXPECT_TRUE(clocks.before(2, 1, 0));
  EXPECT_FALSE(clocks.before(0, 1, 2));
}

TEST(Clocks, JoinIsTheGreatestOfAllAndCoversItsMembers) {
  Clocks clocks(4);
  clocks.synchronise({0, 1});
  clocks.synchronise({0, 1});
  clocks.synchronise({2, 3});
  const auto joined = clocks.join({1, 2});
  EXPECT_EQ((*joined)[0], 2u);  // thread 1 knows of it
  EXPECT_EQ((*joined)[1], 3u);  // its own epoch
  EXPECT_EQ((*joined)[2], 2u);
  EXPECT_EQ((*joined)[3], 1u);
  EXPECT_EQ(joined->size(), 4 + Clocks::kBarriers + Clocks::kCounters);
}

TEST(Clocks, JoinChangesNobody) {
  Clocks clocks(2);
  (void)clocks.join({0, 1});
  EXPECT_EQ(clocks.epoch(0), 1u);
  EXPECT_FALSE(clocks.before(0, 1, 1));
}

TEST(Clocks, AdvanceIsNotCoveredByAnEarlierJoin) {
  Clocks clocks(2);
  const auto joined = clocks.join({0});
  clocks.advance({0});
  clocks.acquire({1}, joined);
  EXPECT_TRUE(clocks.before(0, 1, 1));
  EXPECT_FALSE(clocks.before(0, 2, 1));
}

TEST(Clocks, AcquireKeepsWhatAThreadKnewBefore) {
  Clocks clocks(3);
  const auto early = clocks.join({2});
  clocks.synchronise({0, 1});
  clocks.acquire({1}, early);
  EXPECT_TRUE(clocks.before(0, 1, 1));
  EXPECT_TRUE(clocks.before(2, 1, 1));
  EXPECT_FALSE(clocks.before(2, 1, 0));
}

TEST(Clocks, AcquireOfAnOlderClockForgetsNothing) {
  Clocks clocks(2);
  const auto old = clocks.join({0});
  clocks.synchronise({0, 1});
  clocks.synchronise({0, 1});
  clocks.acquire({1}, old);
  EXPECT_TRUE(clocks.before(0, 2, 1));
}

TEST(Clocks, ThreadsThatLearnTheSameShareOneClock) {
  Clocks clocks(4);
  EXPECT_TRUE(clocks.alike(0, 3)) << "nobody knows anything";
  clocks.synchronise({0, 1, 2});
  EXPECT_TRUE(clocks.alike(0, 2));
  EXPECT_EQ(clocks.known(0), clocks.known(1));
  EXPECT_FALSE(clocks.alike(0, 3));
}

TEST(Clocks, CommonKeepsTheLeastOfBoth) {
  Clocks a(2), b(2);
  a.synchronise({0, 1});
  a.synchronise({0, 1});
  b.synchronise({0, 1});
  const ClockPointer both = Clocks::common(a.known(0), b.known(0));
  EXPECT_EQ((*both)[0], 1u);
  EXPECT_EQ((*both)[1], 1u);
  EXPECT_EQ(Clocks::common(a.known(0), a.known(0)), a.known(0));
}

TEST(Clocks, ForgetGivesKnowledgeBack) {
  Clocks clocks(2);
  const ClockPointer earlier = clocks.known(1);
  clocks.synchronise({0, 1});
  clocks.forget(1, earlier);
  EXPECT_FALSE(clocks.before(0, 1, 1));
  EXPECT_TRUE(clocks.before(1, 1, 0));
}

TEST(Clocks, CountersAreSeenOneByOne) {
  Clocks clocks(2);
  EXPECT_EQ(clocks.seen_counters(0), 0u);
  clocks.see_counter(0, 0);
  clocks.see_counter(0, Clocks::kCounters - 1);
  clocks.see_counter(0, 0);
  EXPECT_EQ(clocks.seen_counters(0), 1u | 1u << (Clocks::kCounters - 1));
  EXPECT_EQ(clocks.seen_counters(1), 0u);
}

TEST(Clocks, ABarrierHandsSeenCountersOn) {
  Clocks clocks(3);
  clocks.see_counter(0, 3);
  clocks.synchronise({0, 1});
  EXPECT_EQ(clocks.seen_counters(1), 8u);
  EXPECT_EQ(clocks.seen_counters(2), 0u);
}

TEST(Clocks, WithoutProxiesEverythingIsPublished) {
  Clocks clocks(2);
  EXPECT_TRUE(clocks.published(0, 1, 1));
  clocks.fence_proxy({0});
  EXPECT_EQ(clocks.epoch(0), 1u);
}

TEST(Clocks, ABarrierAloneDoesNotPublishToTheAsynchronousProxy) {
  Clocks clocks(2, true);
  clocks.synchronise({0, 1});
  EXPECT_TRUE(clocks.before(0, 1, 1));
  EXPECT_FALSE(clocks.before_proxy(0, 1, 1));
  EXPECT_FALSE(clocks.published(0, 1, 1));
}

TEST(Clocks, AFenceBeforeTheBarrierPublishes) {
  Clocks clocks(2, true);
  clocks.fence_proxy({0});
  clocks.synchronise({0, 1});
  EXPECT_TRUE(clocks.before_proxy(0, 1, 1));
  EXPECT_TRUE(clocks.published(0, 1, 1));
  EXPECT_FALSE(clocks.before_proxy(0, 2, 1)) << "written behind the fence";
}

TEST(Clocks, TheReadersFenceBehindTheBarrierServesTheReaderAlone) {
  Clocks clocks(3, true);
  clocks.synchronise({0, 1, 2});
  clocks.fence_proxy({1});
  EXPECT_TRUE(clocks.before_proxy(0, 1, 1));
  EXPECT_FALSE(clocks.before_proxy(0, 1, 2));
  EXPECT_FALSE(clocks.published(0, 1, 1));
  EXPECT_FALSE(clocks.alike(1, 2));
}

TEST(Clocks, AFenceCoversWhatItsThreadKnewAndOthersLearnOfIt) {
  Clocks clocks(3, true);
  clocks.synchronise({0, 1});
  clocks.fence_proxy({1});  // knows of what thread 0 did
  clocks.synchronise({1, 2});
  EXPECT_TRUE(clocks.before_proxy(0, 1, 2));
  EXPECT_TRUE(clocks.published(0, 1, 2));
  EXPECT_FALSE(clocks.before_proxy(0, 2, 2));
}

}  // namespace
}  // namespace glove::verify
