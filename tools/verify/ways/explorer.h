// Conditions that are the same for the whole block and have a barrier behind them: the block's state is
// forked. States that meet again at a full barrier are compared, so that loops of unknown length come to an
// end.
#pragma once

#include "order/grid_races.h"
#include "order/wait_log.h"
#include "ways/generaliser.h"

namespace glove::verify {

// The states of a block that are still to be run, and those that were.
class Explorer : private Part {
 public:
  Explorer(const Part& run, Generaliser& generaliser, GridRaces& grid_races, WaitLog& wait_log,
           AccessLog& records)
      : Part(run),
        generaliser_(generaliser),
        grid_races_(grid_races),
        wait_log_(wait_log),
        records_(records) {}

  // A new block begins in this state.
  void begin(BlockState state);
  std::optional<BlockState> next();
  // The state stays, and is freed with the run.
  void put_back(BlockState state) { forks_.push_back(std::move(state)); }
  // The block goes on under the condition, and later without it.
  void fork(BlockState& state, PredicateId condition, uint32_t site);
  // All threads of the block have met. The path may end, because another goes on as it would.
  void at_full_barrier(BlockState& state);

 private:
  uint64_t place_of_state(const BlockState& state) const;
  void drop_thread_facts(BlockState& state);
  static void go_on_from(const BlockSnapshot& general, BlockState& state);

  Generaliser& generaliser_;
  GridRaces& grid_races_;
  WaitLog& wait_log_;
  AccessLog& records_;
  std::vector<BlockState> forks_;
  std::map<uint64_t, std::vector<std::shared_ptr<BlockSnapshot>>> snapshots_;  // by place
};

}  // namespace glove::verify
