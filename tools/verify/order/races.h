// The accesses of a run, how long each lasts, and the search for those that race.
#pragma once

#include "order/grid_order.h"
#include "order/places.h"
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

// Reports pairs of accesses that nothing orders, each pair of instructions once.
class RaceReports : private OrderPart {
 public:
  using OrderPart::OrderPart;

  // One race of two instructions is enough; so are a few attempts to prove that there is none.
  bool already_reported(const AccessRecord& a, const AccessRecord& b) const;
  // Reports a race of two lanes at addresses that are not known, if these can meet.
  void compare(uint32_t record, int lane, Value address, uint32_t other, int other_lane, Value other_address,
               unsigned other_bytes);
  void report(const AccessRecord& a, int lane_a, const AccessRecord& b, int lane_b, const std::string& place,
              bool exact, Overlap overlap, bool same_value);

 private:
  void explain(const AccessRecord& a, int lane_a, const AccessRecord& b, int lane_b, Finding& finding) const;
  Access public_access(const AccessRecord& record, int lane) const;

  std::map<std::pair<uint32_t, uint32_t>, uint32_t> reported_;  // instructions -> how often
};

// Races inside a block: every access is compared with what is not ordered before it,
// and remembered.
class BlockRaces : private OrderPart {
 public:
  using OrderPart::OrderPart;

  // Lanes of a warp access memory. The path may end, and the run may begin again.
  void access(BlockState& state, Warp& warp, const Instruction& in, AccessKind kind, unsigned bytes,
              Lanes lanes, const std::array<Place, 32>& places, const Guarded& guard,
              Flight flight = Flight::kNone);

 private:
  void exact_access(BlockState& state, Warp& warp, uint32_t record, int lane, const Place& place);
  void range_access(BlockState& state, Warp& warp, uint32_t record, Lanes lanes,
                    const std::array<Place, 32>& places);
  void check_cell(BlockState& state, Warp& warp, uint32_t record, int lane, Cell& cell, const Place& place);
  bool writes_what_is_there(BlockState& state, const Warp& warp, uint32_t id, int lane,
                            const AccessEntry& entry, const Place& place);
  std::vector<RangeAccess> grouped(const BlockState& state, const Warp& warp, uint32_t record, Lanes lanes,
                                   const std::array<Place, 32>& places);
  void compare_lanes(const RangeAccess& a, const RangeAccess& b);
  void compare_with_ranges(BlockState& state, Warp& warp, uint32_t record, int lane, Value address,
                           const Extent& mine);
  void compare_with_cells(BlockState& state, Warp& warp, uint32_t record, int lane, SymbolId object,
                          Value address);
  bool ordered(const BlockState& state, const AccessRecord& other, int other_lane, uint32_t epoch,
               const Warp& warp, int lane, const AccessRecord& mine) const;
  void find_distinct(RangeAccess& group);
  void bound_by_votes(const BlockState& state, const Warp& warp, RangeAccess& group);
};

// Races between blocks. Blocks run one after another, so their accesses are kept and compared at the end; two
// are ordered only through a grid barrier.
class GridRaces : private OrderPart {
 public:
  using OrderPart::OrderPart;

  // What the block did since the last full barrier, at the end of a phase and of a path.
  void keep(BlockState& state);
  // At the end of the run.
  void compare_blocks();

 private:
  void note_unfenced(BlockState& state);
  void keep_range(const RangeAccess& range);
  bool ordered(const AccessRecord& a, const AccessRecord& b);
  void compare_at(SymbolId object);

  std::unordered_map<GlobalPlace, std::vector<AccessEntry>, GlobalPlaceHash> cells_;
  std::unordered_map<SymbolId, std::set<FormId>> forms_;
  std::unordered_map<SymbolId, std::vector<RangeAccess>> ranges_;
  std::unordered_multimap<uint64_t, std::pair<SymbolId, size_t>> known_;  // hashes of ranges_
};

}  // namespace glove::verify
