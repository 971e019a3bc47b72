// What each thread knows of the others' progress: vector clocks, shared by the threads that know the same.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace glove::verify {

// Entry t: all that thread t did in its epochs up to this number came before. Behind the threads: the
// generation of each named barrier that is known to be complete, then the counters of grid barriers that were
// seen full.
using Clock = std::vector<uint32_t>;
using ClockPointer = std::shared_ptr<const Clock>;

// The clocks of a block. Threads are numbered in the block; epochs begin with 1.
class Clocks {
 public:
  static constexpr uint32_t kBarriers = 16;
  static constexpr uint32_t kCounters = 8;

  explicit Clocks(uint32_t threads)
      : threads_(threads),
        own_(threads, 1),
        known_(threads, std::make_shared<Clock>(threads + kBarriers + kCounters, 0)) {}

  uint32_t threads() const { return threads_; }
  uint32_t epoch(uint32_t thread) const { return own_[thread]; }
  const ClockPointer& known(uint32_t thread) const { return known_[thread]; }
  bool before(uint32_t earlier, uint32_t epoch, uint32_t later) const {
    return earlier == later || (*known_[later])[earlier] >= epoch;
  }
  uint32_t barrier_generation(uint32_t thread, uint32_t barrier) const {
    return (*known_[thread])[threads_ + barrier];
  }
  uint32_t seen_counters(uint32_t thread) const {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < kCounters; ++i)
      mask |= ((*known_[thread])[threads_ + kBarriers + i] != 0 ? 1u : 0u) << i;
    return mask;
  }

  // What the threads know together, including all that they did so far.
  std::shared_ptr<Clock> join(const std::vector<uint32_t>& members) const;
  // The threads know what `clock` says; what they do from now on is not covered by it.
  void acquire(const std::vector<uint32_t>& members, const ClockPointer& clock);
  // What the threads do from now on is not covered by clocks that were joined before.
  void advance(const std::vector<uint32_t>& members);
  void synchronise(const std::vector<uint32_t>& members) { acquire(members, join(members)); }
  void see_counter(uint32_t thread, uint32_t counter);
  // What both clocks say.
  static ClockPointer common(const ClockPointer& a, const ClockPointer& b);
  // Gives back knowledge: what was learned under a condition does not hold without it.
  void forget(uint32_t thread, const ClockPointer& earlier) { known_[thread] = earlier; }

 private:
  uint32_t threads_;
  std::vector<uint32_t> own_;
  std::vector<ClockPointer> known_;
};

}  // namespace glove::verify
