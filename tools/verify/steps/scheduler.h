// Which lanes of a warp run next, and where they wait for each other.
#pragma once

#include "state/operands.h"

namespace glove::verify {

class ExchangeSteps;
class Interpreter;

// Runs the lanes of a warp.
class Scheduler : private Part {
 public:
  Scheduler(const Part& run, Operands& operands, ExchangeSteps& exchange, Interpreter& interpreter)
      : Part(run), operands_(operands), exchange_(exchange), interpreter_(interpreter) {}

  // Until all lanes wait at a barrier of the block or have left the kernel, or the path has ended.
  void run_warp(BlockState& state, Warp& warp);
  // One instruction of the lanes that are furthest behind; false if none of `scope` can run before `stop`.
  bool run_group(BlockState& state, Warp& warp, Lanes scope, int stop);

 private:
  bool run_complete_group(BlockState& state, Warp& warp, Lanes ready, int stop);
  void lanes_apart(BlockState& state, Warp& warp, Lanes group, int pc);
  bool warp_complete(BlockState& state, Warp& warp, Lanes lanes, int pc, Lanes* members);
  void step_warp_barrier(BlockState& state, Warp& warp, Lanes members);

  Operands& operands_;
  ExchangeSteps& exchange_;
  Interpreter& interpreter_;
};

}  // namespace glove::verify
