#include "steps/steps.h"

#include <algorithm>

namespace glove::verify {

// A move that packs several registers into one or unpacks one into several.
void Interpreter::step_pack(const BlockState& state, Warp& warp, const Instruction& in, int lane,
                            const Value* x, PredicateId condition) {
  const size_t count = std::min<size_t>(in.operands.size(), 4);
  const unsigned bits = bits_of(in.type);
  if (in.results.size() > 1) {
    const unsigned part = bits / static_cast<unsigned>(in.results.size());
    for (size_t i = 0; i < in.results.size(); ++i) {
      const Value value = x[0].known()
                              ? Value{mask_bits(x[0].constant >> (part * i), part), 0}
                              : table_.operation(Op::kPure, in.type, static_cast<uint32_t>(i),
                                                 std::max(16u, setup_.register_bits(in.results[i])), {x[0]});
      write(state, warp, in.results[i], lane, value, condition);
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
  const Value pair[3] = {
      table_.operation(Op::kPure, in.type, 9, std::max(32u, bits), {x[0], x[1]}),
      count > 2 ? table_.operation(Op::kPure, in.type, 10, std::max(32u, bits), {x[2], x[3]}) : Value{},
      {}};
  const Value result = known       ? Value{packed, 0}
                       : count > 2 ? table_.operation(Op::kPure, in.type, 11, std::max(32u, bits), pair)
                                   : pair[0];
  write(state, warp, in.results[0], lane, result, condition);
}

// An operation about whose result nothing is known.
void Interpreter::step_opaque(const BlockState& state, Warp& warp, const Instruction& in, int lane,
                              const Value* x, PredicateId condition) {
  const size_t count = std::min<size_t>(in.operands.size(), 4);
  for (const PtxOperand& target : in.results) {
    if (target.kind != OperandKind::kRegister) continue;
    const Type type = setup_.kernel.registers[target.index].type;
    bool data = count > 0;
    for (size_t i = 0; i < count; ++i)
      data &= x[i].known() ||
              (setup_.is_predicate(in.operands[i]) ? table_.predicate(x[i].form).data : table_.is_data(x[i]));
    write(state, warp, target, lane, table_.fresh_of(type, Scope::kThread, data && type == Type::kPred),
          condition);
  }
}

// cvta: a generic address is the window's base plus the offset into shared, local or parameter memory.
Value Interpreter::convert_address(const Instruction& in, Value address) {
  const bool window = in.space == Space::kShared || in.space == Space::kLocal || in.space == Space::kParam;
  const uint64_t base = in.space == Space::kShared  ? uint64_t{1} << 60
                        : in.space == Space::kLocal ? uint64_t{2} << 60
                                                    : uint64_t{3} << 60;
  if (window) return in.wide ? table_.subtract(address, {base, 0}, 64) : table_.add(address, {base, 0}, 64);
  note_pointer(address);
  return address;
}

// setp's results: the comparison, combined with a predicate if there is one, and the opposite.
void Interpreter::write_predicates(const BlockState& state, Warp& warp, const Instruction& in, int lane,
                                   const Value* x, Value result, PredicateId condition) {
  Value other = SymbolTable::logical_not(result);
  if (in.comparison.combine != 0 && in.operands.size() > 2) {
    const auto combine = [&](Value a) {
      return in.comparison.combine == '&'   ? table_.logical_and(a, x[2])
             : in.comparison.combine == '|' ? table_.logical_or(a, x[2])
                                            : table_.logical_xor(a, x[2]);
    };
    result = combine(result);
    other = combine(other);
  }
  if (in.results.size() > 1) write(state, warp, in.results[1], lane, other, condition);
  if (!in.results.empty()) write(state, warp, in.results[0], lane, result, condition);
}

// Whether nobody needs to tell what an instruction makes of its operands from anything else: they are
// unnamed or were sliced away, or differ from lane to lane and are numbers of 64 bits with a fraction, which
// no address comes from.
bool Interpreter::leaves_unnamed(const Warp& warp, Lanes lanes, const Instruction& in) const {
  if (setup_.options.name_all_data || in.results.empty()) return false;
  const bool sums = kSums.has(in.op) || in.op == Op::kNeg || in.op == Op::kAbs;
  const bool computes = (sums || in.op == Op::kSelect) && is_float(in.type);
  const bool compares = in.op == Op::kSetPredicate && in.comparison.combine == 0 && is_float(in.from);
  const bool converts = in.op == Op::kConvert && is_float(in.from);
  if (!computes && !compares && !converts && in.op != Op::kMove) return false;
  bool unnamed = false, differs = false;
  for (const PtxOperand& operand : in.operands) {
    unnamed |= operand.kind == OperandKind::kNone && !operand.is_predicate;
    if (operand.kind != OperandKind::kRegister || setup_.kernel.registers[operand.index].type == Type::kPred)
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

void Interpreter::step_arithmetic(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  const bool unnamed = leaves_unnamed(warp, lanes, in);
  const size_t count = std::min<size_t>(in.operands.size(), 4);
  const bool packs = in.op == Op::kMove && (in.operands.size() > 1 || in.results.size() > 1);
  const bool opaque = in.op == Op::kPure || in.op == Op::kSet || in.op == Op::kIsSpace;
  each_lane(lanes, [&](int lane) {
    PredicateId condition = 0;
    if (in.guard) {
      const Guarded guard = guard_of(state, warp, 1u << lane, in);
      if ((guard.certain | guard.possible) == 0) return;
      condition = guard.condition[lane];
    }
    if (unnamed) {
      if (in.op == Op::kSetPredicate)
        return write_predicates(state, warp, in, lane, nullptr, table_.fresh_predicate(Scope::kThread, false),
                                condition);
      for (const PtxOperand& target : in.results) write(state, warp, target, lane, {0, kUnnamed}, condition);
      return;
    }
    Value x[4];
    bool known = true;
    for (size_t i = 0; i < count; ++i) {
      x[i] = read(state, warp, in.operands[i], lane);
      known &= x[i].known() || (i == 2 && in.comparison.combine != 0);
    }
    if (packs) return step_pack(state, warp, in, lane, x, condition);
    if (opaque) return step_opaque(state, warp, in, lane, x, condition);
    const uint64_t numbers[4] = {x[0].constant, x[1].constant, x[2].constant, x[3].constant};
    Value result;
    if (in.op == Op::kConvertAddress) {
      result = convert_address(in, x[0]);
    } else if (in.op == Op::kMapAddress || in.op == Op::kRankOfAddress) {
      result = steps_.clusters.address(state, warp, in, lane, x);
    } else if (const auto number = known ? compute(in, numbers) : std::nullopt) {
      result = {*number, 0};
    } else {
      // Without what the block knows: that depends on how far other warps are, and all must name a value
      // alike.
      result = evaluate(in, x, count, table_, Reasoner(table_, {warp.path.get(), nullptr, lane}));
    }
    if (in.op == Op::kSetPredicate) return write_predicates(state, warp, in, lane, x, result, condition);
    if (!in.results.empty()) write(state, warp, in.results[0], lane, result, condition);
  });
}

void Interpreter::step_branch(BlockState& state, Warp& warp, Lanes lanes, int pc) {
  const Instruction& in = setup_.kernel.code[pc];
  const bool leaves = in.op != Op::kBranch;
  const int target = leaves ? setup_.flow.end() : in.targets[0];
  const Guarded guard = guard_of(state, warp, lanes, in);
  if (guard.possible != 0) {
    // The lanes that know where they go wait until the others are through.
    std::array<PredicateId, 32> taken = guard.condition;
    const Lanes known = lanes & ~guard.possible;
    each_lane(known, [&](int lane) { warp.pc[lane] = has(guard.certain, lane) ? target : pc + 1; });
    if (leaves) warp.alive &= ~guard.certain;
    steps_.regions.unknown_branch(state, warp, guard.possible, pc, taken, target, pc + 1);
    return;
  }
  each_lane(lanes, [&](int lane) {
    if (leaves) note_exit(warp, lane, pc);
    warp.trails[lane].jumped_from = pc;
    warp.trails[lane].jumped_to = warp.pc[lane] = has(guard.certain, lane) ? target : pc + 1;
  });
  if (leaves) warp.alive &= ~guard.certain;
}

void Interpreter::note_exit(Warp& warp, int lane, int pc) const {
  const int block = setup_.flow.block_of(pc);
  const bool more = setup_.flow.blocks()[block].first < pc;
  const int from = warp.trails[lane].jumped_to == pc ? warp.trails[lane].jumped_from : pc - 1;
  warp.trails[lane].left_in = 1 + (more ? block : from < 0 ? -1 : setup_.flow.block_of(from));
}

void Interpreter::step_indexed_branch(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  each_lane(lanes, [&](int lane) {
    if (report_.ended()) return;
    const Value index = read(state, warp, in.operands[0], lane);
    if (!index.known()) return report_.unproved(in, "the target of a branch depends on unknown data", &state);
    if (index.constant >= in.targets.size())
      return report_.unproved(in, "the target of a branch lies outside its table", &state);
    warp.pc[lane] = in.targets[index.constant];
  });
}

void Interpreter::step(BlockState& state, Warp& warp, Lanes lanes, int pc) {
  const Instruction& in = setup_.kernel.code[pc];
  if (setup_.waits.undecided(pc)) order_.waits.undecided_loop(pc);
  const auto next = [&] { each_lane(lanes, [&](int lane) { warp.pc[lane] = pc + 1; }); };
  constexpr OpSet kExchanges = {Op::kShuffle, Op::kVote,       Op::kMatch, Op::kReduce,
                                Op::kElect,   Op::kActiveMask, Op::kMatrix};
  constexpr OpSet kAsynchronous = {Op::kProxyFence, Op::kCopy,       Op::kCopyCommit,  Op::kCopyWait,
                                   Op::kWgmma,      Op::kWgmmaFence, Op::kWgmmaCommit, Op::kWgmmaWait};
  if (in.op == Op::kBranch || kEnds.has(in.op)) return step_branch(state, warp, lanes, pc);
  switch (in.op) {
    case Op::kBranchIndexed:
      return step_indexed_branch(state, warp, lanes, in);
    case Op::kBarrier:
      return steps_.barriers.step_barrier(state, warp, lanes, pc);
    case Op::kClusterBarrier:
      return steps_.clusters.step_barrier(state, warp, lanes, pc);
    case Op::kMbarrier:
      return steps_.mbarriers.step(state, warp, lanes, pc);
    case Op::kBulkCopy:
    case Op::kBulkCommit:
    case Op::kBulkWait:
      steps_.mbarriers.step_bulk(state, warp, lanes, in);
      return next();
    case Op::kUnsupported:
      return report_.unsupported(in, in.reason);
    case Op::kLoad:
      steps_.memory.step_load(state, warp, in, guard_of(state, warp, lanes, in));
      return next();
    case Op::kStore:
      steps_.memory.step_store(state, warp, in, guard_of(state, warp, lanes, in));
      return next();
    case Op::kAtomic:
      steps_.memory.step_atomic(state, warp, in, guard_of(state, warp, lanes, in));
      return next();
    case Op::kMatrixLoad:
    case Op::kMatrixStore:
      steps_.memory.step_matrix_memory(state, warp, lanes, in, guard_of(state, warp, lanes, in));
      return next();
    case Op::kFence:
      order_.grid.step_fence(state, warp, guard_of(state, warp, lanes, in).certain, in);
      return next();
    case Op::kNothing:
      return next();
    default:
      break;
  }
  if (kExchanges.has(in.op))
    steps_.exchange.step_exchange(state, warp, lanes, in);
  else if (kAsynchronous.has(in.op))
    steps_.async.step_asynchronous(state, warp, lanes, in);
  else
    step_arithmetic(state, warp, lanes, in);
  next();
}

}  // namespace glove::verify
