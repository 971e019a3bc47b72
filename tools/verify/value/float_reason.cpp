// Ranges of floats: just enough to bound an index that is computed from one.
#include <bit>
#include <cmath>
#include <limits>

#include "value/reason.h"

namespace glove::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr FloatRange kAnything = {-kInfinity, kInfinity, true};

double decode_float(uint64_t bits, unsigned size) {
  return size == 32 ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))
                    : std::bit_cast<double>(bits);
}

// Rounding is monotone, so that a bound which is a float itself stays; others move outwards by a step.
FloatRange rounded(double lo, double hi, bool nan, unsigned bits) {
  if (std::isnan(lo) || std::isnan(hi)) return kAnything;
  if (bits == 32) {
    const float low = static_cast<float>(lo), high = static_cast<float>(hi);
    if (static_cast<double>(low) != lo) lo = std::nextafter(low, -std::numeric_limits<float>::infinity());
    if (static_cast<double>(high) != hi) hi = std::nextafter(high, std::numeric_limits<float>::infinity());
    return {lo, hi, nan};
  }
  const bool exact_lo = lo == 0 || std::isinf(lo), exact_hi = hi == 0 || std::isinf(hi);
  return {exact_lo ? lo : std::nextafter(lo, -kInfinity), exact_hi ? hi : std::nextafter(hi, kInfinity), nan};
}

FloatRange product(const FloatRange& a, const FloatRange& b, unsigned bits) {
  double lo = kInfinity, hi = -kInfinity;
  bool nan = a.maybe_nan || b.maybe_nan;
  const auto infinite = [](const FloatRange& r) { return std::isinf(r.lo) || std::isinf(r.hi); };
  const auto has_zero = [](const FloatRange& r) { return r.lo <= 0 && r.hi >= 0; };
  if ((infinite(a) && has_zero(b)) || (infinite(b) && has_zero(a))) nan = true;
  for (const double x : {a.lo, a.hi})
    for (const double y : {b.lo, b.hi}) {
      const double value = x == 0 || y == 0 ? 0 : x * y;
      lo = std::min(lo, value);
      hi = std::max(hi, value);
    }
  return rounded(lo, hi, nan, bits);
}

FloatRange sum(const FloatRange& a, const FloatRange& b, unsigned bits) {
  const bool nan = a.maybe_nan || b.maybe_nan || (a.hi == kInfinity && b.lo == -kInfinity) ||
                   (a.lo == -kInfinity && b.hi == kInfinity);
  const double lo = a.lo == -kInfinity || b.lo == -kInfinity ? -kInfinity : a.lo + b.lo;
  const double hi = a.hi == kInfinity || b.hi == kInfinity ? kInfinity : a.hi + b.hi;
  return rounded(lo, hi, nan, bits);
}

FloatRange negated(const FloatRange& a) {
  return {-a.hi, -a.lo, a.maybe_nan};
}

}  // namespace

FloatRange Reasoner::float_range(Value value, unsigned bits, int depth) const {
  if (bits != 32 && bits != 64) return kAnything;
  if (value.form == 0) {
    const double number = decode_float(value.constant, bits);
    return std::isnan(number) ? kAnything : FloatRange{number, number, false};
  }
  const LinearTerms terms = table_.terms(value.form);
  if (value.constant != 0 || terms.size() != 1 || terms[0].factor != 1) return kAnything;
  const Symbol& symbol = table_.symbol(terms[0].symbol);
  FloatRange known = kAnything;
  if (symbol.kind == SymbolKind::kOperation && depth <= kDepth) known = float_operation(symbol, depth + 1);
  any_fact([&](PredicateId fact) {
    const Predicate& predicate = table_.predicate(fact);
    if (predicate.kind != PredicateKind::kCompare || !predicate.is_float || (fact & 1) != 0) return false;
    const bool left = predicate.a == value, right = predicate.b == value;
    if (left == right) return false;
    const Value other = left ? predicate.b : predicate.a;
    if (other.form != 0) return false;
    const double limit = decode_float(other.constant, bits);
    known.maybe_nan = false;  // an ordered comparison held
    const CompareKind kind = predicate.compare;
    const bool below = kind == CompareKind::kLt || kind == CompareKind::kLe;
    const bool above = kind == CompareKind::kGt || kind == CompareKind::kGe;
    if ((below && left) || (above && right) || kind == CompareKind::kEq) known.hi = std::min(known.hi, limit);
    if ((above && left) || (below && right) || kind == CompareKind::kEq) known.lo = std::max(known.lo, limit);
    return false;
  });
  // A negated ordered comparison bounds a number that is known not to be NaN.
  if (!known.maybe_nan)
    any_fact([&](PredicateId fact) {
      const Predicate& predicate = table_.predicate(fact);
      if (predicate.kind != PredicateKind::kCompare || !predicate.is_float || (fact & 1) == 0) return false;
      if (!(predicate.a == value) || predicate.b.form != 0) return false;
      const double limit = decode_float(predicate.b.constant, bits);
      if (predicate.compare == CompareKind::kLt || predicate.compare == CompareKind::kLe)
        known.lo = std::max(known.lo, limit);
      if (predicate.compare == CompareKind::kGt || predicate.compare == CompareKind::kGe)
        known.hi = std::min(known.hi, limit);
      return false;
    });
  return known;
}

FloatRange Reasoner::float_operation(const Symbol& symbol, int depth) const {
  if (!is_float(symbol.type)) return kAnything;
  const auto argument = [&](int i) { return float_range(symbol.arguments[i], symbol.bits, depth); };
  switch (symbol.op) {
    case Op::kAdd:
      return sum(argument(0), argument(1), symbol.bits);
    case Op::kSub:
      return sum(argument(0), negated(argument(1)), symbol.bits);
    case Op::kMul:
      return product(argument(0), argument(1), symbol.bits);
    case Op::kFma: {
      // The product is not rounded; widening it by the rounding of the sum's precision is on the safe side.
      return sum(product(argument(0), argument(1), symbol.bits), argument(2), symbol.bits);
    }
    case Op::kNeg:
      return negated(argument(0));
    case Op::kAbs: {
      const FloatRange a = argument(0);
      const double hi = std::max(std::fabs(a.lo), std::fabs(a.hi));
      return {a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0.0, hi, a.maybe_nan};
    }
    case Op::kMin:
    case Op::kMax: {
      const FloatRange a = argument(0), b = argument(1);
      if (a.maybe_nan || b.maybe_nan) return kAnything;
      return symbol.op == Op::kMin ? FloatRange{std::min(a.lo, b.lo), std::min(a.hi, b.hi), false}
                                   : FloatRange{std::max(a.lo, b.lo), std::max(a.hi, b.hi), false};
    }
    case Op::kConvert: {
      if (symbol.detail != 32) return kAnything;  // of a signed 32-bit integer
      const Interval from = range(symbol.arguments[0], 32, true, depth);
      return rounded(static_cast<double>(from.lo), static_cast<double>(from.hi), false, symbol.bits);
    }
    default:
      return kAnything;
  }
}

}  // namespace glove::verify
