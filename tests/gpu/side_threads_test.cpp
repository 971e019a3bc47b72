#include "gpu/search/side_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/forked_child.h"

namespace glove::gpu {
namespace {

TEST(SideThreads, EachPieceOnceAndTheFirstOnTheCallersThread) {
  SideThreads threads;
  for (const size_t count : {0, 1, 2, 5}) {
    std::vector<std::thread::id> by(count);
    std::vector<int> times(count);
    const bool finished = threads.run(count,
                                      [&](size_t i, const InterruptCheck& interrupted) {
                                        by[i] = std::this_thread::get_id();
                                        ++times[i];
                                        EXPECT_FALSE(interrupted());
                                      },
                                      {});
    EXPECT_TRUE(finished);
    for (const int each : times) EXPECT_EQ(each, 1);
    EXPECT_TRUE(count == 0 || by[0] == std::this_thread::get_id());
    EXPECT_EQ(std::set(by.begin(), by.end()).size(), count) << "each on a thread of its own";
  }
}

TEST(SideThreads, OnlyTheCallersThreadAsksAndAllAreInterrupted) {
  SideThreads threads;
  const auto self = std::this_thread::get_id();
  int asked = 0;
  std::atomic<int> stopped{0};
  const bool finished = threads.run(
      3,
      [&](size_t i, const InterruptCheck& interrupted) {
        if (i == 0) return;  // the caller asks while it waits
        while (!interrupted()) std::this_thread::yield();
        ++stopped;
      },
      [&] {
        EXPECT_EQ(std::this_thread::get_id(), self);
        return ++asked == 3;
      });
  EXPECT_FALSE(finished);
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(stopped, 2);
}

TEST(SideThreads, ThrowsTheFirstExceptionOnceAllHaveFinished) {
  SideThreads threads;
  for (const size_t thrower : {0, 1, 2}) {
    std::atomic<int> finished{0};
    const auto work = [&](size_t i, const InterruptCheck& interrupted) {
      if (i == thrower) throw std::runtime_error("thrown");
      while (!interrupted()) std::this_thread::yield();
      ++finished;
    };
    EXPECT_THROW(threads.run(3, work, {}), std::runtime_error);
    EXPECT_EQ(finished, 2);
  }
  const auto wait = [](size_t i, const InterruptCheck& interrupted) {
    while (i > 0 && !interrupted()) std::this_thread::yield();
  };
  EXPECT_THROW(threads.run(2, wait, []() -> bool { throw std::runtime_error("asked"); }), std::runtime_error);
}

TEST(SideThreads, WakesThreadsThatSleep) {
  SideThreads threads;
  std::atomic<int> done{0};
  for (int round = 0; round < 20; ++round) {
    threads.run(4, [&](size_t, const InterruptCheck&) { ++done; }, {});
    if (round % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  EXPECT_EQ(done, 80);
}

#if !defined(__SANITIZE_THREAD__)  // its run time does not support a fork while threads run
TEST(SideThreads, AForkedChildLeavesThemAlone) {
  auto threads = std::make_unique<SideThreads>();
  threads->run(3, [](size_t, const InterruptCheck&) {}, {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until they sleep
  EXPECT_TRUE(testing::holds_in_forked_child([&threads] {
    threads.reset();
    return true;
  }));
}
#endif

TEST(SideThreads, ManyCallersAndCallsWithinCalls) {
  SideThreads threads;
  std::atomic<int> done{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        threads.run(3,
                    [&](size_t, const InterruptCheck&) {
                      threads.run(2, [&](size_t, const InterruptCheck&) { ++done; }, {});
                    },
                    {});
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(done, 8 * 50 * 3 * 2);
}

}  // namespace
}  // namespace glove::gpu
