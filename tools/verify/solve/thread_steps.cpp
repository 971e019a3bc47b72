// What instructions make of a thread's registers, and the accesses that they make.
#include <algorithm>

#include "solve/thread_model.h"

namespace glove::verify {
namespace {

// Whether the opcode has none but modifiers whose meaning is in the decoded instruction.
bool is_plain(const Instruction& in) {
  for (const char* word : {".sat", ".cc", ".relu", ".x", ".ftz", ".clamp", ".wrap", ".mode", ".xorsign"})
    if (in.text.find(word) != std::string::npos) return false;
  return true;
}

bool has_integers(Type type) {
  return !is_float(type) && bits_of(type) >= 16 && bits_of(type) <= 64;
}

}  // namespace

Number ThreadModel::resized(const Number& value, unsigned bits, bool as_signed) const {
  if (formulas_.bits_of(value.bits) == bits) return value;
  return {formulas_.resized(value.bits, bits, as_signed), 0, nullptr, value.exact};
}

Number ThreadModel::special(Special name) const {
  const auto at = static_cast<size_t>(name);
  const auto& block = setup_.launch.block;
  if (at < 3) return {place_.thread[at], 0, nullptr, true};
  if (at < 6) return number(block[at - 3], 32);
  if (at < 9) return {place_.block[at - 6], 0, nullptr, true};
  if (at < 12) return {inputs_.grid[at - 9], 0, nullptr, true};
  const auto scaled = [&](Term a, uint32_t by) { return formulas_.multiply(a, formulas_.number(by, 32)); };
  const Term thread = formulas_.add(
      place_.thread[0],
      formulas_.add(scaled(place_.thread[1], block[0]), scaled(place_.thread[2], block[0] * block[1])));
  if (name == Special::kLaneId)
    return {formulas_.resized(formulas_.part(thread, 0, 5), 32, false), 0, nullptr, true};
  if (name == Special::kWarpId)
    return {formulas_.resized(formulas_.part(thread, 5, 27), 32, false), 0, nullptr, true};
  if (name == Special::kNwarpId) return number((setup_.threads + 31) / 32, 32);
  return unknown(Type::kB32);
}

// The operand as a number of the type; a predicate as a condition.
Number ThreadModel::read(const PtxOperand& operand, Type type) {
  const unsigned bits = type == Type::kPred ? 0 : verify::bits_of(type);
  Number value;
  switch (operand.kind) {
    case OperandKind::kRegister: {
      Number& held = registers_[operand.index];
      const Type of = setup_.kernel.registers[operand.index].type;
      if (held.bits == nullptr) held = unknown(of);
      value = held;
      if ((of == Type::kPred) != (bits == 0)) return unknown(type);
      if (bits == 0) {
        if (operand.negated) value.bits = formulas_.negation(value.bits);
        return value;
      }
      if (operand.immediate != 0)
        value = sum(value, number(operand.immediate, formulas_.bits_of(value.bits)), false);
      return resized(value, bits, is_signed(type));
    }
    case OperandKind::kImmediate:
      if (bits == 0) return {formulas_.truth((operand.immediate & 1) != (operand.negated ? 1u : 0u))};
      return number(operand.immediate, bits);
    case OperandKind::kSpecial:
      if (bits == 0) return unknown(type);
      return resized(special(operand.special), bits, false);
    case OperandKind::kVariable: {
      if (bits < 32) return unknown(type);
      const Variable& variable = setup_.kernel.variables[operand.index];
      if (variable.space == Space::kShared) return number(variable.offset + operand.immediate, bits);
      if (variable.space != Space::kGlobal || bits != 64) return unknown(type);
      value = unknown(type);
      return {value.bits, kVariables + operand.index, formulas_.number(operand.immediate, 64), false};
    }
    case OperandKind::kNone:
      break;
  }
  return unknown(operand.is_predicate ? Type::kPred : type);
}

void ThreadModel::write(const PtxOperand& result, Number value, Term under, bool as_signed) {
  if (result.kind != OperandKind::kRegister) return;
  const Type type = setup_.kernel.registers[result.index].type;
  Number& held = registers_[result.index];
  if (type != Type::kPred) value = resized(value, verify::bits_of(type), as_signed);
  // Behind a branch the block's condition is known to hold; a guard is not.
  if (under != condition_) {
    if (held.bits == nullptr) held = unknown(type);
    value = chosen(under, guard_exact_, value, held);
  }
  held = value;
}

void ThreadModel::write_unknown(const Instruction& in, Term under) {
  for (const PtxOperand& result : in.results)
    if (result.kind == OperandKind::kRegister)
      write(result, unknown(setup_.kernel.registers[result.index].type), under, false);
}

// A pointer plus a number points into the same object.
Number ThreadModel::sum(const Number& a, const Number& b, bool subtract) const {
  const auto combine = [&](Term x, Term y) {
    return subtract ? formulas_.subtract(x, y) : formulas_.add(x, y);
  };
  Number value = {combine(a.bits, b.bits), 0, nullptr, a.exact && b.exact};
  if (a.object != 0 && b.object != 0) {
    value.object = kMixed;
  } else if (a.object != 0 && a.offset != nullptr) {
    value.object = a.object;
    value.offset = combine(a.offset, b.bits);
  } else if (b.object != 0 && b.offset != nullptr && !subtract) {
    value.object = b.object;
    value.offset = combine(a.bits, b.offset);
  } else if (a.object != 0 || b.object != 0) {
    value.object = kMixed;
  }
  return value;
}

Number ThreadModel::product(const Instruction& in, const Number& a, const Number& b) const {
  const unsigned bits = verify::bits_of(in.type);
  const bool exact = a.exact && b.exact;
  if (in.part == MulPart::kLow) return {formulas_.multiply(a.bits, b.bits), 0, nullptr, exact};
  if (bits > 32) return unknown(in.type);
  const auto wide = [&](const Number& x) { return formulas_.resized(x.bits, 2 * bits, is_signed(in.type)); };
  const Term whole = formulas_.multiply(wide(a), wide(b));
  if (in.part == MulPart::kWide) return {whole, 0, nullptr, exact};
  return {formulas_.part(whole, bits, bits), 0, nullptr, exact};
}

// PTX does not say what a division by zero yields.
Number ThreadModel::quotient(const Instruction& in, const Number& a, const Number& b) const {
  const Z3_context z3 = formulas_.context();
  const bool as_signed = is_signed(in.type);
  const Term zero = formulas_.number(0, formulas_.bits_of(b.bits));
  const Term result = in.op == Op::kDiv
                          ? (as_signed ? Z3_mk_bvsdiv(z3, a.bits, b.bits) : Z3_mk_bvudiv(z3, a.bits, b.bits))
                          : (as_signed ? Z3_mk_bvsrem(z3, a.bits, b.bits) : Z3_mk_bvurem(z3, a.bits, b.bits));
  const bool never_zero = formulas_.known(b.bits).value_or(0) != 0;
  return {never_zero ? formulas_.simple(result)
                     : formulas_.choose(formulas_.equal(b.bits, zero), unknown(in.type).bits, result),
          0, nullptr, a.exact && b.exact && never_zero};
}

Number ThreadModel::shifted(const Instruction& in, const Number& a, const Number& by) const {
  const Z3_context z3 = formulas_.context();
  const unsigned bits = formulas_.bits_of(a.bits);
  // The number of places has 32 bits; in fewer, more than fit are as many as there are.
  Term places = by.bits;
  if (bits < 32)
    places = formulas_.choose(formulas_.below(places, formulas_.number(bits, 32), false),
                              formulas_.resized(places, bits, false), formulas_.number(bits, bits));
  else
    places = formulas_.resized(places, bits, false);
  const Term result = in.op == Op::kShl    ? Z3_mk_bvshl(z3, a.bits, places)
                      : is_signed(in.type) ? Z3_mk_bvashr(z3, a.bits, places)
                                           : Z3_mk_bvlshr(z3, a.bits, places);
  return {formulas_.simple(result), 0, nullptr, a.exact && by.exact};
}

Number ThreadModel::logic3(const std::array<Number, 4>& x) const {
  const Z3_context z3 = formulas_.context();
  const auto rows = formulas_.known(x[3].bits);
  if (!rows) return unknown(Type::kB32);
  Term result = formulas_.number(0, 32);
  for (unsigned row = 0; row < 8; ++row) {
    if ((*rows >> row & 1) == 0) continue;
    const auto side = [&](size_t i, unsigned bit) {
      return (row >> bit & 1) != 0 ? x[i].bits : Z3_mk_bvnot(z3, x[i].bits);
    };
    result = Z3_mk_bvor(z3, result, Z3_mk_bvand(z3, side(0, 2), Z3_mk_bvand(z3, side(1, 1), side(2, 0))));
  }
  return {formulas_.simple(result), 0, nullptr, x[0].exact && x[1].exact && x[2].exact};
}

// REQUIRES: has_integers(in.type), and the operands have so many bits.
Number ThreadModel::integer(const Instruction& in, const std::array<Number, 4>& x) const {
  const Z3_context z3 = formulas_.context();
  const Number &a = x[0], &b = x[1];
  const auto plain = [&](Term term) -> Number {
    return {formulas_.simple(term), 0, nullptr, a.exact && (b.bits == nullptr || b.exact)};
  };
  const auto lesser = [&](const Number& first, const Number& second) {
    return chosen(formulas_.below(first.bits, second.bits, is_signed(in.type)), true, a, b);
  };
  switch (in.op) {
    case Op::kAdd:
    case Op::kSub:
      return sum(a, b, in.op == Op::kSub);
    case Op::kMul:
      return product(in, a, b);
    case Op::kMad: {
      const Number whole = product(in, a, b);
      return sum(whole, resized(x[2], formulas_.bits_of(whole.bits), false), false);
    }
    case Op::kDiv:
    case Op::kRem:
      return quotient(in, a, b);
    case Op::kMin:
      return lesser(a, b);
    case Op::kMax:
      return lesser(b, a);
    case Op::kNeg:
      return plain(Z3_mk_bvneg(z3, a.bits));
    case Op::kAnd:
      return plain(Z3_mk_bvand(z3, a.bits, b.bits));
    case Op::kOr:
      return plain(Z3_mk_bvor(z3, a.bits, b.bits));
    case Op::kXor:
      return plain(Z3_mk_bvxor(z3, a.bits, b.bits));
    case Op::kNot:
      return plain(Z3_mk_bvnot(z3, a.bits));
    case Op::kShl:
    case Op::kShr:
      return shifted(in, a, b);
    case Op::kLogic3:
      return logic3(x);
    default:
      return unknown(in.type);
  }
}

void ThreadModel::step_arithmetic(const Instruction& in, Term active) {
  const bool wide = (in.op == Op::kMul || in.op == Op::kMad) && in.part == MulPart::kWide;
  if (in.results.size() != 1 || !has_integers(in.type) || !is_plain(in) || in.operands.size() > 4) {
    return write_unknown(in, active);
  }
  std::array<Number, 4> x{};
  for (size_t i = 0; i < in.operands.size(); ++i) {
    Type type = in.type;
    if (i == 1 && (in.op == Op::kShl || in.op == Op::kShr)) type = Type::kU32;
    if (i == 2 && wide) type = verify::bits_of(in.type) == 32 ? Type::kU64 : Type::kU32;
    x[i] = read(in.operands[i], type);
  }
  const bool two = in.op != Op::kNeg && in.op != Op::kNot;
  const bool enough = in.operands.size() >= (in.op == Op::kMad      ? 3u
                                             : in.op == Op::kLogic3 ? 4u
                                             : two                  ? 2u
                                                                    : 1u);
  write(in.results[0], enough ? integer(in, x) : unknown(in.type), active, is_signed(in.type));
}

void ThreadModel::step_comparison(const Instruction& in, Term active) {
  const bool known =
      has_integers(in.from) && in.operands.size() >= 2 && in.comparison.kind < Compare::kNumber;
  Number result = unknown(Type::kPred);
  if (known) {
    const Number a = read(in.operands[0], in.from), b = read(in.operands[1], in.from);
    const Compare kind = in.comparison.kind;
    const bool swapped = kind == Compare::kGt || kind == Compare::kLe;
    const Term left = swapped ? b.bits : a.bits, right = swapped ? a.bits : b.bits;
    result.exact = a.exact && b.exact;
    result.bits = kind == Compare::kEq || kind == Compare::kNe
                      ? formulas_.equal(left, right)
                      : formulas_.below(left, right, is_signed(in.from));
    if (kind == Compare::kNe || kind == Compare::kLe || kind == Compare::kGe)
      result.bits = formulas_.negation(result.bits);
  }
  Number other = {formulas_.negation(result.bits), 0, nullptr, result.exact};
  if (in.comparison.combine != 0 && in.operands.size() > 2) {
    const Number with = read(in.operands[2], Type::kPred);
    for (Number* value : {&result, &other}) {
      value->exact = value->exact && with.exact;
      value->bits = in.comparison.combine == '&' ? formulas_.both(value->bits, with.bits)
                    : in.comparison.combine == '|'
                        ? formulas_.either(value->bits, with.bits)
                        : formulas_.negation(formulas_.equal(value->bits, with.bits));
    }
  }
  if (in.results.size() > 1) write(in.results[1], other, active, false);
  if (!in.results.empty()) write(in.results[0], result, active, false);
}

// Moves, selections, conversions and logic of predicates.
void ThreadModel::step_move(const Instruction& in, Term active) {
  Number value;
  const bool one = in.results.size() == 1;
  if (in.op == Op::kMove && one && in.operands.size() == 1 && verify::bits_of(in.type) <= 64) {
    value = read(in.operands[0], in.type);
  } else if (in.op == Op::kSelect && one && in.operands.size() == 3) {
    const Number condition = read(in.operands[2], Type::kPred);
    value =
        chosen(condition.bits, condition.exact, read(in.operands[0], in.type), read(in.operands[1], in.type));
  } else if (in.op == Op::kConvert && one && has_integers(in.from) && !is_float(in.type) && is_plain(in)) {
    const Number from = read(in.operands[0], in.from);
    const unsigned bits = std::max(8u, verify::bits_of(in.type));
    value = bits == formulas_.bits_of(from.bits) ? from : resized(from, bits, is_signed(in.from));
  } else if (in.type == Type::kPred && one && (in.op == Op::kNot || in.operands.size() == 2)) {
    const Number a = read(in.operands[0], Type::kPred);
    const Number b = in.op == Op::kNot ? a : read(in.operands[1], Type::kPred);
    value.exact = a.exact && b.exact;
    value.bits = in.op == Op::kNot   ? formulas_.negation(a.bits)
                 : in.op == Op::kAnd ? formulas_.both(a.bits, b.bits)
                 : in.op == Op::kOr  ? formulas_.either(a.bits, b.bits)
                                     : formulas_.negation(formulas_.equal(a.bits, b.bits));
  } else {
    return write_unknown(in, active);
  }
  // A result in a wider register is extended with its sign if it has one.
  write(in.results[0], value, active, is_signed(in.type));
}

void ThreadModel::step(const Instruction& in, Term active, bool exact) {
  // They order, or pass on, what is not followed.
  constexpr OpSet kMeet = {Op::kWarpBarrier, Op::kShuffle, Op::kVote,       Op::kMatch, Op::kReduce,
                           Op::kElect,       Op::kMatrix,  Op::kActiveMask, Op::kFence};
  constexpr OpSet kRefused = {Op::kBranchIndexed, Op::kMatrixLoad, Op::kMatrixStore, Op::kCopy,
                              Op::kCopyCommit,    Op::kCopyWait,   Op::kWgmmaFence,  Op::kWgmma,
                              Op::kWgmmaCommit,   Op::kWgmmaWait,  Op::kUnsupported};
  constexpr OpSet kOpaque = {Op::kNothing, Op::kProxyFence, Op::kPure, Op::kIsSpace, Op::kSet};
  if (kRefused.has(in.op) || kOfMbarriers.has(in.op)) return refuse("'" + in.text + "' is not modelled");
  switch (in.op) {
    case Op::kLoad:
    case Op::kStore:
    case Op::kAtomic:
      return step_memory(in, active, exact);
    case Op::kSetPredicate:
      return step_comparison(in, active);
    case Op::kMove:
    case Op::kSelect:
    case Op::kConvert:
      return step_move(in, active);
    case Op::kConvertAddress:
      return step_address(in, active);
    default:
      break;
  }
  if (in.op == Op::kBarrier) step_barrier(in, in.guard.has_value());
  warps_meet_ |= kMeet.has(in.op);
  if (kMeet.has(in.op) || kOpaque.has(in.op) || in.op == Op::kBarrier) return write_unknown(in, active);
  return in.type == Type::kPred ? step_move(in, active) : step_arithmetic(in, active);
}

}  // namespace glove::verify
