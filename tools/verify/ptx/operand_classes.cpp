#include "ptx/operand_classes.h"

#include <algorithm>

namespace glove::verify {
namespace {

enum class Class : uint8_t { kNumber, kPredicate, kAny };

class Checker {
 public:
  explicit Checker(std::span<const Register> registers) : registers_(registers) {}

  bool is(const PtxOperand& operand, Class wanted) const {
    if (wanted == Class::kAny || operand.kind == OperandKind::kNone) return true;
    if (operand.kind != OperandKind::kRegister)
      return wanted == Class::kNumber || operand.kind == OperandKind::kImmediate;
    return (registers_[operand.index].type == Type::kPred) == (wanted == Class::kPredicate);
  }

  // True if the first `count` operands have one class and the others another.
  bool are(const std::vector<PtxOperand>& operands, size_t count, Class first, Class others) const {
    size_t place = 0;
    return std::all_of(operands.begin(), operands.end(), [&](const PtxOperand& operand) {
      return is(operand, place++ < count ? first : others);
    });
  }

 private:
  std::span<const Register> registers_;
};

// Barriers and the like name their result's class in a modifier, and their operands are only read as numbers.
bool may_have_either(const Instruction& in) {
  return in.op == Op::kPure || in.op == Op::kBarrier || in.op == Op::kMatch || in.op == Op::kElect ||
         in.op == Op::kNothing || in.op == Op::kWgmma ||  // its last operands are a predicate and constants
         in.op == Op::kCopy;                              // what is copied may depend on a predicate
}

}  // namespace

bool has_right_classes(const Instruction& in, std::span<const Register> registers) {
  const Checker checker(registers);
  if (in.has_guard && (in.guard.kind != OperandKind::kRegister || !checker.is(in.guard, Class::kPredicate)))
    return false;
  if (!checker.is(in.address, Class::kNumber) || !checker.is(in.source, Class::kNumber)) return false;
  switch (in.op) {
    case Op::kUnsupported:
      return true;
    case Op::kSetPredicate:
      return checker.are(in.results, 0, Class::kAny, Class::kPredicate) &&
             checker.are(in.operands, 2, Class::kNumber, Class::kPredicate);
    case Op::kIsSpace:
      return checker.are(in.results, 0, Class::kAny, Class::kPredicate) &&
             checker.are(in.operands, 0, Class::kAny, Class::kNumber);
    case Op::kSelect:
    case Op::kSet:
      return checker.are(in.results, 0, Class::kAny, Class::kNumber) &&
             checker.are(in.operands, 2, Class::kNumber, Class::kPredicate);
    case Op::kVote:
      return checker.are(in.operands, 1, Class::kPredicate, Class::kNumber);
    case Op::kShuffle:
      return checker.are(in.results, 1, Class::kNumber, Class::kPredicate) &&
             checker.are(in.operands, 0, Class::kAny, Class::kNumber);
    default:
      break;
  }
  if (may_have_either(in)) return true;
  const Class wanted = in.type == Type::kPred ? Class::kPredicate : Class::kNumber;
  return checker.are(in.results, 0, Class::kAny, wanted) && checker.are(in.operands, 0, Class::kAny, wanted);
}

}  // namespace glove::verify
