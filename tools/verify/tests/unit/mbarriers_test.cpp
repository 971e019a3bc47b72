#include "sync/mbarriers.h"

#include <gtest/gtest.h>

namespace glove::verify {
namespace {

// Threads 0 to 2 of a block, and an mbarrier at 64 of two arrivals.
class MbarriersTest : public testing::Test {
 protected:
  MbarriersTest() { EXPECT_EQ(all.init(64, 2, 0), ""); }

  std::string arrive(uint32_t thread, uint32_t times = 1, uint64_t bytes = 0) {
    return all.arrive(0, thread, times, bytes, clocks);
  }
  std::string copy(uint32_t thread, uint64_t bytes) { return all.copy(0, thread, bytes, clocks); }
  bool wait(uint32_t thread, uint32_t phase) {
    fault.clear();
    return all.wait(0, thread, phase, clocks, &fault);
  }
  // Whether the phase has ended.
  bool end() {
    const Mbarriers::End result = all.end_phase(0, clocks);
    released = result.released;
    fault = result.missed + result.unproved;
    return result.ended;
  }

  Clocks clocks{3, false, true};
  Mbarriers all;
  std::vector<uint32_t> released;
  std::string fault;
};

TEST_F(MbarriersTest, AreFoundByTheirBytes) {
  EXPECT_EQ(all.find(64), 0u);
  EXPECT_EQ(all.find(71), 0u);
  EXPECT_EQ(all.find(72), Clocks::kMbarriers);
  EXPECT_EQ(all.find(60, 4), Clocks::kMbarriers);
  EXPECT_EQ(all.find(60, 5), 0u);
  EXPECT_NE(all.init(64, 2, 0), "");
  EXPECT_EQ(all.invalidate(0, 0, clocks), "");
  EXPECT_EQ(all.find(64), Clocks::kMbarriers);
}

TEST_F(MbarriersTest, AreShownByWhoInitialisedThem) {
  all.show(1, clocks);
  EXPECT_FALSE(all.shown(0, 0, clocks));
  all.show(0, clocks);
  EXPECT_TRUE(all.shown(0, 0, clocks));
  EXPECT_FALSE(all.shown(0, 1, clocks));
  clocks.synchronise({0, 1});
  EXPECT_TRUE(all.shown(0, 1, clocks));
}

TEST_F(MbarriersTest, AreInvalidatedBehindTheirLastPhase) {
  (void)arrive(0);
  EXPECT_NE(all.invalidate(0, 0, clocks), "");
  (void)arrive(1);
  EXPECT_TRUE(end());
  EXPECT_NE(all.invalidate(0, 0, clocks), "");
  EXPECT_TRUE(wait(0, 0));
  EXPECT_EQ(all.invalidate(0, 0, clocks), "");
}

TEST_F(MbarriersTest, APhaseEndsWithTheLastArrivalAndOrders) {
  EXPECT_EQ(arrive(0), "");
  EXPECT_FALSE(end());
  EXPECT_FALSE(wait(2, 0));
  EXPECT_EQ(arrive(1), "");
  EXPECT_TRUE(end());
  EXPECT_EQ(released, std::vector<uint32_t>{2});
  EXPECT_EQ(fault, "");
  EXPECT_TRUE(clocks.before(0, 1, 2));
  EXPECT_TRUE(clocks.before(1, 1, 2));
  EXPECT_FALSE(clocks.before(0, 2, 2));
  EXPECT_FALSE(clocks.before(1, 1, 0));
  EXPECT_TRUE(wait(0, 0));
  EXPECT_TRUE(clocks.before(1, 1, 0));
}

TEST_F(MbarriersTest, WhoArrivesAgainMustHaveWaited) {
  (void)arrive(0);
  (void)arrive(1);
  EXPECT_TRUE(end());
  EXPECT_NE(arrive(0).find("without having waited"), std::string::npos);
  EXPECT_TRUE(wait(0, 0));
  EXPECT_EQ(arrive(0), "");
  EXPECT_NE(arrive(2).find("without having waited"), std::string::npos);
}

TEST_F(MbarriersTest, NoMoreArriveThanThereAre) {
  EXPECT_NE(arrive(0, 3).find("after all 2 arrivals"), std::string::npos);
  EXPECT_EQ(arrive(0, 2), "");
  EXPECT_NE(arrive(1).find("after all 2 arrivals"), std::string::npos);
}

TEST_F(MbarriersTest, APhaseLastsUntilAllBytesHaveCome) {
  (void)arrive(0, 1, 48);
  (void)arrive(1);
  EXPECT_EQ(copy(0, 16), "");
  EXPECT_FALSE(end());
  EXPECT_EQ(copy(1, 32), "");
  EXPECT_TRUE(end());
  EXPECT_EQ(fault, "");
  EXPECT_TRUE(all.unawaited(clocks));
  EXPECT_NE(copy(0, 16).find("without having waited"), std::string::npos);
  EXPECT_TRUE(wait(2, 0));
  EXPECT_FALSE(all.unawaited(clocks));
}

TEST_F(MbarriersTest, APhaseCountsLessThanAMebibyte) {
  EXPECT_EQ(arrive(0, 0, (1 << 20) - 1), "");
  EXPECT_NE(arrive(0, 1, 1).find("more bytes"), std::string::npos);
}

TEST_F(MbarriersTest, WhoExpectsBytesArrivesBehind) {
  (void)arrive(2, 0, 16);
  (void)copy(2, 16);
  (void)arrive(0, 2);
  EXPECT_TRUE(end());
  EXPECT_NE(fault.find("thread 2 expects bytes"), std::string::npos);
}

TEST_F(MbarriersTest, AParityNamesAPhaseThatTheThreadKnows) {
  EXPECT_EQ(all.phase_of_parity(0, 0, 0, clocks), 0u);
  EXPECT_TRUE(wait(0, all.phase_of_parity(0, 0, 1, clocks)));  // before the first
  EXPECT_EQ(fault, "");
  (void)arrive(0, 2);
  EXPECT_TRUE(end());
  EXPECT_TRUE(wait(0, all.phase_of_parity(0, 0, 0, clocks)));
  EXPECT_EQ(all.phase_of_parity(0, 0, 1, clocks), 1u);
  EXPECT_EQ(all.phase_of_parity(0, 0, 0, clocks), 0u);
}

// Thread 2 waits for phase 0, which has ended; in another schedule phase 1 has ended, too, before it looks.
TEST_F(MbarriersTest, APhaseMustNotEndBeforeAllHaveLooked) {
  (void)arrive(0, 2);
  EXPECT_TRUE(end());
  EXPECT_TRUE(wait(2, 0));
  EXPECT_TRUE(wait(0, 0));
  (void)arrive(0, 2);
  EXPECT_TRUE(end());
  EXPECT_NE(fault.find("can end before thread 2 looks"), std::string::npos);
}

TEST_F(MbarriersTest, AnArrivalBehindTheLookCoversIt) {
  (void)arrive(0, 2);
  EXPECT_TRUE(end());
  EXPECT_TRUE(wait(2, 0));
  EXPECT_TRUE(wait(0, 0));
  (void)arrive(0);
  (void)arrive(2);
  EXPECT_TRUE(end());
  EXPECT_EQ(fault, "");
  EXPECT_TRUE(wait(0, 1));
  (void)arrive(0, 2);
  EXPECT_TRUE(end());
  EXPECT_FALSE(wait(2, 3));
  EXPECT_EQ(all.stuck(clocks).size(), 1u);
}

TEST_F(MbarriersTest, WhoComesTwoPhasesLateIsWrong) {
  for (const uint32_t phase : {0u, 1u}) {
    (void)arrive(0, 2);
    EXPECT_TRUE(end());
    EXPECT_TRUE(wait(0, phase));
  }
  EXPECT_TRUE(wait(2, 0));
  EXPECT_NE(fault, "");
}

TEST_F(MbarriersTest, TheStuckAreNamed) {
  EXPECT_FALSE(wait(1, 0));
  (void)arrive(0, 1, 32);
  ASSERT_EQ(all.stuck(clocks).size(), 1u);
  EXPECT_EQ(all.stuck(clocks)[0].thread, 1u);
  EXPECT_EQ(all.stuck(clocks)[0].text,
            "thread 1 waits for ever at the mbarrier at 64: 1 of 2 arrivals come, and 32 bytes are expected "
            "and not "
            "copied");
}

}  // namespace
}  // namespace glove::verify
