#include "value/budget.h"

#include <gtest/gtest.h>

#include <thread>

namespace glove::verify {
namespace {

using std::chrono::milliseconds;

void work_until(ThreadClock::time_point end) {
  while (ThreadClock::now() < end) {
  }
}

TEST(Budget, IsSpentByWorkAndNotByTime) {
  Budget budget(ThreadClock::in(0.02), 0);
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_FALSE(budget.out_of_time());
  std::this_thread::sleep_for(milliseconds(50));  // it has asked once
  EXPECT_FALSE(budget.out_of_time());
  work_until(ThreadClock::in(0.02));
  EXPECT_TRUE(budget.out_of_time());
  EXPECT_TRUE(budget.out_of_time());
}

TEST(Budget, IsNotSpentByTheWorkOfOtherThreads) {
  Budget budget(ThreadClock::in(0.02), 0);
  std::thread([] { work_until(ThreadClock::in(0.04)); }).join();
  EXPECT_FALSE(budget.out_of_time());
}

TEST(Budget, OfNothingGivenIsNeverSpent) {
  Budget budget;
  work_until(ThreadClock::in(0.005));
  EXPECT_FALSE(budget.out_of_time());
}

}  // namespace
}  // namespace glove::verify
