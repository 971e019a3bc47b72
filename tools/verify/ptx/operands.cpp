#include "ptx/operands.h"

#include <algorithm>
#include <string>

namespace glove::verify {
namespace {

// A move may pack several registers, in braces, into one, or unpack one into several.
OperandForm form_of(const Instruction& in) {
  OperandForm form = in.form;
  if (in.op != Op::kMove) return form;
  if (in.type == Type::kPred) {
    form.results = form.operands = 1;
  } else if (in.results.size() > 1) {
    form.operands = 1;
  } else {
    form.groups = 1;
  }
  return form;
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
  const OperandForm form = form_of(in);
  const bool has_place = std::all_of(in.results.begin(), in.results.end(), is_result);
  const auto given = static_cast<size_t>(
      std::count_if(in.operands.begin(), in.operands.end(),
                    [](const PtxOperand& operand) { return operand.kind != OperandKind::kNone; }));
  const bool enough = static_cast<size_t>(form.operands.least) <= given &&
                      in.operands.size() <= static_cast<size_t>(form.operands.most);
  const bool lacks_address = needs_address(in.op) && in.address.kind == OperandKind::kNone;
  if (form.results.holds(in.results.size()) && enough && form.groups.holds(in.groups) && !lacks_address &&
      has_place)
    return;
  in.reason = lacks_address ? "a form without an address"
              : !has_place  ? "a result that is not a register"
                            : "a form with " + std::to_string(in.results.size()) + " results and " +
                                 std::to_string(given) + " operands";
  in.op = Op::kUnsupported;
  in.form = {};
  in.results.clear();
  in.operands.clear();
  in.targets.clear();
}

bool has_right_classes(const Instruction& in, std::span<const Register> registers) {
  const auto is = [&](const PtxOperand& operand, bool predicate) {
    if (operand.kind == OperandKind::kNone) return true;
    if (operand.kind != OperandKind::kRegister) return !predicate || operand.kind == OperandKind::kImmediate;
    return (registers[operand.index].type == Type::kPred) == predicate;
  };
  // Whether the first `count` are predicates, if `first`, or numbers, and the others the reverse.
  const auto are = [&](const std::vector<PtxOperand>& operands, bool first, size_t count = SIZE_MAX) {
    size_t place = 0;
    return std::all_of(operands.begin(), operands.end(),
                       [&](const PtxOperand& operand) { return is(operand, (place++ < count) == first); });
  };
  if (in.has_guard && (in.guard.kind != OperandKind::kRegister || !is(in.guard, true))) return false;
  if (!is(in.address, false) || !is(in.source, false)) return false;
  const bool of_predicates = in.type == Type::kPred;
  switch (in.form.classes) {
    case OperandClasses::kEither:
      return true;
    case OperandClasses::kOfType:
      return are(in.results, of_predicates) && are(in.operands, of_predicates);
    case OperandClasses::kCompares:
      return are(in.results, true) && are(in.operands, false, 2);
    case OperandClasses::kTests:
      return are(in.results, true) && are(in.operands, false);
    case OperandClasses::kSelects:
      return are(in.results, false) && are(in.operands, false, 2);
    case OperandClasses::kVotes:
      return are(in.operands, true, 1);
    case OperandClasses::kShuffles:
      return are(in.results, false, 1) && are(in.operands, false);
  }
  return true;
}

}  // namespace glove::verify
