#include "ptx/operand_counts.h"

#include <algorithm>
#include <string>

namespace glove::verify {
namespace {

// From `least` to `most` operands.
struct Count {
  size_t least;
  size_t most;

  bool holds(size_t count) const { return least <= count && count <= most; }
};

constexpr Count exactly(size_t count) {
  return {count, count};
}

constexpr size_t kAnyNumber = 1000;  // for instructions whose operands nobody reads one by one

struct Form {
  Count results;
  Count operands;
  Count groups = {0, kAnyNumber};  // of operands, as Instruction::groups counts them
};

// Loads, stores and atomics may have a cache policy behind their data if they name one.
Form memory_form(const Instruction& in) {
  const size_t vector = in.vector;
  const size_t policy = in.text.find("L2::cache_hint") != std::string::npos ? 1 : 0;
  switch (in.op) {
    case Op::kLoad:
      return {{1, vector}, {0, policy}, {1, 1 + policy}};
    case Op::kStore:
      return {exactly(0), {1, vector + policy}, {2, 2 + policy}};
    case Op::kMatrixLoad:
      return {{1, vector}, exactly(0), exactly(1)};
    case Op::kMatrixStore:
      return {exactly(0), {1, vector}, exactly(2)};
    default:
      break;
  }
  const size_t data = in.atomic == AtomicOp::kCas ? 2 : 1;
  return {{0, vector}, {data, data * vector + policy}, {1 + data, 1 + data + policy}};
}

// Instructions for all lanes of a warp; the lanes that take part are the last operand.
Form warp_form(const Instruction& in) {
  const size_t mask = in.strong ? 1 : 0;
  switch (in.op) {
    case Op::kShuffle:
      return {{1, 2}, exactly(3 + mask)};
    case Op::kVote:
    case Op::kReduce:
      return {exactly(1), exactly(1 + mask)};
    case Op::kMatch:
      return {{1, 2}, exactly(1 + mask)};
    case Op::kElect:
      return {{1, 2}, exactly(1)};
    case Op::kActiveMask:
      return {exactly(1), exactly(0)};
    default:
      return {exactly(0), exactly(1)};  // bar.warp.sync
  }
}

Form barrier_form(const Instruction& in) {
  switch (in.barrier) {
    case BarrierOp::kReduce:
      return {exactly(1), {2, 3}};
    case BarrierOp::kArrive:
      return {exactly(0), exactly(2)};
    case BarrierOp::kSync:
      break;
  }
  return {exactly(0), {1, 2}};
}

Form arithmetic_form(const Instruction& in) {
  switch (in.op) {
    case Op::kNeg:
    case Op::kAbs:
    case Op::kNot:
    case Op::kCnot:
    case Op::kBitReverse:
    case Op::kPopCount:
    case Op::kCountLeadingZeros:
    case Op::kFindBit:
    case Op::kConvert:
    case Op::kConvertAddress:
    case Op::kIsSpace:
      return {exactly(1), exactly(1)};
    case Op::kMad:
    case Op::kFma:
    case Op::kBitExtract:
    case Op::kPermute:
    case Op::kSelect:
      return {exactly(1), exactly(3)};
    case Op::kBitInsert:
    case Op::kLogic3:
      return {exactly(1), exactly(4)};
    case Op::kSetPredicate:
      return {{1, 2}, exactly(in.combine != 0 ? 3 : 2)};
    default:
      return {exactly(1), exactly(2)};
  }
}

// Moves pack several registers, in braces, into one, or unpack one into several.
Form move_form(const Instruction& in) {
  if (in.type == Type::kPred) return {exactly(1), exactly(1)};
  return in.results.size() > 1 ? Form{{2, 4}, exactly(1)} : Form{exactly(1), {1, 4}, exactly(1)};
}

Form form_of(const Instruction& in) {
  switch (in.op) {
    case Op::kMove:
      return move_form(in);
    case Op::kLoad:
    case Op::kStore:
    case Op::kAtomic:
    case Op::kMatrixLoad:
    case Op::kMatrixStore:
      return memory_form(in);
    case Op::kBarrier:
      return barrier_form(in);
    case Op::kWarpBarrier:
    case Op::kShuffle:
    case Op::kVote:
    case Op::kMatch:
    case Op::kReduce:
    case Op::kActiveMask:
    case Op::kElect:
      return warp_form(in);
    case Op::kBranch:
    case Op::kReturn:
    case Op::kTrap:
      return {exactly(0), exactly(0)};
    case Op::kBranchIndexed:
      return {exactly(0), exactly(1)};
    case Op::kCopy:  // the size, what is copied of it or whether, and a cache policy
      return {exactly(0), {1, 3}};
    case Op::kCopyCommit:
      return {exactly(0), exactly(0)};
    case Op::kCopyWait:
      return {exactly(0), exactly(in.wide ? 0 : 1)};
    case Op::kPure:
    case Op::kSet:
    case Op::kMatrix:
    case Op::kFence:
    case Op::kProxyFence:
    case Op::kWgmmaFence:
    case Op::kWgmma:
    case Op::kWgmmaCommit:
    case Op::kWgmmaWait:
    case Op::kAssertFail:
    case Op::kPrint:
    case Op::kNothing:
    case Op::kUnsupported:
      return {{0, kAnyNumber}, {0, kAnyNumber}};
    default:
      return arithmetic_form(in);
  }
}

bool needs_address(Op op) {
  return op == Op::kLoad || op == Op::kStore || op == Op::kAtomic || op == Op::kMatrixLoad ||
         op == Op::kMatrixStore || op == Op::kCopy;
}

bool is_result(const PtxOperand& operand) {
  return operand.kind == OperandKind::kNone || (operand.kind == OperandKind::kRegister && !operand.negated);
}

}  // namespace

void check_counts(Instruction& in) {
  const Form form = form_of(in);
  const bool has_place = std::all_of(in.results.begin(), in.results.end(), is_result);
  const auto given = static_cast<size_t>(
      std::count_if(in.operands.begin(), in.operands.end(),
                    [](const PtxOperand& operand) { return operand.kind != OperandKind::kNone; }));
  const bool lacks_address = needs_address(in.op) && in.address.kind == OperandKind::kNone;
  if (form.results.holds(in.results.size()) && form.operands.least <= given &&
      in.operands.size() <= form.operands.most && form.groups.holds(in.groups) && !lacks_address && has_place)
    return;
  in.reason = lacks_address ? "a form without an address"
              : !has_place  ? "a result that is not a register"
                            : "a form with " + std::to_string(in.results.size()) + " results and " +
                                 std::to_string(given) + " operands";
  in.op = Op::kUnsupported;
  in.results.clear();
  in.operands.clear();
  in.targets.clear();
}

}  // namespace glove::verify
