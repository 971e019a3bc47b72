// Votes of a warp, and what its lanes do on behalf of each other: one adds for all to a counter and hands the
// result round.
#include <algorithm>

#include "run/kernel_run.h"

namespace glove::verify {

void KernelRun::step_vote(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  if (in.results.empty() || in.results[0].kind != OperandKind::kRegister) return;
  const bool predicate = kernel_.registers[in.results[0].index].type == Type::kPred;
  const auto all = [&](Value value) {
    each_lane(lanes, [&](int lane) { write_result(state, warp, in.results[0], lane, value, 0); });
  };
  if (in.op == Op::kActiveMask)
    return all(context_ == nullptr ? table_.fresh(32, Scope::kBlock) : table_.fresh(32, Scope::kThread));
  Lanes yes = 0;
  bool known = true;
  Votes votes{};
  Value first;
  bool same = true;
  each_lane(lanes, [&](int lane) {
    Value value = operand(state, warp, in.operands[0], lane);
    if (!value.known())
      if (const auto truth = Reasoner(table_, position(state, warp, lane)).truth(value))
        value = {*truth ? 1u : 0u, 0};
    if (lane == std::countr_zero(lanes)) first = value;
    same &= value == first;
    known &= value.known();
    yes |= Lanes{value.known() && value.constant != 0} << lane;
    votes[static_cast<size_t>(lane)] = value;
  });
  if (known) {
    if (in.vote == 'b') return all({yes, 0});
    const bool result = in.vote == 'l' ? yes == lanes : in.vote == 'y' ? yes != 0 : yes == lanes || yes == 0;
    return all({result ? 1u : 0u, 0});
  }
  if (predicate && same && in.vote != 'u') return all(first);
  if (in.vote == 'b') return all(table_.ballot(votes));
  all(predicate ? table_.fresh_predicate(Scope::kBlock, false) : table_.fresh(32, Scope::kBlock));
}

// Whether the number is that of the first or the last lane that has voted yes in the ballot.
bool KernelRun::is_voter(Value lane, SymbolId ballot) const {
  const Symbol& found = table_.symbol(table_.single(lane));
  if (found.kind != SymbolKind::kOperation || found.op != Op::kFindBit || found.type != Type::kU32)
    return false;
  if (found.detail == 0) return table_.single(found.arguments[0]) == ballot;
  const Symbol& reversed = table_.symbol(table_.single(found.arguments[0]));
  return reversed.kind == SymbolKind::kOperation && reversed.op == Op::kBitReverse &&
         table_.single(reversed.arguments[0]) == ballot;
}

// Whether a value may turn out to be a ticket where more is known.
bool KernelRun::may_be_ticket(Value value) const {
  const auto& sum = table_.terms(value.form);
  return std::any_of(sum.begin(), sum.end(), [&](const LinearTerm& term) {
    const Symbol& symbol = table_.symbol(term.symbol);
    return symbol.kind == SymbolKind::kTicket ||
           (symbol.kind == SymbolKind::kOperation && (symbol.op == Op::kSelect || symbol.op == Op::kConvert));
  });
}

// What a lane gets from another, whose number is not known; nullopt: nothing is known about it.
std::optional<Value> KernelRun::shuffled_from(const BlockState& state, const Warp& warp, Lanes lanes,
                                              const Instruction& in, int lane,
                                              const std::array<Value, 32>& data) {
  bool tickets = false;  // all others are not told apart
  each_lane(lanes, [&](int from) { tickets |= may_be_ticket(data[static_cast<size_t>(from)]); });
  if (!tickets) return std::nullopt;
  const Value by = operand(state, warp, in.operands[1], lane);
  // A lane that does not take part gives nothing, and the lane's number counts modulo 32.
  const Value mask = in.operands.size() > 3 ? operand(state, warp, in.operands[3], lane) : Value{};
  const bool all = lanes == ~Lanes{0} && mask == Value{~Lanes{0}, 0};
  if (!(operand(state, warp, in.operands[2], lane) == Value{31, 0}) || by.known() ||
      (!all && (mask.known() || !is_voter(by, table_.single(mask)))) ||
      !Interval{0, 31}.contains(Reasoner(table_, position(state, warp, lane)).range(by, 32, true)))
    return std::nullopt;
  std::vector<Value> gives;
  each_lane(lanes, [&](int from) {
    const Value number = {static_cast<uint64_t>(from), 0};
    const Value there = table_.compare(CompareKind::kEq, false, true, 32, by, number);
    const Reasoner reasoner(table_, position(state, warp, from));
    if (const auto truth = reasoner.truth(there); truth && !*truth) return;
    gives.push_back(reasoner.simplify_under(there.form, data[static_cast<size_t>(from)], 32));
  });
  return handed_round(by, gives);
}

// One of the values, which lane `by` has: the same for all who ask that lane. Each is a ticket that its lane
// has drawn by an addition of the same number; then so is the result, and all are one drawing.
std::optional<Value> KernelRun::handed_round(Value by, const std::vector<Value>& values) {
  if (values.empty()) return std::nullopt;
  const auto ticket = [&](Value value) { return table_.symbol(table_.single(value)); };
  const Symbol first = ticket(values[0]);
  bool same = true;
  for (const Value& value : values) {
    const Symbol symbol = ticket(value);
    same &= symbol.kind == SymbolKind::kTicket && symbol.bits == 32 && !symbol.arguments[0].known() &&
            symbol.detail == first.detail && symbol.drawing == first.drawing &&
            symbol.arguments[0] == first.arguments[0] && symbol.arguments[1] == first.arguments[1];
  }
  if (!same) return std::nullopt;
  if (first.drawing != 0) {
    const auto& [lane, tickets] = drawings_.at(first.drawing);
    return lane == by && tickets == values ? std::optional(table_.of(first.drawing)) : std::nullopt;
  }
  Symbol result = first;
  result.owner = 0;
  result.scope = Scope::kBlock;
  const SymbolId id = table_.add_symbol(result);
  for (const Value& value : values) table_.change(table_.single(value)).drawing = id;
  table_.change(id).drawing = id;
  drawings_[id] = {by, values};
  return table_.of(id);
}

// If the addresses of a group differ by votes of one ballot alone, and each lane's own vote comes after those
// that it counts, the group's addresses are one behind the other.
void KernelRun::bound_by_votes(const BlockState& state, const Warp& warp, RangeAccess& group) {
  SymbolId ballot = 0;
  int64_t factor = 0;
  bool same = true;
  each_lane(group.lanes, [&](int lane) {
    Value begin = group.address[static_cast<size_t>(lane)];
    for (const LinearTerm& term : std::vector<LinearTerm>(table_.terms(begin.form))) {
      if (!table_.counts_votes(term.symbol)) continue;
      const SymbolId counted = table_.single(table_.symbol(term.symbol).arguments[0]);
      const Value count = table_.of(term.symbol);
      if (count == table_.count_votes(counted, ~0u)) continue;
      same &= ballot == 0 || (ballot == counted && factor == term.factor);
      ballot = counted, factor = term.factor;
      begin = table_.subtract(begin, table_.scale(count, term.factor, 64), 64);
    }
    if (lane == std::countr_zero(group.lanes)) group.begin = begin;
    same &= group.begin == begin;
  });
  if (!same || ballot == 0 || factor <= 0) return;
  const Value end = table_.add(group.begin, table_.scale(table_.count_votes(ballot, ~0u), factor, 64), 64);
  each_lane(group.lanes, [&](int lane) {
    const Value room = table_.subtract(end, group.address[static_cast<size_t>(lane)], 64);
    same &= Reasoner(table_, position(state, warp, lane)).exact_range(room).lo >=
            Wide{records_[group.record].bytes};
  });
  if (same) group.end = end;
}

// If all addresses of a group are the same but for distinct numbers, remembers where these come from.
void KernelRun::find_distinct(RangeAccess& group) {
  DistinctPlaces all;
  Interval offsets;
  bool same = true;
  each_lane(group.lanes, [&](int lane) {
    const DistinctPlaces one = distinct_places(group.address[static_cast<size_t>(lane)], table_);
    const auto offset = Wide{static_cast<int64_t>(one.source.constant)};
    if (lane == std::countr_zero(group.lanes)) all = one, offsets = Interval::exactly(offset);
    offsets = offsets.hull(Interval::exactly(offset));
    same &= one.object != 0 && one.object == all.object && one.factor == all.factor && one.rest == all.rest &&
            one.source.form == all.source.form;
  });
  if (!same || offsets.hi - offsets.lo > 65536) return;
  all.source.constant = static_cast<uint64_t>(offsets.lo);
  all.source_bytes = static_cast<uint32_t>(offsets.hi - offsets.lo) + 4;
  group.places = all;
}

// Whether a mask that is not known names those that come: they are in the branch that their votes decide, and
// the mask is the ballot.
bool KernelRun::voters_come(const BlockState& state, const Warp& warp, Lanes lanes, const Instruction& in) {
  const auto mask_of = [&](int lane) { return operand(state, warp, in.operands.back(), lane); };
  const Value mask = mask_of(std::countr_zero(lanes));
  const Votes* votes = table_.votes_of(table_.single(mask));
  if (votes == nullptr || context_ == nullptr || context_->loops || warp.path == nullptr ||
      warp.path->parent != context_->before)
    return false;
  for (const Context* outer = context_->outer; outer != nullptr; outer = outer->outer)
    if (outer->loops || outer->running == nullptr || !outer->running->uniform) return false;
  bool all = true;
  for (int lane = 0; lane < 32; ++lane) {
    const Value vote = (*votes)[static_cast<size_t>(lane)];
    const bool comes = (lanes >> lane & 1) != 0;
    all &=
        comes ? !vote.known() && warp.path->of(lane) == vote.form && mask_of(lane) == mask : vote == Value{};
  }
  return all;
}

}  // namespace glove::verify
