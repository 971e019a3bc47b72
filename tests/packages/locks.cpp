// The mutex and the condition of base/mutex.h on Windows, where they are the system's: without words if all
// is right.
#include <chrono>
#include <cstdio>
#include <deque>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kThreads = 8;
constexpr int kTurns = 20000;

int g_wrong = 0;

void expect(bool right, const char* what) {
  if (!right) std::printf("%s\n", what);
  g_wrong += right ? 0 : 1;
}

// Each thread changes both numbers, which differ only while the mutex is held.
void test_exclusion() {
  glove::Mutex mutex;
  int64_t first = 0, second = 0;
  bool same = true;
  const auto change = [&] {
    for (int turn = 0; turn < kTurns; ++turn) {
      const glove::Lock lock(mutex);
      same = same && first == second;
      ++first;
      if (turn % 1000 == 0) std::this_thread::yield();
      ++second;
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(change);
  for (std::thread& thread : threads) thread.join();
  expect(same && first == int64_t{kThreads} * kTurns && second == first,
         "two threads held a mutex at the same time");
}

// Numbers go through a queue that holds at most four, so that both sides wait; each must arrive once.
void test_conditions() {
  glove::Mutex mutex;
  glove::ConditionVariable filled, emptied;
  std::deque<int> queue;
  int64_t sum = 0;
  const auto take = [&] {
    for (;;) {
      glove::Lock lock(mutex);
      while (queue.empty()) filled.wait(mutex);
      const int value = queue.front();
      if (value < 0) return;  // remains for the other threads
      queue.pop_front();
      sum += value;
      emptied.notify_one();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(take);
  for (int value = 1; value <= kTurns; ++value) {
    glove::Lock lock(mutex);
    while (queue.size() >= 4) emptied.wait(mutex);
    queue.push_back(value);
    filled.notify_one();
  }
  {
    const glove::Lock lock(mutex);
    queue.push_back(-1);
  }
  filled.notify_all();
  for (std::thread& thread : threads) thread.join();
  expect(sum == int64_t{kTurns} * (kTurns + 1) / 2, "numbers were lost on their way through a queue");
}

// A wait ends in time, not before its time without a notification, and at once if its time has passed.
void test_times() {
  glove::Mutex mutex;
  glove::ConditionVariable condition;
  const glove::Lock lock(mutex);
  for (const int milliseconds : {0, 1, 30}) {
    const Clock::time_point end = Clock::now() + std::chrono::milliseconds(milliseconds);
    while (condition.wait_until(mutex, end)) {
    }
    expect(Clock::now() >= end, "a wait ended before its time");
  }
  expect(!condition.wait_until(mutex, Clock::now() - std::chrono::hours(1)), "a wait for the past succeeded");
  bool ready = false;
  std::thread thread([&] {
    const glove::Lock other(mutex);
    ready = true;
    condition.notify_all();
  });
  while (!ready) expect(condition.wait_for(mutex, std::chrono::hours(1)), "a notification was missed");
  thread.join();
}

}  // namespace

int main() {
  test_exclusion();
  test_conditions();
  test_times();
  return g_wrong;
}
