#include "base/io_thread.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/float_settings.h"
#include "tests/forked_child.h"

namespace glove {
namespace {

TEST(IoThread, RunsOnceAndIsJoined) {
  std::atomic<int> runs = 0;
  IoThread thread;
  EXPECT_FALSE(thread.started());
  ASSERT_TRUE(thread.start("glove-test", [&] { ++runs; }));
  EXPECT_TRUE(thread.started());
  thread.join();
  EXPECT_FALSE(thread.started());
  EXPECT_EQ(runs, 1);
  thread.join();
  ASSERT_TRUE(thread.start("glove-test", [&] { ++runs; }));
  thread.join();
  EXPECT_EQ(runs, 2);
}

TEST(IoThread, ItsDestructorWaits) {
  std::atomic<bool> ended = false;
  {
    IoThread thread;
    ASSERT_TRUE(thread.start("glove-test", [&] {
      usleep(2000);
      ended = true;
    }));
  }
  EXPECT_TRUE(ended);
}

TEST(IoThread, WaitsNoLongerThanItIsTold) {
  std::atomic<bool> may_end = false;
  IoThread thread;
  ASSERT_TRUE(thread.start("glove-test", [&] {
    while (!may_end) std::this_thread::yield();
  }));
  EXPECT_FALSE(thread.wait_for(std::chrono::milliseconds(1)));
  may_end = true;
  while (!thread.wait_for(std::chrono::milliseconds(1))) {
  }
  thread.join();
  EXPECT_FALSE(thread.started());
}

// The thread is the parent's: a child that waited for it would never end.
TEST(IoThread, IsNotWaitedForInAForkedChild) {
  std::atomic<bool> may_end = false;
  IoThread thread;
  ASSERT_TRUE(thread.start("glove-test", [&] {
    while (!may_end) std::this_thread::yield();
  }));
  EXPECT_TRUE(testing::holds_in_forked_child([&] {
    thread.join();
    return !thread.started();
  }));
  may_end = true;
}

TEST(IoThread, TakesNoneOfTheHostsSignalsButItsOwnFaults) {
  sigset_t mask, before, after;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &before), 0);
  IoThread thread;
  ASSERT_TRUE(thread.start("glove-test", [&] { pthread_sigmask(SIG_SETMASK, nullptr, &mask); }));
  thread.join();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1})
    EXPECT_EQ(sigismember(&mask, signal), 1);
  for (const int signal : {SIGBUS, SIGSEGV, SIGFPE}) EXPECT_EQ(sigismember(&mask, signal), 0);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &after), 0);
  for (int signal = 1; signal < 32; ++signal)
    EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
}

#if defined(GLOVE_HAS_FLOAT_SETTINGS)
TEST(IoThread, ComputesWithDenormalsWhateverTheHostDoes) {
  const uint64_t saved = host::float_settings();
  host::set_float_settings(saved | host::kDenormalsFlushed);
  uint64_t inside = 0;
  IoThread thread;
  const bool started = thread.start("glove-test", [&] { inside = host::float_settings(); });
  thread.join();
  host::set_float_settings(saved);
  ASSERT_TRUE(started);
  EXPECT_EQ(inside, host::kStandard);
}
#endif

// Runs in a child whose memory is used up, so that there is no room for another thread's stack. (The first
// few threads may reuse the stacks of earlier ones.)
TEST(IoThread, SaysSoWhenTheSystemGivesNoThread) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers need the address space";
#endif
  std::vector<IoThread> threads(64);
  EXPECT_TRUE(testing::holds_in_forked_child([&threads] {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_AS, &none);
    for (IoThread& thread : threads)
      if (!thread.start("glove-test", [] { pause(); })) return !thread.started();
    return false;
  }));
}

}  // namespace
}  // namespace glove
