// The time and the memory that a run may take.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>

namespace glove::verify {

// Thrown deep inside a run that has no more time or memory, and caught by who began the run.
struct Spent {
  bool memory = false;  // and not the time
};

// Counts small steps, and looks now and then at the clock and at the memory of the process.
class Budget {
 public:
  Budget() = default;
  // most_memory: bytes; 0: three quarters of the machine's.
  Budget(std::chrono::steady_clock::time_point deadline, uint64_t most_memory)
      : deadline_(deadline),
        most_memory_(most_memory != 0 ? most_memory : own_page() * pages_of_machine() / 4 * 3) {}

  bool out_of_time() const { return std::chrono::steady_clock::now() >= deadline_; }
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

  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  uint64_t most_memory_ = ~uint64_t{0};
  uint64_t steps_ = 0;
};

}  // namespace glove::verify
