// The barriers of a block.
#pragma once

#include "state/operands.h"
#include "ways/explorer.h"

namespace glove::verify {

// Executes barriers.
class BarrierSteps : private Part {
 public:
  BarrierSteps(const Part& run, Operands& operands, GridOrder& grid, Explorer& explorer)
      : Part(run), operands_(operands), grid_(grid), explorer_(explorer) {}

  void step_barrier(BlockState& state, Warp& warp, Lanes lanes, int pc);
  // A barrier stands behind a condition that may differ between the threads: ends the path.
  void unknown_barrier_condition(BlockState& state, Warp& warp, Lanes lanes, int pc, PredicateId condition);
  // Threads wait, and nobody runs.
  void report_stuck(BlockState& state);

 private:
  void arrive(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, int pc, uint32_t barrier,
              uint32_t count);
  void release(BlockState& state, uint32_t barrier);

  Operands& operands_;
  GridOrder& grid_;
  Explorer& explorer_;
};

}  // namespace glove::verify
