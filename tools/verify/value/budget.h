// The time and the memory that a run may take.
#pragma once

#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>

namespace glove::verify {

// The processor time of the thread that asks: a run, and Z3 in it, has one thread.
struct ThreadClock {
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<ThreadClock, duration>;
  static constexpr bool is_steady = true;

  static time_point now() {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
  static time_point in(double seconds) {
    return now() + std::chrono::duration_cast<duration>(std::chrono::duration<double>(seconds));
  }
};

// Thrown deep inside a run that has no more time or memory, and caught by who began the run.
struct Spent {
  bool memory = false;  // and not the time
};

// Counts small steps, and looks now and then at the clock and at the memory of the process.
class Budget {
 public:
  Budget() = default;
  // most_memory: bytes; 0: three quarters of the machine's.
  Budget(ThreadClock::time_point deadline, uint64_t most_memory)
      : deadline_(deadline),
        look_at_(),
        most_memory_(most_memory != 0 ? most_memory : own_page() * pages_of_machine() / 4 * 3) {}

  // The thread works no longer than time goes by, so that its clock, which costs a system call, is rarely
  // asked.
  bool out_of_time() {
    const auto now = std::chrono::steady_clock::now();
    if (now < look_at_) return false;
    const auto left = deadline_ - ThreadClock::now();
    look_at_ = now + left;
    return left <= left.zero();
  }
  bool out_of_memory() const {
    unsigned long total = 0, resident = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr) return false;
    const bool read = std::fscanf(file, "%lu %lu", &total, &resident) == 2;
    std::fclose(file);
    return read && resident * own_page() > most_memory_;
  }
  // One step deep inside an expression. Throws Spent.
  void spend() {
    if ((++steps_ & 0x3ff) != 0) return;
    if (out_of_time()) throw Spent{};
    if ((steps_ & 0x3ffff) == 0 && out_of_memory()) throw Spent{.memory = true};
  }

 private:
  static uint64_t own_page() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }
  static uint64_t pages_of_machine() { return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)); }

  ThreadClock::time_point deadline_ = {};
  std::chrono::steady_clock::time_point look_at_ = std::chrono::steady_clock::time_point::max();
  uint64_t most_memory_ = ~uint64_t{0};
  uint64_t steps_ = 0;
};

}  // namespace glove::verify
