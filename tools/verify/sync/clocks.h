// What each thread knows of the others' progress, and the named barriers by which it comes to know it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace glove::verify {

// Entry t: all that thread t did in its epochs up to this number came before. Behind the threads: the
// generation of each named barrier that is known to be complete (of each block of a cluster, and the phase of
// the cluster's barrier), then the counters of grid barriers that were
// seen full. Behind those, for kernels with products of matrices, once more an entry per thread: all that
// thread t did up to this number came before a fence between the generic and the asynchronous proxy. At the
// end, for kernels with mbarriers: how many phases of each are known to have ended.
using Clock = std::vector<uint32_t>;
using ClockPointer = std::shared_ptr<const Clock>;

// The vector clocks of a block, shared by the threads that know the same. Threads are numbered in the block;
// epochs begin with 1.
class Clocks {
 public:
  static constexpr uint32_t kBarriers = 16;
  static constexpr uint32_t kCounters = 12;
  static constexpr uint32_t kMbarriers = 64;

  // cluster: blocks of the cluster; 0: there are no clusters.
  explicit Clocks(uint32_t threads, bool proxies = false, bool mbarriers = false, uint32_t cluster = 0)
      : threads_(threads),
        cluster_(cluster),
        barriers_(cluster == 0 ? kBarriers : kBarriers * cluster + 1),
        own_(threads, 1),
        known_(threads, std::make_shared<Clock>(threads + barriers_ + kCounters + (proxies ? threads : 0) +
                                                    (mbarriers ? kMbarriers : 0),
                                                0)),
        fenced_(proxies ? threads : 0) {}

  uint32_t threads() const { return threads_; }
  // "thread 3"; with clusters "thread 3 of the cluster's block 1".
  std::string name(uint32_t thread) const;
  uint32_t epoch(uint32_t thread) const { return own_[thread]; }
  const ClockPointer& known(uint32_t thread) const { return known_[thread]; }
  bool before(uint32_t earlier, uint32_t epoch, uint32_t later) const {
    return earlier == later || (*known_[later])[earlier] >= epoch;
  }
  // Whether what `earlier` did in the epoch came before, and `later` may read it through the asynchronous
  // proxy, as if by a thread that knows what `later` knew at its last barrier.
  bool before_proxy(uint32_t earlier, uint32_t epoch, uint32_t later) const {
    const Clock& clock = *known_[later];
    const ClockPointer& fence = fenced_[later].known;
    return clock[earlier] >= epoch && (clock[threads_ + barriers_ + kCounters + earlier] >= epoch ||
                                       (fence != nullptr && (*fence)[earlier] >= epoch));
  }
  // Whether the thread's own last fence between the proxies came behind what it did in the epoch.
  bool fenced(uint32_t thread, uint32_t epoch) const { return fenced_[thread].epoch >= epoch; }
  // Whether all who know what `later` knows may read through the asynchronous proxy what `earlier` did.
  bool published(uint32_t earlier, uint32_t epoch, uint32_t later) const {
    return fenced_.empty() || (*known_[later])[threads_ + barriers_ + kCounters + earlier] >= epoch;
  }
  // Whether two threads know the same of all others, and whether their fences do.
  bool alike(uint32_t a, uint32_t b) const {
    return known_[a] == known_[b] && (fenced_.empty() || fenced_[a].known == fenced_[b].known);
  }
  uint32_t barrier_generation(uint32_t thread, uint32_t barrier) const {
    return (*known_[thread])[threads_ + barrier];
  }
  // How many phases of an mbarrier the thread knows to have ended.
  uint32_t phases_ended(uint32_t thread, uint32_t mbarrier) const {
    return (*known_[thread])[known_[thread]->size() - kMbarriers + mbarrier];
  }
  static void set_phases_ended(Clock& clock, uint32_t mbarrier, uint32_t phases) {
    clock[clock.size() - kMbarriers + mbarrier] = phases;
  }
  // How many phases of the cluster's barrier the thread knows to have ended.
  uint32_t cluster_phases(uint32_t thread) const { return (*known_[thread])[threads_ + barriers_ - 1]; }
  // The clock, or one that says nothing, with that number. REQUIRES: there are clusters.
  ClockPointer with_cluster_phases(const ClockPointer& clock, uint32_t phases) const {
    auto changed =
        clock == nullptr ? std::make_shared<Clock>(known_[0]->size(), 0) : std::make_shared<Clock>(*clock);
    (*changed)[threads_ + barriers_ - 1] = phases;
    return changed;
  }
  uint32_t counters_of(const Clock& clock) const {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < kCounters; ++i) mask |= (clock[threads_ + barriers_ + i] != 0 ? 1u : 0u) << i;
    return mask;
  }
  uint32_t seen_counters(uint32_t thread) const { return counters_of(*known_[thread]); }

  // What the threads know together, including all that they did so far.
  std::shared_ptr<Clock> join(const std::vector<uint32_t>& members) const;
  // The threads know what `clock` says; what they do from now on is not covered by it.
  void acquire(const std::vector<uint32_t>& members, const ClockPointer& clock);
  // What the threads do from now on is not covered by clocks that were joined before.
  void advance(const std::vector<uint32_t>& members);
  void synchronise(const std::vector<uint32_t>& members) { acquire(members, join(members)); }
  // Each thread fences what it did, and what it knows of, for the asynchronous proxy.
  void fence_proxy(const std::vector<uint32_t>& members);
  void see_counter(uint32_t thread, uint32_t counter);
  // What both clocks say.
  static ClockPointer common(const ClockPointer& a, const ClockPointer& b);
  // Gives back knowledge: what was learned under a condition does not hold without it.
  void forget(uint32_t thread, const ClockPointer& earlier) { known_[thread] = earlier; }

 private:
  void join_fences(const std::vector<uint32_t>& members, Clock& joined) const;

  uint32_t threads_;
  uint32_t cluster_;   // blocks; 0: there are no clusters
  uint32_t barriers_;  // of all blocks and, at the end, the cluster
  std::vector<uint32_t> own_;
  std::vector<ClockPointer> known_;
  struct ProxyFence {
    ClockPointer known;
    uint32_t epoch = 0;
  };
  std::vector<ProxyFence> fenced_;  // by thread, the last; empty without proxies
};

// What may be wrong with an arrival at one of the sixteen barriers of a block.
enum class BarrierFault { kCount, kRecycling, kArriveOnly };

// Why an arrival is wrong, and with which earlier one it collides.
struct BarrierProblem {
  BarrierFault fault;
  std::string detail;
  uint32_t other_instruction;  // that arrived before
  uint32_t other_thread;
};

// One barrier between two completions.
struct NamedBarrier {
  uint32_t expected = 0;  // threads; 0: nobody has arrived
  uint32_t arrived = 0;
  uint32_t generation = 0;             // completed
  bool whole_block = true;             // waits for all threads that have not left, and not for a number
  std::vector<uint32_t> waiting;       // threads that wait here
  std::vector<uint32_t> passed_by;     // threads that arrived and went on
  std::vector<uint32_t> instructions;  // by which the threads of `waiting`, then `passed_by` came
  ClockPointer clock;                  // what the arrivers knew
};

// What an instruction asks of a barrier.
struct Arrival {
  uint32_t barrier = 0;
  uint32_t count = 0;   // how many threads the barrier waits for
  uint32_t weight = 0;  // for how many threads this arrival counts
  bool waits = true;
  uint32_t instruction = 0;
  bool whole_block = false;  // it names no count
};

// Barriers 0 to 15 of a block; of a cluster those of all its blocks, one block behind the other.
class NamedBarriers {
 public:
  explicit NamedBarriers(uint32_t blocks = 1) : barriers_(size_t{Clocks::kBarriers} * blocks) {}

  // `members` arrive. A fault leaves the barrier as it was.
  std::optional<BarrierProblem> arrive(const Arrival& arrival, const std::vector<uint32_t>& members,
                                       Clocks& clocks);
  bool complete(uint32_t barrier) const {
    const NamedBarrier& b = barriers_[barrier];
    return b.expected != 0 && b.arrived == b.expected;
  }
  // Ends the barrier's phase: those that waited know what all that arrived had done. Returns those that
  // waited.
  std::vector<uint32_t> release(uint32_t barrier, Clocks& clocks);
  uint32_t count() const { return static_cast<uint32_t>(barriers_.size()); }
  const NamedBarrier& operator[](uint32_t barrier) const { return barriers_[barrier]; }
  bool idle() const {
    for (const NamedBarrier& barrier : barriers_)
      if (barrier.expected != 0) return false;
    return true;
  }

 private:
  std::vector<NamedBarrier> barriers_;
};

}  // namespace glove::verify
