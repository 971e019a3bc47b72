// Predicates, and what is known about the results of operations.
#include <algorithm>
#include <bit>
#include <numeric>

#include "value/symbols.h"

namespace glove::verify {
namespace {

// What an operation that counts bits, or looks for one, may return.
Interval found_bits(const Symbol& symbol) {
  const Wide bits = symbol.type == Type::kB64 || symbol.type == Type::kU64 ? 64 : 32;
  if (symbol.op == Op::kFindBit) return {-1, bits - 1};
  const uint64_t votes = symbol.op == Op::kPopCount ? symbol.arguments[1].constant : 0;  // of a ballot
  return {0, votes != 0 ? std::popcount(votes) : bits};
}

}  // namespace

Value SymbolTable::compare(CompareKind kind, bool is_float, bool is_signed, unsigned bits, Value a, Value b) {
  Predicate predicate = {.kind = PredicateKind::kCompare,
                         .compare = kind,
                         .is_float = is_float,
                         .is_signed = is_signed,
                         .bits = static_cast<uint8_t>(bits),
                         .scope = std::max(scope_of(a), scope_of(b)),
                         .data = is_data(subtract(a, b, 64)) || is_data(a) || is_data(b),
                         .a = a,
                         .b = b};
  imply_selection(predicate);
  return {0, intern(predicate)};
}

// (condition ? x : -1) >= 0 says that the condition holds; so does a vote in a ballot that is not 0.
void SymbolTable::imply_selection(Predicate& predicate) const {
  if (predicate.is_float || predicate.a.known() == predicate.b.known()) return;
  const bool left = !predicate.a.known();
  const Value side = left ? predicate.a : predicate.b, other = left ? predicate.b : predicate.a;
  const LinearTerms sum = terms(side.form);
  if (sum.size() != 1) return;
  Symbol symbol = SymbolTable::symbol(sum[0].symbol);
  if (symbol.kind != SymbolKind::kOperation) return;
  if (counts_votes(sum[0].symbol) && std::has_single_bit(symbol.arguments[1].constant)) {
    const Votes& votes = *votes_of(single(symbol.arguments[0]));
    symbol.condition = votes[static_cast<size_t>(std::countr_zero(symbol.arguments[1].constant))].form;
    symbol.arguments[0] = {1, 0}, symbol.arguments[1] = {0, 0};
  } else if (symbol.op != Op::kSelect) {
    return;
  }
  const auto number = [&](uint64_t value) {
    return predicate.is_signed ? Wide{sign_extend(value, predicate.bits)}
                               : static_cast<Wide>(mask_bits(value, predicate.bits));
  };
  for (const unsigned i : {0u, 1u}) {
    if (!symbol.arguments[i].known()) continue;
    const auto chosen = static_cast<uint64_t>(sign_extend(symbol.arguments[i].constant, symbol.bits));
    const Wide mine = number(chosen * static_cast<uint64_t>(sum[0].factor) + side.constant);
    const Wide limit = number(other.constant);
    const Wide a = left ? mine : limit, b = left ? limit : mine;
    const bool holds = predicate.compare == CompareKind::kEq   ? a == b
                       : predicate.compare == CompareKind::kLt ? a < b
                                                               : a <= b;
    // If the comparison comes out otherwise, the other argument was selected.
    // Chains of selections end where conjunctions do; both sides count, since each may be walked.
    const unsigned parts = predicate.parts + predicates_[symbol.condition >> 1].parts;
    if (parts > kMostParts) continue;
    predicate.parts = static_cast<uint16_t>(parts);
    predicate.implied[holds ? 0 : 1] = symbol.condition ^ (i == 0 ? 1u : 0u);
  }
}

Predicate SymbolStore::combined(PredicateKind kind, PredicateId a, PredicateId b) const {
  return {.kind = kind,
          .scope = std::max(scope_of_predicate(a), scope_of_predicate(b)),
          .data = predicate(a).data || predicate(b).data,
          .p = std::min(a, b),
          .q = std::max(a, b)};
}

Value SymbolTable::logical_and(Value a, Value b) {
  if (a.known()) return a.constant != 0 ? b : a;
  if (b.known()) return b.constant != 0 ? a : b;
  if (a.form == b.form) return a;
  if (a.form == (b.form ^ 1)) return {0, 0};
  const unsigned parts = 1 + parts_of(a.form) + parts_of(b.form);
  const bool fits = parts <= kMostParts;
  Predicate predicate = combined(fits ? PredicateKind::kAnd : PredicateKind::kSymbol, a.form, b.form);
  if (fits) predicate.parts = static_cast<uint16_t>(parts);
  return {0, intern(predicate)};
}

Value SymbolTable::logical_xor(Value a, Value b) {
  if (a.known()) return a.constant != 0 ? logical_not(b) : b;
  if (b.known()) return b.constant != 0 ? logical_not(a) : a;
  if (a.form == b.form) return {0, 0};
  if (a.form == (b.form ^ 1)) return {1, 0};
  return {0, intern(combined(PredicateKind::kXor, a.form & ~1u, b.form & ~1u)) | ((a.form ^ b.form) & 1)};
}

Value SymbolStore::fresh_predicate(Scope scope, bool data) {
  predicates_.push_back({.scope = scope, .data = data});
  return {0, static_cast<uint32_t>(predicates_.size() - 1) << 1};
}

namespace {

// Sets what a selection between two values is modulo a power of two, each of which is `second` modulo
// `first`.
void set_common_residue(std::pair<uint64_t, int64_t> yes, std::pair<uint64_t, int64_t> no, Symbol& symbol) {
  symbol.stride = std::gcd(std::gcd(yes.first, no.first), static_cast<uint64_t>(yes.second - no.second));
  symbol.residue = yes.second % static_cast<int64_t>(symbol.stride);
}

Interval least_or_greatest(Op op, const Interval& a, const Interval& b) {
  return op == Op::kMin ? Interval{std::min(a.lo, b.lo), std::min(a.hi, b.hi)}
                        : Interval{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
}

}  // namespace

// Ranges that hold whatever the path; value/reason.cpp computes them again with what a path knows.
void SymbolTable::set_operation_range(Symbol& symbol) const {
  const unsigned bits = symbol.bits;
  const bool as_signed = is_signed(symbol.type);
  symbol.range = Interval::of_signed(bits);
  symbol.unsigned_range = Interval::of_unsigned(bits);
  const auto known = [&](int i) { return symbol.arguments[i].form == 0; };
  const auto set = [&](Interval range) {
    if (range.lo < 0) return;
    symbol.unsigned_range = range;
    if (Interval::of_signed(bits).contains(range)) symbol.range = range;
  };
  if (symbol.op == Op::kConvert && symbol.type == Type::kU64 && symbol.detail < 64) {
    set(base_range(symbol.arguments[0], symbol.detail, false));
  } else if (symbol.op == Op::kAnd && (known(0) || known(1))) {
    const Wide mask = static_cast<Wide>(mask_bits(symbol.arguments[known(0) ? 0 : 1].constant, bits));
    set({0, mask});
    const uint64_t low = static_cast<uint64_t>(mask) & (~static_cast<uint64_t>(mask) + 1);
    if (low != 0) symbol.stride = low;
  } else if (symbol.op == Op::kShr && known(1) && symbol.arguments[1].constant < bits) {
    const unsigned by = static_cast<unsigned>(symbol.arguments[1].constant);
    const Interval from = base_range(symbol.arguments[0], bits, as_signed);
    const Interval shifted = {floor_divide(from.lo, Wide{1} << by), floor_divide(from.hi, Wide{1} << by)};
    if (as_signed) symbol.range = shifted;
    set(shifted);
  } else if (symbol.op == Op::kRem && known(1) && mask_bits(symbol.arguments[1].constant, bits) != 0) {
    const Wide by = base_range(symbol.arguments[1], bits, as_signed).lo;
    const Wide size = by < 0 ? -by : by;
    const Interval from = base_range(symbol.arguments[0], bits, as_signed);
    if (!as_signed || from.lo >= 0)
      set({0, size - 1});
    else
      symbol.range = {1 - size, size - 1};
  } else if (symbol.op == Op::kDiv && known(1) && sign_extend(symbol.arguments[1].constant, bits) > 0) {
    const Wide by = sign_extend(symbol.arguments[1].constant, bits);
    const Interval from = base_range(symbol.arguments[0], bits, as_signed);
    const Interval quotient = {from.lo / by, from.hi / by};
    if (as_signed) symbol.range = quotient;
    set(quotient);
  } else if (symbol.op == Op::kMin || symbol.op == Op::kMax) {
    const Interval a = base_range(symbol.arguments[0], bits, as_signed);
    const Interval b = base_range(symbol.arguments[1], bits, as_signed);
    const Interval both = least_or_greatest(symbol.op, a, b);
    if (as_signed) symbol.range = both;
    set(both);
  } else if (symbol.op == Op::kSelect) {
    symbol.range =
        base_range(symbol.arguments[0], bits, true).hull(base_range(symbol.arguments[1], bits, true));
    set(symbol.range);
    set_common_residue(residue_of(symbol.arguments[0]), residue_of(symbol.arguments[1]), symbol);
  } else if (symbol.op == Op::kPopCount || symbol.op == Op::kCountLeadingZeros || symbol.op == Op::kFindBit) {
    set(symbol.range = found_bits(symbol));
  } else if (symbol.op == Op::kBitExtract && known(2) && symbol.arguments[2].constant < bits && !as_signed) {
    set({0, (Wide{1} << symbol.arguments[2].constant) - 1});
  } else if (symbol.op == Op::kLoad && symbol.type != Type::kNone && bits_of(symbol.type) < bits) {
    if (as_signed)
      symbol.range = Interval::of_signed(bits_of(symbol.type));
    else
      set(Interval::of_unsigned(bits_of(symbol.type)));
  }
}

bool takes_every_value(Value value, const SymbolStore& store) {
  const LinearTerms sum = store.terms(value.form);
  if (sum.size() != 1) return false;
  const Symbol& symbol = store.symbol(sum[0].symbol);
  if (symbol.kind != SymbolKind::kOperation || symbol.op == Op::kLoad) return symbol.data;
  const uint64_t by = mask_bits(symbol.arguments[1].constant, symbol.bits), low = by & (~by + 1);
  const LinearTerms from = store.terms(symbol.arguments[0].form);
  if (!symbol.arguments[1].known() || from.size() != 1) return false;
  const Symbol& whole = store.symbol(from[0].symbol);
  const auto factor = static_cast<uint64_t>(from[0].factor);
  if (whole.bits != symbol.bits || !(whole.unsigned_range == Interval::of_unsigned(whole.bits)) ||
      !takes_every_value({0, symbol.arguments[0].form}, store))
    return false;
  if (symbol.op != Op::kAnd)
    return (symbol.op == Op::kRem || symbol.op == Op::kShr) && !is_signed(symbol.type) && factor % 2 == 1;
  // Bits side by side, which all vary.
  return low != 0 && (by / low & (by / low + 1)) == 0 && (factor & (~factor + 1)) <= low;
}

Value SymbolTable::ballot(const Votes& votes) {
  const Value result = fresh(32, Scope::kBlock);
  ballots_.emplace(single(result), votes);
  return result;
}

const Votes* SymbolTable::votes_of(SymbolId ballot) const {
  const auto found = ballots_.find(ballot);
  return found == ballots_.end() ? nullptr : &found->second;
}

Value SymbolTable::count_votes(SymbolId ballot, uint32_t mask) {
  const Votes& votes = *votes_of(ballot);
  uint32_t open = 0, yes = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!has(mask, lane)) continue;
    if (!votes[lane].known())
      open |= 1u << lane;
    else if (votes[lane].constant != 0)
      ++yes;
  }
  if (open == 0) return {yes, 0};
  return add(operation(Op::kPopCount, Type::kB32, 0, 32, {of(ballot), {open, 0}}), {yes, 0}, 32);
}

SymbolTable::VoteMask SymbolTable::voted(Value value) const {
  const SymbolId id = single(value);
  if (votes_of(id) != nullptr) return {id, ~0u, 0};
  const Symbol& symbol = SymbolTable::symbol(id);
  if (id == 0 || symbol.kind != SymbolKind::kOperation || !symbol.arguments[1].known()) return {};
  const SymbolId ballot = single(symbol.arguments[0]);
  if (votes_of(ballot) == nullptr) return {};
  const auto number = static_cast<uint32_t>(symbol.arguments[1].constant);
  if (symbol.op == Op::kAnd) return {ballot, number, 0};
  if (symbol.op == Op::kShr && !is_signed(symbol.type) && number < 32) return {ballot, ~0u << number, number};
  return {};
}

std::optional<Value> SymbolTable::masked_votes(Value value, uint64_t mask) {
  const VoteMask votes = voted(value);
  if (votes.ballot == 0) return std::nullopt;
  const uint32_t kept = votes.mask & static_cast<uint32_t>(mask << votes.shift);
  if (kept == 0) return Value{0, 0};
  if (std::has_single_bit(kept)) {
    const auto place = static_cast<unsigned>(std::countr_zero(kept)) - votes.shift;
    return scale(count_votes(votes.ballot, kept), sign_extend(uint64_t{1} << place, 32), 32);
  }
  if (votes.shift != 0) return std::nullopt;
  return operation(Op::kAnd, Type::kB32, 0, 32, {of(votes.ballot), {kept, 0}});
}

std::optional<Value> SymbolTable::popcount_of_votes(Value value) {
  if (const VoteMask votes = voted(value); votes.ballot != 0) return count_votes(votes.ballot, votes.mask);
  // One vote, at some place.
  const LinearTerms sum = terms(value.form);
  if (sum.size() != 1 || value.constant != 0 || !counts_votes(sum[0].symbol)) return std::nullopt;
  const auto factor = mask_bits(static_cast<uint64_t>(sum[0].factor), 32);
  const auto mask = static_cast<uint32_t>(symbol(sum[0].symbol).arguments[1].constant);
  if (!std::has_single_bit(factor) || !std::has_single_bit(mask)) return std::nullopt;
  return of(sum[0].symbol);
}

bool SymbolStore::counts_votes(SymbolId id) const {
  const Symbol& symbol = SymbolStore::symbol(id);
  return symbol.kind == SymbolKind::kOperation && symbol.op == Op::kPopCount &&
         symbol.arguments[1].constant != 0;
}

bool VoteSum::add(const LinearTerm& term, const SymbolTable& table) {
  if (!table.counts_votes(term.symbol)) return false;
  const Symbol& count = table.symbol(term.symbol);
  const SymbolId symbol = table.single(count.arguments[0]);
  auto ballot = std::ranges::find_if(ballots_, [&](const Ballot& other) { return other.symbol == symbol; });
  if (ballot == ballots_.end()) ballot = ballots_.insert(ballots_.end(), {symbol, {}});
  for (uint64_t rest = count.arguments[1].constant; rest != 0; rest &= rest - 1)
    ballot->factors[static_cast<size_t>(std::countr_zero(rest))] += term.factor;
  return true;
}

Interval VoteSum::range(std::vector<PredicateId> facts, const SymbolTable& table) const {
  std::sort(facts.begin(), facts.end());
  Interval sum = Interval::exactly(0);
  for (const Ballot& ballot : ballots_) {
    const Votes& votes = *table.votes_of(ballot.symbol);
    for (size_t lane = 0; lane < 32; ++lane) {
      const Wide factor = ballot.factors[lane];
      if (factor == 0) continue;
      const PredicateId yes = votes[lane].form, no = yes ^ 1;
      bool is_yes = false, is_no = false;
      for (auto fact = std::ranges::lower_bound(facts, yes & ~1u);
           fact != facts.end() && (*fact | 1) == (yes | 1); ++fact)
        is_yes |= *fact == yes, is_no |= *fact == no;
      if (is_no) continue;
      Interval vote = Interval::exactly(factor);
      if (!is_yes) vote = vote.hull(Interval::exactly(0));
      sum = sum.plus(vote);
    }
  }
  return sum;
}

}  // namespace glove::verify
