// The sixteen barriers of a block.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sync/clocks.h"

namespace glove::verify {

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
};

// Barriers 0 to 15 of a block.
class NamedBarriers {
 public:
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
  const NamedBarrier& operator[](uint32_t barrier) const { return barriers_[barrier]; }
  bool idle() const {
    for (const NamedBarrier& barrier : barriers_)
      if (barrier.expected != 0) return false;
    return true;
  }

 private:
  std::array<NamedBarrier, Clocks::kBarriers> barriers_;
};

}  // namespace glove::verify
