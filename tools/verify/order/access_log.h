// The accesses of a run, and how long each lasts.
#pragma once

#include "state/part.h"

namespace glove::verify {

// Records of accesses: those of a warp by one instruction share one. A record is named by its place.
class AccessLog : private Part {
 public:
  explicit AccessLog(const Part& run) : Part(run) {}

  uint32_t add(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, AccessKind kind,
               unsigned bytes, PathPointer path, bool certain, Flight flight);
  // The same access under counters of grid barriers that do not cover it.
  uint32_t uncovered(uint32_t record, uint32_t counters);
  AccessRecord& operator[](uint32_t record) { return records_[record]; }
  const AccessRecord& operator[](uint32_t record) const { return records_[record]; }
  // When a lane's access is over, if `epoch` is when or in which group it began: see AsyncGroups::completed.
  uint32_t epoch_of(const BlockState& state, const AccessRecord& record, int lane, uint32_t epoch) const;
  // When, or in which group, an access of the lane begins now.
  uint32_t epoch_now(const BlockState& state, const Warp& warp, const AccessRecord& record, int lane) const;
  // What outlasts a phase, as far as later rounds of a loop can tell it apart.
  std::vector<uint64_t> flights(const BlockState& state) const;
  // All threads have met: of the accesses before, what is in flight is left, and what was written to shared
  // memory and not fenced for the asynchronous proxy. alone: no other state refers to records.
  void begin_phase(BlockState& state, bool alone);

 private:
  std::vector<AccessRecord> records_;
  std::unordered_map<uint64_t, uint32_t> recent_;                // by instruction, warp and kind
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> uncovered_;  // by record and counters
};

}  // namespace glove::verify
