// Registers, immediates and guards of a thread.
#pragma once

#include <array>

#include "state/part.h"

namespace glove::verify {

// Stands for the offset of a parameter: where the blocks of a cooperative launch meet.
constexpr uint32_t kWorkspace = 0x7fffffffu;

// Which lanes execute an instruction.
struct Guarded {
  Lanes certain = 0;
  Lanes possible = 0;  // the guard is not known
  std::array<PredicateId, 32> condition{};
};

// Reads and writes the operands of instructions.
class Operands : private Part {
 public:
  explicit Operands(const Part& run) : Part(run) {}

  // The value that a lane sees. Reading a register without a name gives it one.
  Value read(const BlockState& state, const Warp& warp, const PtxOperand& operand, int lane);
  // condition: under which the lane writes; 0: it does.
  void write(const BlockState& state, Warp& warp, const PtxOperand& result, int lane, Value value,
             PredicateId condition);
  Guarded guard(const BlockState& state, const Warp& warp, Lanes lanes, const Instruction& in);

 private:
  uint64_t special(const BlockState& state, const Warp& warp, Special special, int lane) const;
  Value workspace();
};

}  // namespace glove::verify
