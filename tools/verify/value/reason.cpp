#include "value/reason.h"

#include <algorithm>

#include "value/symbols.h"

namespace glove::verify {
namespace {

// The numbers x with factor * x + constant in `sum`.
Interval solve(Interval product, Wide factor) {
  if (factor < 0) return solve(product.negated(), -factor);
  const auto low = [&](Wide bound) {
    return bound <= -kWideLimit / 2 ? -kWideLimit : ceil_divide(bound, factor);
  };
  const auto high = [&](Wide bound) {
    return bound >= kWideLimit / 2 ? kWideLimit : floor_divide(bound, factor);
  };
  return {low(product.lo), high(product.hi)};
}

}  // namespace

Path::~Path() {
  // Whoever holds the last pointer to a path takes its parent before it ends, so that its end is not nested.
  // A count of one cannot rise meanwhile: a run has one thread.
  std::shared_ptr<Path> next = std::move(parent);
  while (next != nullptr && next.use_count() == 1) {
    std::shared_ptr<Path> after = std::move(next->parent);
    next = std::move(after);
  }
}

PathPointer extend(PathPointer parent, PredicateId condition, uint32_t site) {
  auto path = std::make_shared<Path>();
  path->parent = std::move(parent);
  path->everyone = condition;
  path->site = site;
  return path;
}

std::optional<bool> Reasoner::truth(Value predicate) const {
  if (predicate.known()) return predicate.constant != 0;
  return truth(predicate.form, 0);
}

std::optional<bool> Reasoner::truth(PredicateId id, int depth) const {
  table_.spend();
  std::optional<bool> found;
  any_fact([&](PredicateId fact) {
    if ((fact ^ id) > 1) return false;
    found = fact == id;
    return true;
  });
  for (SymbolTable::Declared& declared : table_.declared)
    if (!found && (declared.condition ^ id) <= 1) found = declared.condition == id, declared.used = true;
  if (found || depth > kDepth) return found;
  const Predicate& predicate = table_.predicate(id);
  const bool negated = (id & 1) != 0;
  std::optional<bool> result;
  if (predicate.kind == PredicateKind::kCompare) {
    result = compare_truth(predicate, depth + 1);
  } else if (predicate.kind == PredicateKind::kAnd) {
    const auto p = truth(predicate.p, depth + 1), q = truth(predicate.q, depth + 1);
    if ((p && !*p) || (q && !*q))
      result = false;
    else if (p && q)
      result = true;
  } else if (predicate.kind == PredicateKind::kXor) {
    const auto p = truth(predicate.p, depth + 1), q = truth(predicate.q, depth + 1);
    if (p && q) result = *p != *q;
  }
  if (result && negated) result = !*result;
  return result;
}

std::optional<bool> Reasoner::compare_truth(const Predicate& predicate, int depth) const {
  if (predicate.is_float) {
    const FloatRange a = float_range(predicate.a, predicate.bits, depth);
    const FloatRange b = float_range(predicate.b, predicate.bits, depth);
    if (a.maybe_nan || b.maybe_nan) return std::nullopt;
    const auto either = [](bool holds, bool fails) {
      return holds ? std::optional(true) : fails ? std::optional(false) : std::nullopt;
    };
    switch (predicate.compare) {
      case CompareKind::kLt:
        return either(a.hi < b.lo, a.lo >= b.hi);
      case CompareKind::kLe:
        return either(a.hi <= b.lo, a.lo > b.hi);
      case CompareKind::kGt:
        return either(a.lo > b.hi, a.hi <= b.lo);
      case CompareKind::kGe:
        return either(a.lo >= b.hi, a.hi < b.lo);
      default:
        return either(predicate.compare == CompareKind::kNumber, false);
    }
  }
  const Interval a = range(predicate.a, predicate.bits, predicate.is_signed, depth);
  const Interval b = range(predicate.b, predicate.bits, predicate.is_signed, depth);
  if (predicate.compare == CompareKind::kEq) {
    if (predicate.a.form == predicate.b.form) return predicate.a.constant == predicate.b.constant;
    if (a.meet(b).empty()) return false;
    if (a.single() && a == b) return true;
    if (predicate.b.known() && mask_bits(predicate.b.constant, predicate.bits) == 0 && not_zero(predicate.a))
      return false;
    return std::nullopt;
  }
  const Wide strict = predicate.compare == CompareKind::kLt ? 1 : 0;
  if (a.hi + strict <= b.lo) return true;
  if (a.lo + strict > b.hi) return false;
  return std::nullopt;
}

std::vector<PredicateId> Reasoner::facts() const {
  std::vector<PredicateId> all;
  all.reserve(64);
  any_fact([&](PredicateId fact) { return all.push_back(fact), false; });
  return all;
}

bool Reasoner::not_zero(Value value) const {
  if (value.known()) return value.constant != 0;
  const SymbolId id = table_.single(value);
  const Symbol& symbol = table_.symbol(id);
  if (id != 0 && symbol.kind == SymbolKind::kOperation && symbol.op == Op::kBitReverse)
    return not_zero(symbol.arguments[0]);
  const Votes* votes = table_.votes_of(id);
  if (votes != nullptr)
    for (const Value& vote : *votes)
      if (vote.known() && vote.constant != 0) return true;
  return any_fact([&](PredicateId fact) {
    const Predicate& predicate = table_.predicate(fact);
    if ((fact & 1) != 0 && predicate.kind == PredicateKind::kCompare && !predicate.is_float &&
        predicate.compare == CompareKind::kEq && predicate.a == value && predicate.b == Value{})
      return true;
    return votes != nullptr && std::ranges::find(*votes, Value{0, fact}) != votes->end();
  });
}

Interval Reasoner::bound(PredicateId id, FormId form, Interval known, int depth) const {
  const Predicate& fact = table_.predicate(id);
  const Interval nothing;
  if (fact.kind != PredicateKind::kCompare || fact.is_float) return nothing;
  const bool on_left = fact.a.form == form;
  if (!on_left && fact.b.form != form) return nothing;
  const Value mine = on_left ? fact.a : fact.b;
  const Value other = on_left ? fact.b : fact.a;
  if (other.form == form) return nothing;
  const Interval limit = range(other, fact.bits, fact.is_signed, depth + 2);
  const bool holds = (id & 1) == 0;
  Interval sum;
  // As a number that does not wrap.
  const Interval exact = known.plus(Wide{sign_extend(mine.constant, fact.bits)});
  const Wide round = Wide{1} << fact.bits;
  if (fact.compare == CompareKind::kEq) {
    const Wide constant = sign_extend(mine.constant, fact.bits);
    if (holds) {
      if (exact.lo <= limit.hi - round || exact.hi >= limit.lo + round)
        table_.assume(SymbolTable::NoWrap::kIndex);
      sum = fact.is_signed || limit.hi < (Wide{1} << (fact.bits - 1)) ? limit : nothing;
    } else if (limit.single()) {  // unequal to an end of the range
      const Interval inside = known.plus(constant);
      if (inside.lo == limit.lo) sum.lo = limit.lo + 1;
      if (inside.hi == limit.lo) sum.hi = limit.lo - 1;
    }
    return sum.plus(-constant);
  }
  // mine < other, mine <= other or their negations, from either side
  const bool strict = (fact.compare == CompareKind::kLt) == holds;
  if (on_left == holds)
    sum.hi = limit.hi - (strict ? 1 : 0);
  else
    sum.lo = limit.lo + (strict ? 1 : 0);
  if (fact.is_signed && (on_left == holds ? exact.hi >= round / 2 : exact.lo < -round / 2))
    table_.assume(SymbolTable::NoWrap::kIndex);  // past the end, it would come out on the other side
  if (!fact.is_signed) {
    // A number that is small without a sign is not negative; one that is large may be.
    if (sum.hi < (Wide{1} << (fact.bits - 1))) {
      if (exact.lo <= sum.hi - round || exact.hi >= round) table_.assume(SymbolTable::NoWrap::kIndex);
      sum.lo = std::max<Wide>(sum.lo, 0);
    } else if (known.plus(sign_extend(mine.constant, fact.bits)).lo < 0)
      return nothing;
    else if (sum.hi >= (Wide{1} << (fact.bits - 1)))
      sum.hi = kWideLimit;
  }
  return sum.plus(-Wide{sign_extend(mine.constant, fact.bits)});
}

Interval Reasoner::symbol_range(SymbolId id, int depth) const {
  const Symbol& symbol = table_.symbol(id);
  Interval known = symbol.range;
  if (depth > kDepth) return known;
  if (symbol.kind == SymbolKind::kOperation) known = known.meet(operation_range(symbol, depth + 1));
  if (depth > kFactDepth) return known;
  // Facts come newest first; that x is not 1 says something only after x is known not to be 0.
  Interval before;
  for (int round = 0; round < kRounds && !(before == known); ++round) {
    before = known;
    narrow(known, [&](PredicateId fact, Interval now) {
      const Predicate& predicate = table_.predicate(fact);
      if ((predicate.only_a != id && predicate.only_b != id) || predicate.is_float) return now;
      for (const bool left : {true, false}) {
        if ((left ? predicate.only_a : predicate.only_b) != id) continue;
        const FormId form = (left ? predicate.a : predicate.b).form;
        const int64_t factor = table_.terms(form)[0].factor;
        now = now.meet(solve(bound(fact, form, now.times(factor), depth), factor));
      }
      return now;
    });
  }
  return known;
}

Interval Reasoner::exact_range(Value value) const {
  Interval sum = Interval::exactly(0);
  VoteSum votes;
  for (const LinearTerm& term : table_.terms(value.form))
    if (!votes.add(term, table_)) sum = sum.plus(symbol_range(term.symbol, 1).times(term.factor));
  if (!votes.empty()) sum = sum.plus(votes.range(facts(), table_));
  if (value.form != 0)
    narrow(sum, [&](PredicateId fact, const Interval& now) {
      const Interval bounded = now.meet(bound(fact, value.form, now, 1));
      return table_.terms(value.form).size() > 1 ? bounded.meet(difference_bound(fact, value.form)) : bounded;
    });
  return sum.plus(static_cast<int64_t>(value.constant));
}

// a < b says that b - a is at least 1.
Interval Reasoner::difference_bound(PredicateId id, FormId form) const {
  const Predicate& fact = table_.predicate(id);
  Interval known;
  if (fact.kind != PredicateKind::kCompare || fact.is_float || fact.compare == CompareKind::kEq) return known;
  const bool holds = (id & 1) == 0;  // otherwise b <= a
  const Value difference = holds ? table_.subtract(fact.b, fact.a, 64) : table_.subtract(fact.a, fact.b, 64);
  const Wide least = holds && fact.compare == CompareKind::kLt ? 1 : 0;
  const Value opposite = table_.scale(difference, -1, 64);
  const auto constant = [&](Value v) { return Wide{sign_extend(v.constant, fact.bits)}; };
  if (difference.form == form) known.lo = least - constant(difference);
  if (opposite.form == form) known.hi = -least - constant(opposite);
  // A multiple of the difference, as an index is of what it was compared with.
  const LinearTerms terms = table_.terms(form), &parts = table_.terms(difference.form);
  if (difference.form == 0 || terms.size() != parts.size()) return known;
  const int64_t whole = terms[0].factor, part = parts[0].factor;
  if (whole == INT64_MIN || whole % part != 0) return known;
  const int64_t times = whole / part;
  if (times == 1 || times == -1 || table_.scale({0, difference.form}, times, 64).form != form) return known;
  const Wide bound = (least - constant(difference)) * times;
  (times > 0 ? known.lo : known.hi) = bound;
  return known;
}

Interval Reasoner::range(Value value, unsigned bits, bool as_signed, int depth) const {
  table_.spend();
  const Interval base = table_.base_range(value, bits, as_signed);
  if (value.form == 0 || depth > kDepth) return base;
  const LinearTerms terms = table_.terms(value.form);
  Interval sum = Interval::exactly(0);
  bool counts = true;  // loop counters are assumed not to wrap
  VoteSum votes;
  for (const LinearTerm& term : terms) {
    if (votes.add(term, table_)) continue;
    sum = sum.plus(symbol_range(term.symbol, depth + 1).times(term.factor));
    counts &= table_.symbol(term.symbol).kind == SymbolKind::kIteration;
  }
  if (!votes.empty()) sum = sum.plus(votes.range(facts(), table_));
  if (depth <= kFactDepth)
    narrow(sum,
           [&](PredicateId fact, const Interval& now) { return bound(fact, value.form, now, depth + 1); });
  sum = sum.plus(sign_extend(value.constant, bits));
  const Interval whole = as_signed ? Interval::of_signed(bits) : Interval::of_unsigned(bits);
  if (whole.contains(sum)) return sum.meet(base);
  return counts ? sum.meet(whole).meet(base) : base;
}

Reasoner Reasoner::under(PredicateId condition) const {
  Reasoner other(table_, position_);
  other.extra_ = condition;
  other.outer_ = this;
  return other;
}

Interval Reasoner::operation_range(const Symbol& symbol, int depth) const {
  const bool as_signed = is_signed(symbol.type);
  const auto argument = [&](int i) { return range(symbol.arguments[i], symbol.bits, as_signed, depth); };
  const Interval nothing;
  switch (symbol.op) {
    case Op::kMin:
    case Op::kMax: {
      const Interval a = argument(0), b = argument(1);
      const Interval either = symbol.op == Op::kMin ? Interval{std::min(a.lo, b.lo), std::min(a.hi, b.hi)}
                                                    : Interval{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
      return !as_signed && either.hi >= (Wide{1} << (symbol.bits - 1)) ? nothing : either;
    }
    case Op::kSelect: {
      if (const auto condition = truth(symbol.condition, depth))
        return range(symbol.arguments[*condition ? 0 : 1], symbol.bits, true, depth);
      return under(symbol.condition)
          .range(symbol.arguments[0], symbol.bits, true, depth)
          .hull(under(symbol.condition ^ 1).range(symbol.arguments[1], symbol.bits, true, depth));
    }
    case Op::kShr:
    case Op::kDiv: {
      if (symbol.arguments[1].form != 0) return nothing;
      const Interval from = argument(0);
      const uint64_t by = symbol.arguments[1].constant;
      if (from.lo < 0 || by == 0 || (symbol.op == Op::kShr && by >= symbol.bits)) return nothing;
      const Wide divisor = symbol.op == Op::kShr ? Wide{1} << by : Wide{sign_extend(by, symbol.bits)};
      if (divisor <= 1) return nothing;  // the quotient of a large number without a sign may be large too
      return {floor_divide(from.lo, divisor), floor_divide(from.hi, divisor)};
    }
    case Op::kFindBit:
    case Op::kCountLeadingZeros:
      if (as_signed || !not_zero(symbol.arguments[0])) return nothing;
      return {0, Wide{bits_of(symbol.type)} - 1};
    case Op::kConvert: {
      if (symbol.type == Type::kU64 && symbol.detail < 64)
        return range(symbol.arguments[0], symbol.detail, false, depth);
      if (symbol.type == Type::kS64 && symbol.detail < 64)
        return range(symbol.arguments[0], symbol.detail, true, depth);
      if (symbol.type != Type::kS32 || (symbol.detail != 132 && symbol.detail != 164)) return nothing;
      const FloatRange from = float_range(symbol.arguments[0], symbol.detail - 100, depth);
      if (from.maybe_nan) return nothing;  // NaN becomes 0 or the smallest number
      const auto limit = [](double x) {
        return static_cast<Wide>(std::clamp(x, -2147483648.0, 2147483647.0));
      };
      return {limit(from.lo), limit(from.hi)};
    }
    default:
      return nothing;
  }
}

// What a symbol is known to be; nullopt: nothing simpler.
std::optional<Value> Reasoner::simplified(const Symbol& symbol, unsigned bits) const {
  if (symbol.kind != SymbolKind::kOperation) return std::nullopt;
  if (symbol.op == Op::kConvert && symbol.type == Type::kU64 && symbol.detail < 64) {
    const Value inner = simplify(symbol.arguments[0], symbol.detail);
    if (inner == symbol.arguments[0]) return std::nullopt;
    return table_.zero_extended(inner, symbol.detail);
  }
  if (symbol.op != Op::kSelect) return std::nullopt;
  const auto condition = truth(symbol.condition, 0);
  if (!condition) return std::nullopt;
  Value chosen = symbol.arguments[*condition ? 0 : 1];
  if (bits > symbol.bits) chosen.constant = static_cast<uint64_t>(sign_extend(chosen.constant, symbol.bits));
  return chosen;
}

Value Reasoner::simplify(Value value, unsigned bits) const {
  for (int round = 0; round < 4 && value.form != 0; ++round) {
    bool changed = false;
    for (const LinearTerm& term : table_.terms(value.form)) {
      const auto known = simplified(table_.symbol(term.symbol), bits);
      if (!known) continue;
      const Value chosen = *known;
      const Value rest = table_.subtract(value, table_.times(term, bits), bits);
      value = table_.add(rest, table_.scale(chosen, term.factor, bits), bits);
      changed = true;
      break;
    }
    if (!changed) break;
  }
  return value;
}

}  // namespace glove::verify
