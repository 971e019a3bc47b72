#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/timer.h"
#include "tests/float_settings.h"
#include "tests/forked_child.h"

namespace glove {
namespace {

size_t threads_of_this_process() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

TEST(ThreadPool, RunsEveryChunkOnceAndEachSlotOnOneThreadAtATime) {
  for (const int threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> runs(1000);
    std::vector<std::atomic<int>> busy(static_cast<size_t>(threads));
    std::atomic<bool> clash = false;
    const bool finished = ThreadPool::instance().run(threads, 1000,
                                                     [&](int slot, int64_t chunk) {
                                                       if (busy[static_cast<size_t>(slot)]++ != 0)
                                                         clash = true;
                                                       ++runs[static_cast<size_t>(chunk)];
                                                       --busy[static_cast<size_t>(slot)];
                                                     },
                                                     {});
    EXPECT_TRUE(finished);
    EXPECT_FALSE(clash);
    for (const auto& count : runs) ASSERT_EQ(count, 1);
  }
}

TEST(ThreadPool, NoChunksIsNoWork) {
  EXPECT_TRUE(ThreadPool::instance().run(4, 0, [](int, int64_t) { FAIL(); }, {}));
}

TEST(ThreadPool, ManyCallersAtOnce) {
  std::atomic<int64_t> total = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 6; ++i)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        ThreadPool::instance().run(3, 20, [&](int, int64_t chunk) { total += chunk; }, {});
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 6 * 50 * 190);
}

TEST(ThreadPool, AnExceptionReachesTheCaller) {
  for (const int threads : {1, 4})
    EXPECT_THROW(ThreadPool::instance().run(threads, 100,
                                            [](int, int64_t chunk) {
                                              if (chunk == 40) throw std::bad_alloc();
                                            },
                                            {}),
                 std::bad_alloc);
}

TEST(ThreadPool, AsksTheCallingThreadWhetherToStop) {
  const auto caller = std::this_thread::get_id();
  for (const int threads : {1, 3}) {
    std::atomic<int64_t> chunks = 0;
    bool asked_elsewhere = false;
    const bool finished = ThreadPool::instance().run(
        threads, 1000000,
        [&](int, int64_t) {
          ++chunks;
          std::this_thread::sleep_for(std::chrono::microseconds(100));
        },
        [&] {
          if (std::this_thread::get_id() != caller) asked_elsewhere = true;
          return chunks > 30;
        });
    EXPECT_FALSE(finished);
    EXPECT_FALSE(asked_elsewhere);
    EXPECT_LT(chunks, 1000000);
  }
}

// Work on the pool may use the pool, to any depth and from every thread: callers never wait for each other.
TEST(ThreadPool, WorkMayUseThePool) {
  std::atomic<int64_t> leaves = 0;
  const std::function<void(int)> split = [&](int depth) {
    if (depth == 0) {
      ++leaves;
      return;
    }
    ThreadPool::instance().run(4, 3, [&](int, int64_t) { split(depth - 1); });
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) callers.emplace_back([&] { split(6); });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(leaves, 3 * 729);
}

// An interrupt check may use the pool, as a progress handler does that runs a search.
TEST(ThreadPool, AnInterruptCheckMayUseThePool) {
  for (const int threads : {1, 4}) {
    std::atomic<int64_t> total = 0;
    int asked = 0;
    const auto add = [&](int, int64_t chunk) { total += chunk; };
    const auto slow = [&](int, int64_t chunk) {
      total += chunk;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    EXPECT_TRUE(ThreadPool::instance().run(threads, 40, slow, [&] {
      ++asked;
      EXPECT_TRUE(ThreadPool::instance().run(threads, 10, add));
      return false;
    }));
    EXPECT_GT(asked, 0);
    EXPECT_EQ(total, 780 + 45 * asked);
  }
}

TEST(ThreadPool, WhatAnInterruptCheckThrowsReachesTheCaller) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> inside = 0;
    int asked = 0;
    const auto work = [&](int, int64_t) {
      ++inside;
      std::this_thread::sleep_for(std::chrono::microseconds(300));
      --inside;
    };
    const auto throws_at_the_third = [&]() -> bool {
      if (++asked == 3) throw std::runtime_error("host");
      return false;
    };
    EXPECT_THROW(ThreadPool::instance().run(3, 1000000, work, throws_at_the_third), std::runtime_error);
    EXPECT_EQ(inside, 0);
  }
}

// The interrupt check is called at least every ten milliseconds of work. The test counts instead of timing:
// chunks take 1 ms, and there must be a call for every few of them.
TEST(ThreadPool, AsksOftenEnough) {
  const auto caller = std::this_thread::get_id();
  int since_question = 0, most = 0;
  const auto work = [&](int, int64_t) {
    const Timer timer;
    while (timer.microseconds() < 1000) {
    }
    if (std::this_thread::get_id() == caller) most = std::max(most, ++since_question);
  };
  EXPECT_TRUE(ThreadPool::instance().run(1, 60, work, [&] {
    since_question = 0;
    return false;
  }));
  EXPECT_LE(most, 3);
}

TEST(PoolHelpers, RunOncePerCallOnAFewThreadsAtATime) {
  std::atomic<int> runs = 0, inside = 0;
  std::atomic<bool> too_many = false;
  {
    ThreadPool::Helpers helpers(2, [&] {
      if (++inside > 2) too_many = true;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      ++runs;
      --inside;
    });
    for (int done = 0; done < 50; ++done) {
      helpers.call(1);
      while (runs <= done) std::this_thread::yield();
    }
    EXPECT_EQ(runs, 50);
    helpers.call(1000);
    helpers.finish();
    EXPECT_EQ(inside, 0);
    EXPECT_LE(runs, 54);
  }
  EXPECT_FALSE(too_many);
}

TEST(PoolHelpers, AnExceptionIsRethrownOnce) {
  std::atomic<bool> ran = false;
  ThreadPool::Helpers helpers(1, [&] {
    ran = true;
    throw std::bad_alloc();
  });
  helpers.call(1);
  while (!ran) std::this_thread::yield();
  EXPECT_THROW(helpers.finish(), std::bad_alloc);
  EXPECT_NO_THROW(helpers.finish());
}

// A caller that requests help all the time does not keep others from getting it.
TEST(PoolHelpers, TakeTurns) {
  std::atomic<bool> done = false;
  std::atomic<int> others = 0;
  ThreadPool::Helpers greedy(1, [] { std::this_thread::sleep_for(std::chrono::microseconds(50)); });
  ThreadPool::Helpers modest(1, [&] {
    ++others;
    done = true;
  });
  greedy.call(1);
  modest.call(1);
  while (!done) {
    greedy.call(1);
    std::this_thread::yield();
  }
  EXPECT_EQ(others, 1);
}

#if defined(GLOVE_HAS_FLOAT_SETTINGS)
TEST(ThreadPool, WorkersComputeWithDenormalsWhateverTheHostDoes) {
  const uint64_t saved = host::float_settings();
  host::set_float_settings(saved | host::kDenormalsFlushed);  // which new threads inherit
  const auto caller = std::this_thread::get_id();
  std::atomic<int> wrong = 0, seen = 0;
  for (int round = 0; round < 200 && seen == 0; ++round)
    ThreadPool::instance().run(16, 64,
                               [&](int, int64_t) {
                                 std::this_thread::sleep_for(std::chrono::microseconds(50));
                                 if (std::this_thread::get_id() == caller) return;
                                 ++seen;
                                 if (host::float_settings() != host::kStandard) ++wrong;
                               },
                               {});
  host::set_float_settings(saved);
  EXPECT_GT(seen, 0);
  EXPECT_EQ(wrong, 0);
}
#endif

// Runs in a fresh process, as after loading the extension: no thread starts before there is work.
TEST(ThreadPool, StartsNoThreadBeforeTheFirstScan) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer has a thread of its own";
#endif
  EXPECT_TRUE(testing::holds_in_forked_child([] {
    const size_t before = threads_of_this_process();  // 1, and an emulator's own
    ThreadPool::instance();
    return threads_of_this_process() == before;
  }));
}

// Runs in a child whose memory is used up: no thread can start, and the calling thread does all of the work.
TEST(ThreadPool, WorksWithoutThreads) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers need the address space";
#endif
  EXPECT_TRUE(testing::holds_in_forked_child([] {
    rlimit before{};
    getrlimit(RLIMIT_AS, &before);
    const rlimit none{0, before.rlim_max};
    setrlimit(RLIMIT_AS, &none);
    int64_t total = 0;
    std::mutex mutex;
    const bool finished = ThreadPool::instance().run(64, 1000, [&](int, int64_t chunk) {
      const std::lock_guard lock(mutex);
      total += chunk;
    });
    setrlimit(RLIMIT_AS, &before);  // counting threads allocates
    return finished && total == 499500 && threads_of_this_process() < 64;
  }));
}

TEST(ThreadPool, AForkedChildScansWithThreadsOfItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not support threads after a fork";
#else
  std::atomic<int64_t> total = 0;
  const auto add = [&](int, int64_t chunk) {
    total += chunk;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  };
  ASSERT_TRUE(ThreadPool::instance().run(4, 100, add, {}));
  EXPECT_TRUE(testing::holds_in_forked_child([&] {
    total = 0;
    const bool finished = ThreadPool::instance().run(4, 100, add, {});
    return finished && total == 4950 && threads_of_this_process() > 1;
  }));
  ASSERT_TRUE(ThreadPool::instance().run(4, 100, add, {}));
#endif
}

}  // namespace
}  // namespace glove
