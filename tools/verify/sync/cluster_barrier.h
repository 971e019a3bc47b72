// The barrier of a cluster, at which threads arrive and wait in two steps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sync/clocks.h"

namespace glove::verify {

// A phase ends when all threads of the cluster that have not left the kernel have arrived. Since a thread
// waits before it arrives again, each arrival belongs to the same phase in all schedules.
class ClusterBarrier {
 public:
  // Threads of the cluster.
  explicit ClusterBarrier(uint32_t threads = 0) : threads_(threads) {}

  // The members arrive; published: what those who wait come to know; null: nothing. Returns one that has
  // arrived before and not waited since; then nothing has changed.
  std::optional<uint32_t> arrive(const std::vector<uint32_t>& members, uint32_t instruction,
                                 const ClockPointer& published, bool relaxed);
  // The members wait. Returns one that has not arrived; then nothing has changed.
  std::optional<uint32_t> wait(const std::vector<uint32_t>& members, uint32_t instruction);

  // What comes of a phase whose threads do not run.
  struct End {
    std::vector<uint32_t> released = {};
    // All that some thread did before is ordered with all that others do behind, if these are all threads.
    bool orders_all = false;
  };
  // Ends the phase if all of these threads, which have not left the kernel, have arrived; releases those that
  // wait for a phase that has ended.
  End end_phase(const std::vector<uint32_t>& alive, Clocks& clocks);
  // A thread that waits for a phase that has not ended, and one of `alive` that has not arrived.
  std::optional<std::pair<uint32_t, uint32_t>> stuck(const std::vector<uint32_t>& alive) const;
  // Whether nobody has arrived in this phase, and none of `alive` has still to wait for the one before.
  bool idle(const std::vector<uint32_t>& alive) const;
  bool waits(uint32_t thread) const { return threads_[thread].stage == Stage::kWaits; }

 private:
  enum class Stage : uint8_t { kOutside, kArrived, kWaits };
  struct Thread {
    Stage stage = Stage::kOutside;
    uint32_t phase = 0;        // at whose barrier it has arrived
    uint32_t instruction = 0;  // by which it has
    bool at_once = false;      // it waits right behind that
  };
  bool has_arrived(uint32_t thread) const {
    return threads_[thread].stage != Stage::kOutside && threads_[thread].phase == ended_;
  }

  std::vector<Thread> threads_;
  uint32_t ended_ = 0;                           // phases
  uint32_t arrivals_ = 0;                        // in this phase
  bool relaxed_ = false, last_relaxed_ = false;  // some arrival of this phase, and of the one before
  ClockPointer clock_, last_clock_;              // what those of the two know; null: nobody has arrived
};

}  // namespace glove::verify
