// Synchronisation and exchange inside a warp.
#include <algorithm>

#include "run/kernel_run.h"

namespace glove::verify {
namespace {

// Which operand names the lanes that take part; -1: none does.
int mask_operand(const Instruction& in) {
  switch (in.op) {
    case Op::kWarpBarrier:
      return 0;
    case Op::kShuffle:
      return in.strong ? 3 : -1;
    case Op::kVote:
    case Op::kMatch:
    case Op::kElect:
    case Op::kReduce:
      return in.strong || in.op == Op::kElect ? static_cast<int>(in.operands.size()) - 1 : -1;
    default:
      return -1;
  }
}

}  // namespace

// Whether all lanes that a synchronising instruction names have come to it. `members`: those that go on.
bool KernelRun::warp_complete(BlockState& state, Warp& warp, Lanes lanes, int pc, Lanes* members) {
  const Instruction& in = kernel_.code[static_cast<size_t>(pc)];
  *members = lanes;
  if (in.op == Op::kBarrier || in.op == Op::kMatrix || in.op == Op::kMatrixLoad ||
      in.op == Op::kMatrixStore || in.op == Op::kWgmma || in.op == Op::kWgmmaFence ||
      in.op == Op::kWgmmaCommit || in.op == Op::kWgmmaWait)
    return lanes == warp.lanes || (lanes == warp.alive && in.op == Op::kBarrier);
  const int index = mask_operand(in);
  if (index < 0 || static_cast<size_t>(index) >= in.operands.size()) return true;  // whoever is there
  const int first = std::countr_zero(lanes);
  const Value mask = operand(state, warp, in.operands[static_cast<size_t>(index)], first);
  const bool voters = in.op == Op::kShuffle && voters_come(state, warp, lanes, in);
  if (!mask.known() && !voters) {
    unproved(in, "the lanes that '" + in.text + "' names are not known", &state);
    return false;
  }
  const Lanes named = voters ? lanes : static_cast<Lanes>(mask.constant);
  if ((named >> first & 1) == 0) {
    find(FindingKind::kDivergence, !under_conditions(state, warp), in, nullptr,
         "thread " + std::to_string(warp.thread(first)) + " executes '" + in.text +
             "', which does not name it",
         &state);
    end_path();
    return false;
  }
  Lanes come = lanes;
  if (in.op == Op::kWarpBarrier)  // lanes may come to different ones
    each_lane(warp.alive & ~warp.waiting & named, [&](int lane) {
      const int at = warp.pc[static_cast<size_t>(lane)];
      if (at < flow_.end() && kernel_.code[static_cast<size_t>(at)].op == Op::kWarpBarrier)
        come |= 1u << lane;
    });
  const Lanes needed = named & warp.alive;
  if ((come & needed) != needed) return false;
  *members = needed & come;
  if (context_ != nullptr && !voters &&
      (!context_->running->uniform || (needed & ~context_->running->lanes) != 0) &&
      std::popcount(needed) > 1) {
    find(FindingKind::kDivergence, false, in, nullptr,
         "'" + in.text + "' stands under a condition that may differ between the lanes it names", &state);
    end_path();
    return false;
  }
  for (Context* context = context_; context != nullptr; context = context->outer)
    context->synchronises = true;
  return true;
}

void KernelRun::step_warp_barrier(BlockState& state, Warp& warp, Lanes members) {
  state.clocks.synchronise(threads_of(warp, members));
  for (Context* context = context_; context != nullptr; context = context->outer)
    context->synchronises = true;
  each_lane(members, [&](int lane) {
    warp.last_barrier[static_cast<size_t>(lane)] = ++warp.pc[static_cast<size_t>(lane)];
  });
}

void KernelRun::step_exchange(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  if (in.has_guard && evaluate_guard(state, warp, lanes, in).certain != lanes) {
    const Guarded guard = evaluate_guard(state, warp, lanes, in);
    if (guard.possible != 0)
      return unproved(in, "'" + in.text + "' stands under a condition that is not known", &state);
    lanes = guard.certain;
    if (lanes == 0) return;
  }
  if (in.op == Op::kShuffle) return step_shuffle(state, warp, lanes, in);
  if (in.op == Op::kVote || in.op == Op::kActiveMask) return step_vote(state, warp, lanes, in);
  if (in.op == Op::kReduce) {  // the same for all
    const Value value = table_.fresh(32, Scope::kBlock);
    each_lane(lanes, [&](int lane) { write_result(state, warp, in.results[0], lane, value, 0); });
    return;
  }
  each_lane(lanes, [&](int lane) {
    for (const PtxOperand& result : in.results) {
      if (result.kind != OperandKind::kRegister) continue;
      const Type type = kernel_.registers[result.index].type;
      write_result(state, warp, result, lane,
                   type == Type::kPred ? table_.fresh_predicate(Scope::kThread, false)
                                       : table_.fresh(std::max(16u, bits_of(type)), Scope::kThread),
                   0);
    }
  });
}

void KernelRun::step_shuffle(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  std::array<Value, 32> data{};
  const bool needed = !in.results.empty() && in.results[0].kind == OperandKind::kRegister;
  if (needed)
    each_lane(lanes, [&](int lane) {
      data[static_cast<size_t>(lane)] = operand(state, warp, in.operands[0], lane);
    });
  each_lane(lanes, [&](int lane) {
    const Value by = operand(state, warp, in.operands[1], lane),
                clamp = operand(state, warp, in.operands[2], lane);
    const bool checks = in.results.size() > 1 && in.results[1].kind == OperandKind::kRegister;
    std::optional<Value> result, valid;  // once they are known
    if (by.known() && clamp.known()) {
      const int segment = static_cast<int>(clamp.constant >> 8 & 0x1f),
                limit = static_cast<int>(clamp.constant & 0x1f);
      const int b = static_cast<int>(by.constant & 0x1f);
      const int most = (lane & segment) | (limit & ~segment), least = lane & segment;
      int from = lane;
      bool inside = true;
      switch (in.shuffle) {
        case 'u':
          from = lane - b, inside = from >= most;
          break;
        case 'd':
          from = lane + b, inside = from <= most;
          break;
        case 'b':
          from = lane ^ b, inside = from <= most;
          break;
        default:
          from = least | (b & ~segment), inside = from <= most;
          break;
      }
      if (!inside) from = lane;
      valid = Value{inside ? 1u : 0u, 0};
      if ((lanes >> from & 1) != 0) result = data[static_cast<size_t>(from)];
    } else if (needed && in.shuffle == 'i') {
      result = shuffled_from(state, warp, lanes, in, lane, data);
    }
    if (needed)
      write_result(state, warp, in.results[0], lane, result ? *result : table_.fresh(32, Scope::kThread), 0);
    if (checks)
      write_result(state, warp, in.results[1], lane,
                   valid ? *valid : table_.fresh_predicate(Scope::kThread, false), 0);
  });
}

}  // namespace glove::verify
