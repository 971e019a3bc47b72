// Branches whose condition is not known. Both sides run, as bundles of lanes that may be there, up to the
// branch's post-dominator; bundles that meet are joined, and loops are run until nothing new comes.
#pragma once

#include "state/operands.h"
#include "ways/bundle_join.h"
#include "ways/loops.h"

namespace glove::verify {

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
