#include "base/thread_pool.h"
#include "base/cores.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <thread>

#include "cpu/cpu_backend.h"
#include "tests/cpu/test_support.h"
#include "tests/float_settings.h"

namespace glove::cpu {
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

// In a fresh process, as after loading the extension: nothing starts before there is work.
TEST(ThreadPool, StartsNoThreadBeforeTheFirstScan) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer has a thread of its own";
#endif
  const pid_t child = fork();
  if (child == 0) {
    const size_t before = threads_of_this_process();  // 1, and an emulator's own
    const auto backend = make_cpu_backend();
    ThreadPool::instance();
    _exit(threads_of_this_process() == before ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
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
  const pid_t child = fork();
  if (child == 0) {
    total = 0;
    const bool finished = ThreadPool::instance().run(4, 100, add, {});
    _exit(finished && total == 4950 && threads_of_this_process() > 1 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(ThreadPool::instance().run(4, 100, add, {}));
#endif
}

TEST(UsableCores, RespectsTheAffinity) {
  cpu_set_t saved;
  ASSERT_EQ(sched_getaffinity(0, sizeof(saved), &saved), 0);
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), CPU_COUNT(&saved));
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &saved)) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
      break;
    }
  EXPECT_EQ(usable_cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(saved), &saved), 0);
}

}  // namespace
}  // namespace glove::cpu
