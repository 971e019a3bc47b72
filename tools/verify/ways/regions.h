// Where bundles of lanes meet behind a branch whose condition is not known: what their registers hold.
#pragma once

#include "state/part.h"

namespace glove::verify {

// Joins what the sides of a branch have come to.
class BundleJoin : private Part {
 public:
  explicit BundleJoin(const Part& run) : Part(run) {}

  // All bundles at the join: what the lanes hold and know from here on.
  void join_bundles(BlockState& state, Warp& warp, Context& context, const std::vector<Bundle>& finished,
                    Lanes before);
  // Two bundles of the same lanes on the way, if they are at the same place.
  bool merge_into(Context& context, Bundle& into, const Bundle& other, const BlockState& state);

 private:
  // Two of a lane's bundles, by their places among those that are left, and what the first of them knows and
  // the second one denies.
  struct Meeting {
    size_t into, from;
    PredicateId condition;
  };
  static std::vector<Meeting> meetings_of(const std::vector<const Bundle*>& bundles, int lane);
  Value joined(const std::vector<const Bundle*>& bundles, size_t i, const std::vector<Meeting>& meetings,
               PredicateId condition, Type type, int lane, const BlockState& state);
  Value join_values(const std::vector<std::pair<const Bundle*, Value>>& values, Type type,
                    PredicateId condition, int lane, const BlockState& state);
  Value join_integers(const std::vector<std::pair<const Bundle*, Value>>& values, unsigned bits, int lane,
                      const BlockState& state);
};

// Loops that the data end: after some rounds the state at the branch is generalised, until it covers all
// later rounds.
// Makes loops under a condition that is not known come to an end.
class Loops : private Part {
 public:
  explicit Loops(const Part& run) : Part(run) {}

  // Lanes come to a branch once more. Returns false if all that follows was seen.
  bool visit_loop(BlockState& state, Warp& warp, Context& context, Lanes lanes, int pc);

 private:
  void begin_iterations(const Context& context, LoopState& loop, Lanes lanes);
  bool goes_on(Value now, Value general, SymbolId iteration, unsigned bits);
  bool left_behind(const LoopState& loop, Value general, bool predicate, int lane) const;
  Value general_value(LoopState& loop, Value now, Value start, Value general, bool first, int lane,
                      unsigned bits, bool integer);
  Value general_predicate(LoopState& loop, Value now, Value start, Value general, bool first, int lane);
  bool generalise(Warp& warp, Context& context, LoopState& loop, Lanes lanes, Lanes first, int pc);
};

// Branches whose condition is not known. Both sides run, as bundles of lanes that may be there, up to the
// branch's post-dominator; bundles that meet are joined, and loops are run until nothing new comes.
class WaitLog;
class GridOrder;
class Explorer;
class BarrierSteps;
class Scheduler;

// Runs both sides of a branch.
class Regions : private Part {
 public:
  Regions(const Part& run, Operands& operands, Loops& loops, BundleJoin& joins, WaitLog& wait_log,
          GridOrder& grid, Explorer& explorer, BarrierSteps& barriers, Scheduler& scheduler)
      : Part(run),
        operands_(operands),
        loops_(loops),
        joins_(joins),
        wait_log_(wait_log),
        grid_(grid),
        explorer_(explorer),
        barriers_(barriers),
        scheduler_(scheduler) {}

  // Lanes come to a branch; taken: the condition under which each goes to `target`, else to `fall`.
  void unknown_branch(BlockState& state, Warp& warp, Lanes lanes, int pc,
                      const std::array<PredicateId, 32>& taken, int target, int fall);

 private:
  void run_region(BlockState& state, Warp& warp, Lanes lanes, int pc, const Region& region,
                  const std::array<PredicateId, 32>& taken, int target, int fall);
  void split(BlockState& state, Warp& warp, Lanes lanes, int pc, const std::array<PredicateId, 32>& taken,
             int target, int fall);
  void run_bundles(BlockState& state, Warp& warp, Context& context, std::vector<Bundle>& finished);
  bool run_bundle(BlockState& state, Warp& warp, Context& context, Bundle& bundle);

  Operands& operands_;
  Loops& loops_;
  BundleJoin& joins_;
  WaitLog& wait_log_;
  GridOrder& grid_;
  Explorer& explorer_;
  BarrierSteps& barriers_;
  Scheduler& scheduler_;
};

}  // namespace glove::verify
