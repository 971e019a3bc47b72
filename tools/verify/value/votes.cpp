#include "value/votes.h"

#include <algorithm>
#include <bit>

namespace glove::verify {

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
    if ((mask >> lane & 1) == 0) continue;
    if (!votes[lane].known())
      open |= 1u << lane;
    else if (votes[lane].constant != 0)
      ++yes;
  }
  if (open == 0) return {yes, 0};
  const Value arguments[3] = {of(ballot), {open, 0}, {}};
  return add(operation(Op::kPopCount, Type::kB32, 0, 32, arguments), {yes, 0}, 32);
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
  const Value arguments[3] = {of(votes.ballot), {kept, 0}, {}};
  return operation(Op::kAnd, Type::kB32, 0, 32, arguments);
}

std::optional<Value> SymbolTable::popcount_of_votes(Value value) {
  if (const VoteMask votes = voted(value); votes.ballot != 0) return count_votes(votes.ballot, votes.mask);
  // One vote, at some place.
  const auto& sum = terms(value.form);
  if (sum.size() != 1 || value.constant != 0 || !counts_votes(sum[0].symbol)) return std::nullopt;
  const auto factor = mask_bits(static_cast<uint64_t>(sum[0].factor), 32);
  const auto mask = static_cast<uint32_t>(symbol(sum[0].symbol).arguments[1].constant);
  if (!std::has_single_bit(factor) || !std::has_single_bit(mask)) return std::nullopt;
  return of(sum[0].symbol);
}

bool SymbolTable::counts_votes(SymbolId id) const {
  const Symbol& symbol = SymbolTable::symbol(id);
  return symbol.kind == SymbolKind::kOperation && symbol.op == Op::kPopCount &&
         symbol.arguments[1].constant != 0;
}

bool VoteSum::add(const LinearTerm& term, const SymbolTable& table) {
  if (!table.counts_votes(term.symbol)) return false;
  const Symbol& count = table.symbol(term.symbol);
  const SymbolId symbol = table.single(count.arguments[0]);
  auto ballot = std::find_if(ballots_.begin(), ballots_.end(),
                             [&](const Ballot& other) { return other.symbol == symbol; });
  if (ballot == ballots_.end()) ballot = ballots_.insert(ballots_.end(), {symbol, {}});
  for (uint64_t rest = count.arguments[1].constant; rest != 0; rest &= rest - 1)
    ballot->factors[static_cast<size_t>(std::countr_zero(rest))] += term.factor;
  return true;
}

Interval VoteSum::range(std::vector<PredicateId> facts, const SymbolTable& table) const {
  std::sort(facts.begin(), facts.end());
  const auto holds = [&](PredicateId id) { return std::binary_search(facts.begin(), facts.end(), id); };
  Interval sum = Interval::exactly(0);
  for (const Ballot& ballot : ballots_) {
    const Votes& votes = *table.votes_of(ballot.symbol);
    for (size_t lane = 0; lane < 32; ++lane) {
      const Wide factor = ballot.factors[lane];
      if (factor == 0 || holds(votes[lane].form ^ 1)) continue;
      Interval vote = Interval::exactly(factor);
      if (!holds(votes[lane].form)) vote = vote.hull(Interval::exactly(0));
      sum = sum.plus(vote);
    }
  }
  return sum;
}

}  // namespace glove::verify
