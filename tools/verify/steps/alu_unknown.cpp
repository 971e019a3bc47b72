// Arithmetic on unknowns: linear forms where possible, otherwise a symbol for the operation itself.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "steps/steps.h"

namespace glove::verify {
namespace {

constexpr uint64_t kNan = 0x7fffffff;  // the one that operations on floats of 32 bits return

uint32_t detail_of(const Instruction& in) {
  return static_cast<uint32_t>(in.part) | (in.wide ? 8u : 0u);
}

Value as_operation(const Instruction& in, const Value* x, size_t count, unsigned bits, SymbolTable& table) {
  Value arguments[3];
  for (size_t i = 0; i < count && i < 3; ++i) arguments[i] = x[i];
  if (count > 3) {  // bfi, lop3: the fourth goes into the first
    arguments[0] = table.operation(in.op, Type::kNone, 99, 64, {x[0], x[3]});
  }
  return table.operation(in.op, in.type, detail_of(in), bits, arguments);
}

// What an ordered comparison of floats is, and the opposite of the one whose negation is unordered.
constexpr CompareKind kOrdered[] = {CompareKind::kEq,     CompareKind::kNe,    CompareKind::kLt,
                                    CompareKind::kLe,     CompareKind::kGt,    CompareKind::kGe,
                                    CompareKind::kNumber, CompareKind::kNumber};
constexpr CompareKind kOpposite[] = {CompareKind::kNe,     CompareKind::kEq,    CompareKind::kGe,
                                     CompareKind::kGt,     CompareKind::kLe,    CompareKind::kLt,
                                     CompareKind::kNumber, CompareKind::kNumber};

// a < b or a <= b. Against a number: always `unknown < number` or its negation, so that the same test has one
// name.
Value less(const Instruction& in, Value a, Value b, bool or_equal, SymbolTable& table) {
  const unsigned bits = bits_of(in.from);
  const bool as_signed = is_signed(in.from);
  const uint64_t top = as_signed ? (uint64_t{1} << (bits - 1)) - 1 : mask_bits(~uint64_t{0}, bits);
  const auto below = [&](Value left, Value right) {
    return table.compare(CompareKind::kLt, false, as_signed, bits, left, right);
  };
  if (b.known()) {
    if (!or_equal) return below(a, b);
    if (b.constant == top) return SymbolTable::number(1);
    return below(a, {mask_bits(b.constant + 1, bits), 0});
  }
  if (or_equal) return SymbolTable::logical_not(below(b, a));
  if (!a.known()) return below(a, b);
  if (a.constant == top) return SymbolTable::number(0);
  return SymbolTable::logical_not(below(b, {mask_bits(a.constant + 1, bits), 0}));
}

// Whether the value is known, and NaN.
bool is_nan(Value value, Type type) {
  return value.known() &&
         ((type == Type::kF32 && std::isnan(std::bit_cast<float>(static_cast<uint32_t>(value.constant)))) ||
          (type == Type::kF64 && std::isnan(std::bit_cast<double>(value.constant))));
}

Value compare(const Instruction& in, Value a, Value b, SymbolTable& table) {
  const unsigned bits = bits_of(in.from);
  if (in.from == Type::kPred || bits == 0) return table.fresh_predicate(Scope::kThread, false);
  if (is_float(in.from)) {
    if (is_nan(a, in.from) || is_nan(b, in.from))
      return SymbolTable::number(in.comparison.unordered || in.comparison.kind == Compare::kNan ? 1 : 0);
    const auto& kinds = in.comparison.unordered ? kOpposite : kOrdered;
    const Value ordered = table.compare(kinds[static_cast<size_t>(in.comparison.kind)], true,
                                        !in.comparison.flushes, bits, a, b);
    const bool negate = in.comparison.unordered || in.comparison.kind == Compare::kNan;
    return negate ? SymbolTable::logical_not(ordered) : ordered;
  }
  const Compare kind = in.comparison.kind;
  if (kind == Compare::kLt || kind == Compare::kLe) return less(in, a, b, kind == Compare::kLe, table);
  if (kind == Compare::kGt || kind == Compare::kGe) return less(in, b, a, kind == Compare::kGe, table);
  if (a.known() || (!b.known() && b.form < a.form)) std::swap(a, b);
  // x == 5 and -x == -5 are one predicate.
  if (b.known() && !a.known() && table.terms(a.form)[0].factor < 0)
    a = table.scale(a, -1, bits), b = table.scale(b, -1, bits);
  const Value equal = table.compare(CompareKind::kEq, false, is_signed(in.from), bits, a, b);
  return kind == Compare::kNe ? SymbolTable::logical_not(equal) : equal;
}

Value convert(const Instruction& in, const Value* x, SymbolTable& table) {
  const unsigned to = bits_of(in.type), from = bits_of(in.from);
  if (!is_float(in.type) && !is_float(in.from)) {
    if (to > from) {
      if (from >= 32)
        return is_signed(in.from) ? table.sign_extended(x[0], from) : table.zero_extended(x[0], from);
      // A register of 16 bits may hold a form that was not reduced to 16 bits.
      return table.operation(Op::kConvert, is_signed(in.from) ? Type::kS64 : Type::kU64, from, to, {x[0]});
    }
    if (to < from && to >= 32) return table.truncated(x[0], from, to);
    const Interval small = {0, (Wide{1} << (to - 1)) - 1};
    if (to < from && !small.contains(table.base_range(x[0], from, false)))
      return as_operation(in, x, 1, to, table);
    return x[0];
  }
  const Value arguments[3] = {x[0]};
  if (is_float(in.from) && in.type == Type::kS32 && in.wide && from >= 32)
    return table.operation(Op::kConvert, Type::kS32, 100 + from, 32, arguments);
  if (in.from == Type::kS32 && (in.type == Type::kF32 || in.type == Type::kF64))
    return table.operation(Op::kConvert, in.type, 32, to, arguments);
  return table.operation(Op::kConvert, in.type, 200u + static_cast<uint32_t>(in.from), to,
                         {x[0], {from, 0}, {1, 0}});
}

Value multiply(const Instruction& in, const Value* x, SymbolTable& table) {
  const unsigned bits = bits_of(in.type);
  Value a = x[0], b = x[1];
  if (in.part == MulPart::kHigh) {
    return table.operation(Op::kMul, in.type, 1, bits, {a, b});
  }
  unsigned wide = bits;
  if (in.part == MulPart::kWide) {
    wide = 2 * bits;
    const auto narrow = [&](const Value& value) {  // a number that nothing can make wrap
      return !is_signed(in.type) && Interval::of_unsigned(bits).contains(table.exact_base_range(value, bits));
    };
    if (bits < 32 && !(narrow(a) && narrow(b))) {
      return table.operation(Op::kMul, in.type, 2, wide, {a, b});
    }
    a = is_signed(in.type) ? table.sign_extended(a, bits) : table.zero_extended(a, bits);
    b = is_signed(in.type) ? table.sign_extended(b, bits) : table.zero_extended(b, bits);
  }
  if (a.known()) std::swap(a, b);
  if (b.known()) return table.scale(a, sign_extend(b.constant, wide), wide);
  // (constant + form) times an unknown: the constant's share stays linear.
  if (table.scope_of(a) == Scope::kGrid || table.scope_of(b) == Scope::kGrid) {
    for (const auto& [sum, factor] : {std::pair(a, b), std::pair(b, a)}) {
      if (table.terms(factor.form).size() != 1 || factor.constant != 0 || sum.constant == 0) continue;
      const Value product = table.operation(Op::kMul, Type::kNone, 0, wide,
                                            {{0, std::min(a.form, b.form)}, {0, std::max(a.form, b.form)}});
      return table.add(product, table.scale(factor, sign_extend(sum.constant, wide), wide), wide);
    }
  }
  if (b.form < a.form) std::swap(a, b);
  return table.operation(Op::kMul, Type::kNone, 0, wide, {a, b});
}

// How many of the lowest bits are zero whatever the symbols are.
unsigned low_zeros(Value value, const SymbolTable& table) {
  uint64_t bits = value.constant;
  for (const LinearTerm& term : table.terms(value.form)) {
    const Symbol& symbol = table.symbol(term.symbol);
    bits |= static_cast<uint64_t>(term.factor) * (symbol.residue == 0 ? symbol.stride : 1);
  }
  return static_cast<unsigned>(std::countr_zero(bits));
}

// Whether the bits of the two that may be set have none in common.
bool bits_apart(Value a, Value b, unsigned bits, SymbolTable& table, const Reasoner& reasoner) {
  const auto below = [&](Value small, Value large) {
    const unsigned zeros = low_zeros(large, table);
    if (zeros == 0) return false;
    const Interval range = reasoner.range(small, bits, false);
    return zeros >= bits || (range.lo >= 0 && range.hi < Wide{1} << zeros);
  };
  return below(a, b) || below(b, a);
}

// The value is 0 or `number`: a bit times it, such as the offset of one of two buffers.
bool is_zero_or(Value value, uint64_t number, const SymbolTable& table) {
  const LinearTerms sum = table.terms(value.form);
  if (sum.size() != 1) return false;
  const bool counts_up = value.constant == 0 && sum[0].factor == static_cast<int64_t>(number);
  const bool counts_down = value.constant == number && sum[0].factor == static_cast<int64_t>(0 - number);
  return (counts_up || counts_down) && Interval{0, 1}.contains(table.symbol(sum[0].symbol).unsigned_range) &&
         Interval{0, 1}.contains(table.symbol(sum[0].symbol).range);
}

// Bit `place` of a value whose unknown part is a multiple of 2^place, so that nothing carries into the bit
// from below: the parity of that part, the same symbol whichever multiple of two is added to it. nullopt: it
// has another shape.
std::optional<Value> parity_bit(Value value, unsigned place, unsigned bits, SymbolTable& table) {
  std::vector<LinearTerm> odd;
  for (const LinearTerm& term : table.terms(value.form)) {
    const auto factor = static_cast<uint64_t>(term.factor);
    if (static_cast<unsigned>(std::countr_zero(factor)) < place) return std::nullopt;
    if (has(factor, place)) odd.push_back({term.symbol, 1});
  }
  const uint64_t rest = value.constant >> place & 1;
  if (odd.empty()) return Value{rest << place, 0};
  const Value parity = table.operation(Op::kAnd, Type::kB32, 0, 32, {{0, table.form_of(odd)}, {1, 0}});
  const Value bit = rest == 0 ? parity : table.subtract({1, 0}, parity, bits);
  return table.scale(bit, sign_extend(uint64_t{1} << place, bits), bits);
}

Value logic(const Instruction& in, const Value* x, SymbolTable& table, const Reasoner& reasoner) {
  const unsigned bits = bits_of(in.type);
  Value a = x[0], b = x[1];
  if (in.type == Type::kPred) {
    return in.op == Op::kAnd  ? table.logical_and(a, b)
           : in.op == Op::kOr ? table.logical_or(a, b)
                              : table.logical_xor(a, b);
  }
  if (a.known()) std::swap(a, b);
  if (b.known()) {
    const uint64_t mask = mask_bits(b.constant, bits);
    if (in.op == Op::kAnd && mask == 0) return {0, 0};
    if (in.op == Op::kAnd && mask == mask_bits(~uint64_t{0}, bits)) return a;
    if (in.op == Op::kAnd && bits == 32)
      if (const auto votes = table.masked_votes(a, mask)) return *votes;
    if (in.op == Op::kAnd && std::has_single_bit(mask + 1)) {  // a low mask that keeps all of a small number
      const Interval range = reasoner.range(a, bits, false);
      if (range.lo >= 0 && range.hi <= static_cast<Wide>(mask)) return a;
    }
    if (in.op == Op::kAnd && std::has_single_bit(mask) && bits >= 32) {
      const auto bit = parity_bit(a, static_cast<unsigned>(std::countr_zero(mask)), bits, table);
      if (bit) return *bit;
    }
    // A pointer that is rounded down stays one.
    if (in.op == Op::kAnd && bits == 64 && std::has_single_bit(~mask + 1))
      return table.subtract(a, table.operation(in.op, in.type, 0, bits, {a, {~mask, 0}}), bits);
    if (in.op != Op::kAnd && mask == 0) return a;
    if (in.op == Op::kXor && (mask == mask_bits(~uint64_t{0}, bits) || is_zero_or(a, mask, table)))
      return table.subtract({mask, 0}, a, bits);
  } else if (a == b) {
    return in.op == Op::kXor ? Value{0, 0} : a;
  } else if (b.form < a.form) {
    std::swap(a, b);
  }
  if (in.op != Op::kAnd && bits_apart(a, b, bits, table, reasoner)) return table.add(a, b, bits);
  return table.operation(in.op, in.type, 0, bits, {a, b});
}

Value select(const Value* x, unsigned bits, Type type, SymbolTable& table, const Reasoner& reasoner) {
  if (x[0] == x[1]) return x[0];
  if (const auto known = reasoner.truth(x[2])) return x[*known ? 0 : 1];
  return table.select(x[2].form, x[0], x[1], type, bits);
}

Value remainder_or_quotient(const Instruction& in, const Value* x, unsigned bits, SymbolTable& table,
                            const Reasoner& reasoner) {
  if (in.op == Op::kRem && x[1].known()) {
    const Interval range = reasoner.range(x[0], bits, is_signed(in.type));
    if (range.lo >= 0 && range.hi < Wide{sign_extend(x[1].constant, bits)}) return x[0];
  }
  return as_operation(in, x, 2, bits, table);
}

std::optional<Value> insert_bits(const Value* x, unsigned bits, SymbolTable& table,
                                 const Reasoner& reasoner) {
  if (!x[2].known() || !x[3].known() || x[2].constant >= bits) return std::nullopt;
  // Bits of b outside the field, and the low bits of a inside it.
  const Interval base = reasoner.range(x[1], bits, false);
  const bool fits = base.lo >= 0 && base.hi < (Wide{1} << x[2].constant);
  if (x[2].constant + x[3].constant >= bits && (x[1].known() || fits)) {
    const Value low =
        x[1].known() ? Value{mask_bits(x[1].constant, static_cast<unsigned>(x[2].constant)), 0} : x[1];
    return table.add(table.scale(x[0], sign_extend(uint64_t{1} << x[2].constant, 64), bits), low, bits);
  }
  // Zeros above a number that does not come so far.
  if (x[0] == Value{0, 0} && fits) return x[1];
  return std::nullopt;
}

// Sums, products and what else may stay a linear form.
Value evaluate_integer(const Instruction& in, const Value* x, size_t count, SymbolTable& table,
                       const Reasoner& reasoner) {
  const unsigned bits = bits_of(in.type);
  switch (in.op) {
    case Op::kAdd:
      return table.add(x[0], x[1], bits);
    case Op::kSub:
      return table.subtract(x[0], x[1], bits);
    case Op::kMul:
      return multiply(in, x, table);
    case Op::kMad: {
      const unsigned wide = in.part == MulPart::kWide ? 2 * bits : bits;
      return table.add(multiply(in, x, table), x[2], wide);
    }
    case Op::kNeg:
      return table.scale(x[0], -1, bits);
    case Op::kShl:
      if (x[1].known()) {
        const uint64_t by = mask_bits(x[1].constant, 32);
        return by >= bits ? Value{0, 0} : table.scale(x[0], sign_extend(uint64_t{1} << by, 64), bits);
      }
      break;
    case Op::kShr:
      if (x[1].known() && x[1].constant == bits - 1 && bits == 32 && !is_signed(in.type)) {
        const Value negative = table.compare(CompareKind::kLt, false, true, bits, x[0], {0, 0});
        return select(std::array{Value{1, 0}, Value{0, 0}, negative}.data(), bits, in.type, table, reasoner);
      }
      break;
    case Op::kDiv:
    case Op::kRem:
      return remainder_or_quotient(in, x, bits, table, reasoner);
    case Op::kMin:
    case Op::kMax: {
      const Interval a = reasoner.range(x[0], bits, is_signed(in.type)),
                     b = reasoner.range(x[1], bits, is_signed(in.type));
      if (a.hi <= b.lo) return x[in.op == Op::kMin ? 0 : 1];
      if (b.hi <= a.lo) return x[in.op == Op::kMin ? 1 : 0];
      break;
    }
    case Op::kBitInsert:
      if (const auto inserted = insert_bits(x, bits, table, reasoner)) return *inserted;
      break;
    case Op::kPopCount:
      if (const auto votes = table.popcount_of_votes(x[0]); votes && bits == 32) return *votes;
      return as_operation(in, x, count, 32, table);
    case Op::kCountLeadingZeros:
    case Op::kFindBit:
      return as_operation(in, x, count, 32, table);
    default:
      break;
  }
  return as_operation(in, x, count, std::max(bits, 16u), table);
}

}  // namespace

Value evaluate(const Instruction& in, const Value* x, size_t count, SymbolTable& table,
               const Reasoner& reasoner) {
  const unsigned bits = bits_of(in.type);
  switch (in.op) {
    case Op::kSetPredicate:
      return compare(in, x[0], x[1], table);
    case Op::kMove:
      return x[0];
    case Op::kSelect:
      return select(x, bits, in.type, table, reasoner);
    case Op::kConvert:
      return convert(in, x, table);
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      return logic(in, x, table, reasoner);
    case Op::kNot:
      if (in.type == Type::kPred) return SymbolTable::logical_not(x[0]);
      return table.subtract({mask_bits(~uint64_t{0}, bits), 0}, x[0], bits);
    default:
      break;
  }
  if (is_float(in.type)) {
    const auto nan = [&](Value value) { return is_nan(value, in.type); };
    if (kSums.has(in.op) && in.type == Type::kF32 && std::any_of(x, x + count, nan)) return {kNan, 0};
    return as_operation(in, x, count, std::max(bits, 16u), table);
  }
  return evaluate_integer(in, x, count, table, reasoner);
}

}  // namespace glove::verify
