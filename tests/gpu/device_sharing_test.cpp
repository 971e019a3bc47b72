// A device that several threads use at once, and processes that are forked meanwhile.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "base/float_environment.h"
#include "gpu/layout/plan.h"
#include "tests/forked_child.h"
#include "tests/gpu/device_fixture.h"

namespace glove::testing {
namespace {

using DeviceSharingTest = DeviceBackendTest;

// fork() runs this while it holds every ForkSafeMutex: handlers run in reverse order of registration, and
// this one is registered before that of the mutexes.
std::function<void()> g_while_all_is_locked;

[[gnu::constructor(101)]] void register_fork_handler() {
  pthread_atfork(
      [] {
        if (g_while_all_is_locked) g_while_all_is_locked();
      },
      nullptr, nullptr);
}

TEST_F(DeviceSharingTest, TheLimitHoldsForUploadsAtOnce) {
  const gpu::MemoryPlan plan = gpu::plan_memory(500, 20);
  const std::vector<ModelPtr> models = {model(500, 20), model(500, 20), model(500, 20)};
  make();
  limit_ = plan.scan_bytes * 3 / 2;
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> fitted{0};
    std::vector<std::thread> threads;
    for (const ModelPtr& m : models) threads.emplace_back([&] { fitted += open(m).ok(); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(fitted, 1);
    for (const ModelPtr& m : models) forget(m);
  }
}

TEST_F(DeviceSharingTest, TheLimitDoesNotCountAModelThatIsBeingFreed) {
  make();
  const ModelPtr first = model(5000, 40);
  const ModelPtr second = model(5000, 40);
  limit_ = gpu::plan_memory(5000, 40).scan_bytes * 3 / 2;
  ASSERT_TRUE(open(first).ok());
  knobs_.hold_deallocations = true;
  std::thread freeing([&] { forget(first); });
  while (knobs_.deallocations == 0) std::this_thread::yield();
  EXPECT_TRUE(open(second).ok());
  knobs_.hold_deallocations = false;
  freeing.join();
  expect_right(second);
  EXPECT_FALSE(open(model(5000, 40)).ok()) << "the second still counts";
}

TEST_F(DeviceSharingTest, ManyThreadsUploadOnceAndSearchTogether) {
  make();
  const ModelPtr m = model(3000, 20, Rows::kGaussian);
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      const ScopedFloatEnvironment float_environment;
      Query q;
      q.vector.assign(m->vector(3), m->vector(3) + 20);
      q.norm_squared = m->norm_squared(3);
      for (int i = 0; i < 20; ++i) {
        if (!search(m, q, 5).ok()) ++failures;
        if (i % 7 == 6) forget(m);
        static_cast<void>(info(m));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  forget(m);
  EXPECT_EQ(knobs_.allocated, 0);
}

TEST_F(DeviceSharingTest, AForkedChildIsRefused) {
  make();
  const ModelPtr m = model();
  ASSERT_TRUE(open(m).ok());
  EXPECT_TRUE(holds_in_forked_child([&] {
    const Status status = backend().available();
    forget(m);
    return !status.ok() && status.error().code == ErrorCode::kUnavailable;
  }));
  EXPECT_TRUE(backend().available().ok());
}

TEST_F(DeviceSharingTest, AChildForkedDuringTheOpeningDoesNotHang) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not support threads after a fork";
#endif
  for (std::function<void()>* const while_busy : {&while_counting_, &while_opening_}) {
    make();
    std::atomic<bool> busy{false};
    std::atomic<bool> go_on{false};
    *while_busy = [&] {
      busy = true;
      while (!go_on) std::this_thread::yield();
    };
    std::thread opening([&] { EXPECT_TRUE(backend().available().ok()); });
    while (!busy) std::this_thread::yield();
    EXPECT_TRUE(holds_in_forked_child(
        [&] { return !backend().available().ok() && backend().info().state == "not loaded"; }));
    go_on = true;
    opening.join();
    EXPECT_TRUE(backend().available().ok());
    *while_busy = nullptr;
  }
}

// Every search reads the name of the device.
TEST_F(DeviceSharingTest, DescribingTheDeviceTakesNoLock) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not support threads after a fork";
#endif
  make();
  const ModelPtr m = model();
  ASSERT_TRUE(open(m).ok());
  const auto searcher = searchers(m)->open(0, {});
  ASSERT_TRUE(searcher.ok());
  SearcherInfo found;
  std::atomic<bool> locked{false};
  std::atomic<bool> done{false};
  std::thread asking([&] {
    while (!locked) std::this_thread::yield();
    found = searcher.value()->info();
    done = true;
  });
  bool done_in_time = false;
  const auto wait = [&] {
    locked = true;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    done_in_time = done;
  };
  g_while_all_is_locked = wait;
  EXPECT_TRUE(holds_in_forked_child([] { return true; }));
  g_while_all_is_locked = nullptr;
  asking.join();
  EXPECT_TRUE(done_in_time);
  EXPECT_EQ(found.device, "fake device");
  EXPECT_EQ(found.state, "resident");
}

}  // namespace
}  // namespace glove::testing
