
#include <gtest/gtest.h>

#include "base/status.h"

namespace glove {
namespace {

void spend(double microseconds) {
  const Timer timer;
  while (timer.microseconds() < microseconds) {
  }
}

TEST(Timer, CountsFromTheLastLap) {
  Timer timer;
  const double early = timer.microseconds();
  spend(300);
  const double lap = timer.lap();
  EXPECT_GE(lap, early + 300);
  spend(100);
  EXPECT_GE(timer.lap(), 100);
}

TEST(CheckInterrupt, TrueStopsAndNothingNever) {
  EXPECT_TRUE(check_interrupt({}).ok());
  EXPECT_TRUE(check_interrupt([] { return false; }).ok());
  const Status status = check_interrupt([] { return true; });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(status.error().message, "interrupted");
}

TEST(InterruptPoll, AsksAtOnceAndThenWhenTheAnswerIsOld) {
  int asked = 0;
  const InterruptCheck check = [&] { return ++asked == 3; };
  InterruptPoll poll(check);
  EXPECT_FALSE(poll.stop());
  EXPECT_EQ(asked, 1);
  spend(2100);
  EXPECT_TRUE(poll.check().ok());
  EXPECT_EQ(asked, 2);
  spend(2100);
  EXPECT_FALSE(poll.stopped());
  EXPECT_FALSE(poll.check().ok());
  EXPECT_TRUE(poll.stopped());
  spend(2100);
  EXPECT_TRUE(poll.stop());
  EXPECT_EQ(asked, 3);
}

// The check is called far less often than stop(): many thousands of calls of stop() fit into 2 ms.
TEST(InterruptPoll, ATightLoopMayUseIt) {
  int asked = 0;
  const InterruptCheck check = [&] {
    ++asked;
    return false;
  };
  InterruptPoll poll(check);
  for (int turn = 0; turn < 100000; ++turn) EXPECT_FALSE(poll.stop());
  EXPECT_GE(asked, 1);
  EXPECT_LT(asked, 50000);
}

TEST(InterruptPoll, WithoutACheckNothingStops) {
  const InterruptCheck none;
  InterruptPoll poll(none);
  EXPECT_FALSE(poll.stop());
  EXPECT_TRUE(poll.check().ok());
}

}  // namespace
}  // namespace glove
