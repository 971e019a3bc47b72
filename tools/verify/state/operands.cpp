#include "state/operands.h"

#include <algorithm>

namespace glove::verify {

uint64_t Operands::special(const BlockState& state, const Warp& warp, Special name, int lane) const {
  const uint32_t thread = warp.thread(lane);
  const auto& block = setup_.launch.block;
  switch (name) {
    case Special::kTidX:
      return thread % block[0];
    case Special::kTidY:
      return thread / block[0] % block[1];
    case Special::kTidZ:
      return thread / block[0] / block[1];
    case Special::kNtidX:
      return block[0];
    case Special::kNtidY:
      return block[1];
    case Special::kNtidZ:
      return block[2];
    case Special::kCtaidX:
      return state.block_index[0];
    case Special::kCtaidY:
      return state.block_index[1];
    case Special::kCtaidZ:
      return state.block_index[2];
    case Special::kNctaidX:
      return setup_.launch.grid[0];
    case Special::kNctaidY:
      return setup_.launch.grid[1];
    case Special::kNctaidZ:
      return setup_.launch.grid[2];
    case Special::kLaneId:
      return static_cast<uint64_t>(lane);
    case Special::kWarpId:
      return warp.index;
    case Special::kNwarpId:
      return state.warps.size();
    case Special::kLaneMaskEq:
      return uint64_t{1} << lane;
    case Special::kLaneMaskLt:
      return (uint64_t{1} << lane) - 1;
    case Special::kLaneMaskLe:
      return (uint64_t{2} << lane) - 1;
    case Special::kLaneMaskGt:
      return mask_bits(~((uint64_t{2} << lane) - 1), 32);
    case Special::kLaneMaskGe:
      return mask_bits(~((uint64_t{1} << lane) - 1), 32);
    case Special::kDynamicSharedSize:
      return setup_.launch.dynamic_shared.value_or(0);
    case Special::kWorkspaceHigh:
    case Special::kWorkspaceLow:
    case Special::kUnknown:
      break;
  }
  return 0;
}

// The memory in which the blocks of a cooperative launch meet: a buffer of its own. Its address is taken to
// have no high half, which is not 0 in a cooperative launch.
Value Operands::workspace() {
  const Value address = table_.input(SymbolKind::kObject, kWorkspace, 64, Scope::kGrid);
  Symbol& symbol = table_.change(table_.single(address));
  symbol.range = symbol.unsigned_range = {1, (Wide{1} << 31) - 1};
  report_.assume("the launch is cooperative");
  return address;
}

Value Operands::read(const BlockState& state, const Warp& warp, const PtxOperand& operand, int lane) {
  switch (operand.kind) {
    case OperandKind::kRegister: {
      Value value = warp.registers[operand.index].get(lane);
      if (value.form == kUnnamed && setup_.kernel.registers[operand.index].type != Type::kPred) {
        value =
            table_.fresh(std::max(16u, bits_of(setup_.kernel.registers[operand.index].type)), Scope::kThread);
        warp.registers.change(operand.index).set(lane, value);
      }
      if (operand.negated) value = SymbolTable::logical_not(value);
      if (operand.immediate != 0)
        value = table_.add(value, {operand.immediate, 0}, setup_.register_bits(operand));
      return value;
    }
    case OperandKind::kImmediate:
      return {operand.negated ? operand.immediate ^ 1 : operand.immediate, 0};
    case OperandKind::kSpecial:
      if (operand.special == Special::kUnknown ||
          (operand.special == Special::kDynamicSharedSize && !setup_.launch.dynamic_shared))
        return table_.fresh(64, Scope::kThread);
      if (operand.special == Special::kWorkspaceLow) return workspace();
      return {special(state, warp, operand.special, lane), 0};
    case OperandKind::kVariable: {
      const Variable& variable = setup_.kernel.variables[operand.index];
      if (variable.space == Space::kShared || variable.space == Space::kLocal)
        return {variable.offset + operand.immediate, 0};
      Value base = table_.input(SymbolKind::kObject, 0x80000000u + operand.index, 64, Scope::kGrid);
      table_.change(table_.single(base)).range = {0, (Wide{1} << 62)};
      base.constant = operand.immediate;
      return base;
    }
    case OperandKind::kNone:
      break;
  }
  return operand.is_predicate ? table_.fresh_predicate(Scope::kThread, false)
                              : table_.fresh(64, Scope::kThread);
}

void Operands::write(const BlockState& state, Warp& warp, const PtxOperand& result, int lane, Value value,
                     PredicateId condition) {
  if (result.kind != OperandKind::kRegister) return;
  WarpRegister& target = warp.registers.change(result.index);
  if (condition != 0) {  // under a guard that is not known
    PtxOperand old = result;
    old.negated = false, old.immediate = 0;
    const Value before = read(state, warp, old, lane);
    if (value.form == kUnnamed && setup_.kernel.registers[result.index].type != Type::kPred)
      value =
          table_.fresh(std::max(16u, bits_of(setup_.kernel.registers[result.index].type)), Scope::kThread);
    if (!(before == value)) {
      const Type type = setup_.kernel.registers[result.index].type;
      if (type == Type::kPred) {
        const Value p = {0, condition};
        value = table_.logical_or(table_.logical_and(p, value),
                                  table_.logical_and(SymbolTable::logical_not(p), before));
      } else {
        Value arguments[3] = {value, before, {}};
        if ((condition & 1) != 0) std::swap(arguments[0], arguments[1]);
        value =
            table_.operation(Op::kSelect, type, 0, std::max(16u, bits_of(type)), arguments, condition & ~1u);
      }
    }
  }
  target.set(lane, value);
}

Guarded Operands::guard(const BlockState& state, const Warp& warp, Lanes lanes, const Instruction& in) {
  Guarded guard;
  if (!in.has_guard) {
    guard.certain = lanes;
    return guard;
  }
  each_lane(lanes, [&](int lane) {
    const Value value = read(state, warp, in.guard, lane);
    const auto truth = value.known() ? std::optional<bool>(value.constant != 0)
                                     : Reasoner(table_, position(state, warp, lane)).truth(value);
    if (!truth) {
      guard.possible |= 1u << lane;
      guard.condition[static_cast<size_t>(lane)] = value.form;
    } else if (*truth) {
      guard.certain |= 1u << lane;
    }
  });
  return guard;
}

}  // namespace glove::verify
