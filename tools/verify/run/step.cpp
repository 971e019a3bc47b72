// Instructions, but for memory and synchronisation.
#include <algorithm>

#include "run/alu.h"
#include "run/kernel_run.h"

namespace glove::verify {

unsigned KernelRun::register_bits(const PtxOperand& operand) const {
  return operand.kind == OperandKind::kRegister ? bits_of(kernel_.registers[operand.index].type) : 64;
}

bool KernelRun::is_predicate(const PtxOperand& operand) const {
  return operand.kind == OperandKind::kRegister ? kernel_.registers[operand.index].type == Type::kPred
                                                : operand.is_predicate;
}

uint64_t KernelRun::special(const BlockState& state, const Warp& warp, Special name, int lane) const {
  const uint32_t thread = warp.thread(lane);
  const auto& block = launch_.block;
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
      return launch_.grid[0];
    case Special::kNctaidY:
      return launch_.grid[1];
    case Special::kNctaidZ:
      return launch_.grid[2];
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
      return launch_.dynamic_shared.value_or(0);
    case Special::kWorkspaceHigh:
    case Special::kWorkspaceLow:
    case Special::kUnknown:
      break;
  }
  return 0;
}

// The memory in which the blocks of a cooperative launch meet: a buffer of its own. Its address is taken to
// have no high half, which is not 0 in a cooperative launch.
Value KernelRun::workspace() {
  const Value address = table_.input(SymbolKind::kObject, kWorkspace, 64, Scope::kGrid);
  Symbol& symbol = table_.change(table_.single(address));
  symbol.range = symbol.unsigned_range = {1, (Wide{1} << 31) - 1};
  assume("the launch is cooperative");
  return address;
}

Value KernelRun::operand(const BlockState& state, const Warp& warp, const PtxOperand& operand, int lane) {
  switch (operand.kind) {
    case OperandKind::kRegister: {
      Value value = warp.registers[operand.index].get(lane);
      if (value.form == kUnnamed && kernel_.registers[operand.index].type != Type::kPred) {
        value = table_.fresh(std::max(16u, bits_of(kernel_.registers[operand.index].type)), Scope::kThread);
        warp.registers.change(operand.index).set(lane, value);
      }
      if (operand.negated) value = SymbolTable::logical_not(value);
      if (operand.immediate != 0) value = table_.add(value, {operand.immediate, 0}, register_bits(operand));
      return value;
    }
    case OperandKind::kImmediate:
      return {operand.negated ? operand.immediate ^ 1 : operand.immediate, 0};
    case OperandKind::kSpecial:
      if (operand.special == Special::kUnknown ||
          (operand.special == Special::kDynamicSharedSize && !launch_.dynamic_shared))
        return table_.fresh(64, Scope::kThread);
      if (operand.special == Special::kWorkspaceLow) return workspace();
      return {special(state, warp, operand.special, lane), 0};
    case OperandKind::kVariable: {
      const Variable& variable = kernel_.variables[operand.index];
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

void KernelRun::write_result(const BlockState& state, Warp& warp, const PtxOperand& result, int lane,
                             Value value, PredicateId condition) {
  if (result.kind != OperandKind::kRegister) return;
  WarpRegister& target = warp.registers.change(result.index);
  if (condition != 0) {  // under a guard that is not known
    PtxOperand old = result;
    old.negated = false, old.immediate = 0;
    const Value before = operand(state, warp, old, lane);
    if (value.form == kUnnamed && kernel_.registers[result.index].type != Type::kPred)
      value = table_.fresh(std::max(16u, bits_of(kernel_.registers[result.index].type)), Scope::kThread);
    if (!(before == value)) {
      const Type type = kernel_.registers[result.index].type;
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
  (void)state;
  target.set(lane, value);
}

KernelRun::Guarded KernelRun::evaluate_guard(const BlockState& state, const Warp& warp, Lanes lanes,
                                             const Instruction& in) {
  Guarded guard;
  if (!in.has_guard) {
    guard.certain = lanes;
    return guard;
  }
  each_lane(lanes, [&](int lane) {
    const Value value = operand(state, warp, in.guard, lane);
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

// A move that packs several registers into one or unpacks one into several.
void KernelRun::step_pack(const BlockState& state, Warp& warp, const Instruction& in, int lane,
                          const Value* x, PredicateId condition) {
  const size_t count = std::min<size_t>(in.operands.size(), 4);
  const unsigned bits = bits_of(in.type);
  if (in.results.size() > 1) {
    const unsigned part = bits / static_cast<unsigned>(in.results.size());
    for (size_t i = 0; i < in.results.size(); ++i) {
      const Value arguments[3] = {x[0], {}, {}};
      const Value value = x[0].known()
                              ? Value{mask_bits(x[0].constant >> (part * i), part), 0}
                              : table_.operation(Op::kPure, in.type, static_cast<uint32_t>(i),
                                                 std::max(16u, register_bits(in.results[i])), arguments);
      write_result(state, warp, in.results[i], lane, value, condition);
    }
    return;
  }
  const unsigned part = bits / static_cast<unsigned>(count);
  uint64_t packed = 0;
  bool known = true;
  for (size_t i = 0; i < count; ++i) {
    known &= x[i].known();
    packed |= part < 64 ? mask_bits(x[i].constant, part) << (part * i) : x[i].constant;
  }
  const Value low[3] = {x[0], x[1], {}};
  const Value high[3] = {x[2], x[3], {}};
  const Value pair[3] = {
      table_.operation(Op::kPure, in.type, 9, std::max(32u, bits), low),
      count > 2 ? table_.operation(Op::kPure, in.type, 10, std::max(32u, bits), high) : Value{},
      {}};
  const Value result = known       ? Value{packed, 0}
                       : count > 2 ? table_.operation(Op::kPure, in.type, 11, std::max(32u, bits), pair)
                                   : pair[0];
  write_result(state, warp, in.results[0], lane, result, condition);
}

// An operation about whose result nothing is known.
void KernelRun::step_opaque(const BlockState& state, Warp& warp, const Instruction& in, int lane,
                            const Value* x, PredicateId condition) {
  const size_t count = std::min<size_t>(in.operands.size(), 4);
  for (const PtxOperand& target : in.results) {
    if (target.kind != OperandKind::kRegister) continue;
    const Type type = kernel_.registers[target.index].type;
    bool data = count > 0;
    for (size_t i = 0; i < count; ++i)
      data &= x[i].known() ||
              (is_predicate(in.operands[i]) ? table_.predicate(x[i].form).data : table_.is_data(x[i]));
    write_result(state, warp, target, lane,
                 type == Type::kPred ? table_.fresh_predicate(Scope::kThread, data)
                                     : table_.fresh(std::max(16u, bits_of(type)), Scope::kThread),
                 condition);
  }
}

// cvta: a generic address is the window's base plus the offset into shared, local or parameter memory.
Value KernelRun::convert_address(const Instruction& in, Value address) {
  const bool window = in.space == Space::kShared || in.space == Space::kLocal || in.space == Space::kParam;
  const uint64_t base = in.space == Space::kShared  ? uint64_t{1} << 60
                        : in.space == Space::kLocal ? uint64_t{2} << 60
                                                    : uint64_t{3} << 60;
  if (window) return in.wide ? table_.subtract(address, {base, 0}, 64) : table_.add(address, {base, 0}, 64);
  if (const SymbolId pointer = table_.single(address); pointer != 0) pointers_.insert(pointer);
  return address;
}

// setp's results: the comparison, combined with a predicate if there is one, and the opposite.
void KernelRun::write_predicates(const BlockState& state, Warp& warp, const Instruction& in, int lane,
                                 const Value* x, Value result, PredicateId condition) {
  Value other = SymbolTable::logical_not(result);
  if (in.combine != 0 && in.operands.size() > 2) {
    const auto combine = [&](Value a) {
      return in.combine == '&'   ? table_.logical_and(a, x[2])
             : in.combine == '|' ? table_.logical_or(a, x[2])
                                 : table_.logical_xor(a, x[2]);
    };
    result = combine(result);
    other = combine(other);
  }
  if (in.results.size() > 1) write_result(state, warp, in.results[1], lane, other, condition);
  if (!in.results.empty()) write_result(state, warp, in.results[0], lane, result, condition);
}

// Whether nobody needs to tell what an instruction makes of its operands from anything else: they are
// unnamed or were sliced away, or differ from lane to lane and are numbers of 64 bits with a fraction, which
// no address comes from.
bool KernelRun::leaves_unnamed(const Warp& warp, Lanes lanes, const Instruction& in) const {
  if (options_.name_all_data || in.results.empty()) return false;
  const bool sums = in.op == Op::kAdd || in.op == Op::kSub || in.op == Op::kMul || in.op == Op::kMad ||
                    in.op == Op::kFma || in.op == Op::kDiv || in.op == Op::kNeg || in.op == Op::kAbs;
  const bool computes = (sums || in.op == Op::kSelect) && is_float(in.type);
  const bool compares = in.op == Op::kSetPredicate && in.combine == 0 && is_float(in.from);
  const bool converts = in.op == Op::kConvert && is_float(in.from);
  if (!computes && !compares && !converts && in.op != Op::kMove) return false;
  bool unnamed = false, differs = false;
  for (const PtxOperand& operand : in.operands) {
    unnamed |= operand.kind == OperandKind::kNone && !operand.is_predicate;
    if (operand.kind != OperandKind::kRegister || kernel_.registers[operand.index].type == Type::kPred)
      continue;
    const WarpRegister& source = warp.registers[operand.index];
    const Value first = source.get(std::countr_zero(lanes));
    each_lane(lanes & source.unknown, [&](int lane) {
      const Value value = source.get(lane);
      unnamed |= value.form == kUnnamed;
      differs |= !(value == first);
    });
  }
  return unnamed || (differs && sums && in.type == Type::kF64);
}

void KernelRun::step_arithmetic(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  const bool unnamed = leaves_unnamed(warp, lanes, in);
  const size_t count = std::min<size_t>(in.operands.size(), 4);
  const bool packs = in.op == Op::kMove && (in.operands.size() > 1 || in.results.size() > 1);
  const bool opaque = in.op == Op::kPure || in.op == Op::kSet || in.op == Op::kIsSpace;
  each_lane(lanes, [&](int lane) {
    PredicateId condition = 0;
    if (in.has_guard) {
      const Guarded guard = evaluate_guard(state, warp, 1u << lane, in);
      if ((guard.certain | guard.possible) == 0) return;
      condition = guard.condition[static_cast<size_t>(lane)];
    }
    if (unnamed) {
      if (in.op == Op::kSetPredicate)
        return write_predicates(state, warp, in, lane, nullptr, table_.fresh_predicate(Scope::kThread, false),
                                condition);
      for (const PtxOperand& target : in.results)
        write_result(state, warp, target, lane, {0, kUnnamed}, condition);
      return;
    }
    Value x[4];
    bool known = true;
    for (size_t i = 0; i < count; ++i) {
      x[i] = operand(state, warp, in.operands[i], lane);
      known &= x[i].known() || (i == 2 && in.combine != 0);
    }
    if (packs) return step_pack(state, warp, in, lane, x, condition);
    if (opaque) return step_opaque(state, warp, in, lane, x, condition);
    const uint64_t numbers[4] = {x[0].constant, x[1].constant, x[2].constant, x[3].constant};
    Value result;
    uint64_t number = 0;
    if (in.op == Op::kConvertAddress) {
      result = convert_address(in, x[0]);
    } else if (known && compute(in, numbers, &number)) {
      result = {number, 0};
    } else {
      // Without what the block knows: that depends on how far other warps are, and all must name a value
      // alike.
      result = evaluate(in, x, count, table_, Reasoner(table_, {warp.path.get(), nullptr, lane}));
    }
    if (in.op == Op::kSetPredicate) return write_predicates(state, warp, in, lane, x, result, condition);
    if (!in.results.empty()) write_result(state, warp, in.results[0], lane, result, condition);
  });
}

void KernelRun::step_branch(BlockState& state, Warp& warp, Lanes lanes, int pc) {
  const Instruction& in = kernel_.code[static_cast<size_t>(pc)];
  const bool leaves = in.op != Op::kBranch;
  const int target = leaves ? flow_.end() : in.targets[0];
  const Guarded guard = evaluate_guard(state, warp, lanes, in);
  if (guard.possible != 0) {
    // The lanes that know where they go wait until the others are through.
    std::array<PredicateId, 32> taken = guard.condition;
    const Lanes known = lanes & ~guard.possible;
    each_lane(known, [&](int lane) {
      warp.pc[static_cast<size_t>(lane)] = (guard.certain >> lane & 1) != 0 ? target : pc + 1;
    });
    if (leaves) {
      warp.alive &= ~guard.certain;
    }
    unknown_branch(state, warp, guard.possible, pc, taken, target, pc + 1);
    return;
  }
  each_lane(lanes, [&](int lane) {
    warp.pc[static_cast<size_t>(lane)] = (guard.certain >> lane & 1) != 0 ? target : pc + 1;
  });
  if (leaves) warp.alive &= ~guard.certain;
}

void KernelRun::step_indexed_branch(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  each_lane(lanes, [&](int lane) {
    if (ended()) return;
    const Value index = operand(state, warp, in.operands[0], lane);
    if (!index.known()) return unproved(in, "the target of a branch depends on unknown data", &state);
    if (index.constant >= in.targets.size())
      return unproved(in, "the target of a branch lies outside its table", &state);
    warp.pc[static_cast<size_t>(lane)] = in.targets[index.constant];
  });
}

void KernelRun::step(BlockState& state, Warp& warp, Lanes lanes, int pc) {
  const Instruction& in = kernel_.code[static_cast<size_t>(pc)];
  if (waits_.undecided(pc)) undecided_loop(pc);
  const auto next = [&] { each_lane(lanes, [&](int lane) { warp.pc[static_cast<size_t>(lane)] = pc + 1; }); };
  switch (in.op) {
    case Op::kBranch:
    case Op::kReturn:
    case Op::kTrap:
    case Op::kAssertFail:
      return step_branch(state, warp, lanes, pc);
    case Op::kBranchIndexed:
      return step_indexed_branch(state, warp, lanes, in);
    case Op::kBarrier:
      return step_barrier(state, warp, lanes, pc);
    case Op::kUnsupported:
      return unsupported(in, in.reason);
    case Op::kLoad:
      step_load(state, warp, lanes, in, evaluate_guard(state, warp, lanes, in));
      return next();
    case Op::kStore:
      step_store(state, warp, lanes, in, evaluate_guard(state, warp, lanes, in));
      return next();
    case Op::kAtomic:
      step_atomic(state, warp, lanes, in, evaluate_guard(state, warp, lanes, in));
      return next();
    case Op::kMatrixLoad:
    case Op::kMatrixStore:
      step_matrix_memory(state, warp, lanes, in, evaluate_guard(state, warp, lanes, in));
      return next();
    case Op::kFence:
      step_fence(state, warp, evaluate_guard(state, warp, lanes, in).certain, in);
      return next();
    case Op::kNothing:
    case Op::kPrint:
      return next();
    case Op::kShuffle:
    case Op::kVote:
    case Op::kMatch:
    case Op::kReduce:
    case Op::kElect:
    case Op::kActiveMask:
    case Op::kMatrix:
      step_exchange(state, warp, lanes, in);
      return next();
    case Op::kProxyFence:
    case Op::kCopy:
    case Op::kCopyCommit:
    case Op::kCopyWait:
    case Op::kWgmma:
    case Op::kWgmmaFence:
    case Op::kWgmmaCommit:
    case Op::kWgmmaWait:
      step_asynchronous(state, warp, lanes, in);
      return next();
    default:
      break;
  }
  step_arithmetic(state, warp, lanes, in);
  next();
}

}  // namespace glove::verify
