// Loads, stores and atomics.
#pragma once

#include "order/block_races.h"
#include "order/wait_log.h"
#include "steps/loads.h"

namespace glove::verify {

// Executes instructions that access memory; each may end the path.
class MemorySteps : private Part {
 public:
  MemorySteps(const Part& run, Operands& operands, Places& places, Loads& loads, BlockRaces& races,
              GridOrder& grid, Locations& locations, Tickets& tickets, WaitLog& wait_log)
      : Part(run),
        operands_(operands),
        places_(places),
        loads_(loads),
        races_(races),
        grid_(grid),
        locations_(locations),
        tickets_(tickets),
        wait_log_(wait_log) {}

  void step_load(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, const Guarded& guard);
  void step_store(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, const Guarded& guard);
  void step_atomic(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, const Guarded& guard);
  void step_matrix_memory(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in,
                          const Guarded& guard);
  // Writes what a lane stores at a place; known: the value is.
  void store_value(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                   Value value, bool known, PredicateId condition);
  // After a plain store. One that other threads' additions are not ordered with is a race, and reported as
  // such; with named barriers warps may be phases apart, so that a new name does not tell the phases apart.
  void forget_location(const BlockState& state, const Warp& warp, const Place& place, int lane,
                       unsigned bytes);

 private:
  Value atomic_result(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                      Value amount);
  void store_atomically(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                        const Value& amount, bool certain, const Guarded& guard);

  Operands& operands_;
  Places& places_;
  Loads& loads_;
  BlockRaces& races_;
  GridOrder& grid_;
  Locations& locations_;
  Tickets& tickets_;
  WaitLog& wait_log_;
};

}  // namespace glove::verify
