// Races inside a block: every access is compared with what is not ordered before it.
#pragma once

#include "order/grid_order.h"
#include "order/race_reports.h"
#include "order/read_only.h"

namespace glove::verify {

// Checks and remembers the accesses of the running block.
class BlockRaces : private Part {
 public:
  BlockRaces(const Part& run, AccessLog& records, RaceReports& race_reports, ReadOnlyMemory& read_only,
             Tickets& tickets, GridOrder& grid, Operands& operands, Places& places)
      : Part(run),
        records_(records),
        race_reports_(race_reports),
        read_only_(read_only),
        tickets_(tickets),
        grid_(grid),
        operands_(operands),
        places_(places) {}

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

  AccessLog& records_;
  RaceReports& race_reports_;
  ReadOnlyMemory& read_only_;
  Tickets& tickets_;
  GridOrder& grid_;
  Operands& operands_;
  Places& places_;
};

}  // namespace glove::verify
