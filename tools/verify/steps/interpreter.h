// Instructions: arithmetic and branches here, the others by their parts.
#pragma once

#include "state/operands.h"

namespace glove::verify {

class Places;
class WaitLog;
class GridOrder;
class MemorySteps;
class AsyncSteps;
class BarrierSteps;
class ExchangeSteps;
class Regions;

// Executes one instruction of some lanes.
class Interpreter : private Part {
 public:
  Interpreter(const Part& run, Operands& operands, Places& places, WaitLog& wait_log, GridOrder& grid,
              MemorySteps& memory, AsyncSteps& async, BarrierSteps& barriers, ExchangeSteps& exchange,
              Regions& regions)
      : Part(run),
        operands_(operands),
        places_(places),
        wait_log_(wait_log),
        grid_(grid),
        memory_(memory),
        async_(async),
        barriers_(barriers),
        exchange_(exchange),
        regions_(regions) {}

  void step(BlockState& state, Warp& warp, Lanes lanes, int pc);

 private:
  void step_arithmetic(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  bool leaves_unnamed(const Warp& warp, Lanes lanes, const Instruction& in) const;
  void step_pack(const BlockState& state, Warp& warp, const Instruction& in, int lane, const Value* x,
                 PredicateId condition);
  void step_opaque(const BlockState& state, Warp& warp, const Instruction& in, int lane, const Value* x,
                   PredicateId condition);
  Value convert_address(const Instruction& in, Value address);
  void write_predicates(const BlockState& state, Warp& warp, const Instruction& in, int lane, const Value* x,
                        Value result, PredicateId condition);
  void step_branch(BlockState& state, Warp& warp, Lanes lanes, int pc);
  void step_indexed_branch(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);

  Operands& operands_;
  Places& places_;
  WaitLog& wait_log_;
  GridOrder& grid_;
  MemorySteps& memory_;
  AsyncSteps& async_;
  BarrierSteps& barriers_;
  ExchangeSteps& exchange_;
  Regions& regions_;
};

}  // namespace glove::verify
