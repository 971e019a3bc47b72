#include "steps/steps.h"

#include <algorithm>

namespace glove::verify {

void ExchangeSteps::step_exchange(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  const Guarded guard = guard_of(state, warp, lanes, in);
  if (guard.possible != 0)
    return report_.unproved(in, "'" + in.text + "' stands under a condition that is not known", &state);
  lanes = guard.certain;
  if (lanes == 0) return;
  if (in.op == Op::kShuffle) return step_shuffle(state, warp, lanes, in);
  if (in.op == Op::kVote || in.op == Op::kActiveMask) return step_vote(state, warp, lanes, in);
  if (in.op == Op::kReduce) {  // the same for all
    const Value value = table_.fresh(32, Scope::kBlock);
    each_lane(lanes, [&](int lane) { write(state, warp, in.results[0], lane, value, 0); });
    return;
  }
  each_lane(lanes, [&](int lane) { write_unknown(state, warp, in, lane); });
}

void ExchangeSteps::step_shuffle(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  std::array<Value, 32> data{};
  const bool needed = !in.results.empty() && in.results[0].kind == OperandKind::kRegister;
  if (needed) each_lane(lanes, [&](int lane) { data[lane] = read(state, warp, in.operands[0], lane); });
  const std::optional<Value> common = needed ? from_one(state, warp, lanes, in, data) : std::nullopt;
  each_lane(lanes, [&](int lane) {
    const Value by = read(state, warp, in.operands[1], lane), clamp = read(state, warp, in.operands[2], lane);
    const bool checks = in.results.size() > 1 && in.results[1].kind == OperandKind::kRegister;
    std::optional<Value> result, valid;  // once they are known
    if (by.known() && clamp.known()) {
      const int segment = static_cast<int>(clamp.constant >> 8 & 0x1f),
                limit = static_cast<int>(clamp.constant & 0x1f);
      const int b = static_cast<int>(by.constant & 0x1f);
      const int most = (lane & segment) | (limit & ~segment), least = lane & segment;
      int from = in.collective.shuffle == ShuffleKind::kUp          ? lane - b
                 : in.collective.shuffle == ShuffleKind::kDown      ? lane + b
                 : in.collective.shuffle == ShuffleKind::kButterfly ? lane ^ b
                                                                    : least | (b & ~segment);
      const bool inside = in.collective.shuffle == ShuffleKind::kUp ? from >= most : from <= most;
      if (!inside) from = lane;
      valid = Value{inside ? 1u : 0u, 0};
      if (has(lanes, from)) result = data[from];
      if (result && from != lane) table_.share(*result, Scope::kWarp);
    } else if (needed && in.collective.shuffle == ShuffleKind::kIndex) {
      result = shuffled_from(state, warp, lanes, in, lane, data);
      if (!result) result = common;
    }
    if (needed)
      write(state, warp, in.results[0], lane,
            result ? *result : table_.fresh(32, Scope::kThread, false, SymbolKind::kClaim), 0);
    if (checks)
      write(state, warp, in.results[1], lane, valid ? *valid : table_.fresh_predicate(Scope::kThread, false),
            0);
  });
}

void ExchangeSteps::step_vote(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  if (in.results.empty() || in.results[0].kind != OperandKind::kRegister) return;
  const bool predicate = setup_.kernel.registers[in.results[0].index].type == Type::kPred;
  const auto all = [&](Value value) {
    each_lane(lanes, [&](int lane) { write(state, warp, in.results[0], lane, value, 0); });
  };
  if (in.op == Op::kActiveMask)
    return all(open_.innermost == nullptr
                   ? table_.fresh(32, Scope::kBlock)
                   : table_.fresh(32, Scope::kThread, false, SymbolKind::kClaim));  // of each lane its own
  Lanes yes = 0;
  bool known = true;
  Votes votes{};
  Value first;
  bool same = true;
  each_lane(lanes, [&](int lane) {
    Value value = read(state, warp, in.operands[0], lane);
    if (!value.known())
      if (const auto truth = Reasoner(table_, position(state, warp, lane)).truth(value))
        value = {*truth ? 1u : 0u, 0};
    if (lane == std::countr_zero(lanes)) first = value;
    same &= value == first;
    known &= value.known();
    yes |= Lanes{value.known() && value.constant != 0} << lane;
    votes[lane] = value;
  });
  if (known) {
    if (in.collective.vote == VoteKind::kBallot) return all({yes, 0});
    const bool result = in.collective.vote == VoteKind::kAll   ? yes == lanes
                        : in.collective.vote == VoteKind::kAny ? yes != 0
                                                               : yes == lanes || yes == 0;
    return all({result ? 1u : 0u, 0});
  }
  if (predicate && same && in.collective.vote != VoteKind::kUniform) return all(first);
  if (in.collective.vote == VoteKind::kBallot) return all(table_.ballot(votes));
  all(predicate ? table_.fresh_predicate(Scope::kBlock, false) : table_.fresh(32, Scope::kBlock));
}

// What all lanes of a whole warp get that ask one lane, whose number is not known; nullopt: they may ask
// several.
std::optional<Value> ExchangeSteps::from_one(const BlockState& state, const Warp& warp, Lanes lanes,
                                             const Instruction& in, const std::array<Value, 32>& data) {
  constexpr Value kWhole = {~Lanes{0}, 0};
  const Value by = read(state, warp, in.operands[1], 0);
  bool same = in.collective.shuffle == ShuffleKind::kIndex && lanes == ~Lanes{0} && !by.known() &&
              in.operands.size() > 3;
  each_lane(same ? lanes : 0, [&](int lane) {
    same &= read(state, warp, in.operands[1], lane) == by &&
            read(state, warp, in.operands[2], lane) == Value{31, 0} &&
            read(state, warp, in.operands[3], lane) == kWhole;
  });
  if (!same) return std::nullopt;
  const Value step = table_.subtract(data[1], data[0], 32);
  bool linear = step.known();
  each_lane(lanes & ~Lanes{1},
            [&](int lane) { linear &= table_.subtract(data[lane], data[lane - 1], 32) == step; });
  if (!linear) return table_.fresh(32, Scope::kWarp, false, SymbolKind::kClaim);
  const bool inside =
      Interval{0, 31}.contains(Reasoner(table_, position(state, warp, 0)).range(by, 32, true));
  const Value lane = inside ? by : table_.operation(Op::kAnd, Type::kB32, 0, 32, {by, {31, 0}});
  return table_.add(data[0], table_.scale(lane, sign_extend(step.constant, 32), 32), 32);
}

// Whether the number is that of the first or the last lane that has voted yes in the ballot.
bool ExchangeSteps::is_voter(Value lane, SymbolId ballot) const {
  const Symbol& found = table_.symbol(table_.single(lane));
  if (found.kind != SymbolKind::kOperation || found.op != Op::kFindBit || found.type != Type::kU32)
    return false;
  if (found.detail == 0) return table_.single(found.arguments[0]) == ballot;
  const Symbol& reversed = table_.symbol(table_.single(found.arguments[0]));
  return reversed.kind == SymbolKind::kOperation && reversed.op == Op::kBitReverse &&
         table_.single(reversed.arguments[0]) == ballot;
}

// Whether a value may turn out to be a ticket where more is known.
bool ExchangeSteps::may_be_ticket(Value value) const {
  const LinearTerms sum = table_.terms(value.form);
  return std::ranges::any_of(sum, [&](const LinearTerm& term) {
    const Symbol& symbol = table_.symbol(term.symbol);
    return symbol.kind == SymbolKind::kTicket ||
           (symbol.kind == SymbolKind::kOperation && (symbol.op == Op::kSelect || symbol.op == Op::kConvert));
  });
}

// What a lane gets from another, whose number is not known; nullopt: nothing is known about it.
std::optional<Value> ExchangeSteps::shuffled_from(const BlockState& state, const Warp& warp, Lanes lanes,
                                                  const Instruction& in, int lane,
                                                  const std::array<Value, 32>& data) {
  bool tickets = false;  // all others are not told apart
  each_lane(lanes, [&](int from) { tickets |= may_be_ticket(data[from]); });
  if (!tickets) return std::nullopt;
  const Value by = read(state, warp, in.operands[1], lane);
  // A lane that does not take part gives nothing, and the lane's number counts modulo 32.
  const Value mask = in.operands.size() > 3 ? read(state, warp, in.operands[3], lane) : Value{};
  const bool all = lanes == ~Lanes{0} && mask == Value{~Lanes{0}, 0};
  if (!(read(state, warp, in.operands[2], lane) == Value{31, 0}) || by.known() ||
      (!all && (mask.known() || !is_voter(by, table_.single(mask)))) ||
      !Interval{0, 31}.contains(Reasoner(table_, position(state, warp, lane)).range(by, 32, true)))
    return std::nullopt;
  std::vector<Value> gives;
  each_lane(lanes, [&](int from) {
    const Value number = {static_cast<uint64_t>(from), 0};
    const Value there = table_.compare(CompareKind::kEq, false, true, 32, by, number);
    const Reasoner reasoner(table_, position(state, warp, from));
    if (const auto truth = reasoner.truth(there); truth && !*truth) return;
    gives.push_back(reasoner.simplify_under(there.form, data[from], 32));
  });
  return handed_round(by, gives);
}

// One of the values, which lane `by` has: the same for all who ask that lane. Each is a ticket that its lane
// has drawn by an addition of the same number; then so is the result, and all are one drawing.
std::optional<Value> ExchangeSteps::handed_round(Value by, const std::vector<Value>& values) {
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

bool ExchangeSteps::voters_come(const BlockState& state, const Warp& warp, Lanes lanes,
                                const Instruction& in) {
  const auto mask_of = [&](int lane) { return read(state, warp, in.operands.back(), lane); };
  const Value mask = mask_of(std::countr_zero(lanes));
  const Votes* votes = table_.votes_of(table_.single(mask));
  if (votes == nullptr || open_.innermost == nullptr || open_.innermost->loops || warp.path == nullptr ||
      open_.innermost->running == nullptr || !open_.innermost->running->exact ||
      warp.path->parent != open_.innermost->before)
    return false;
  for (const Context* outer = open_.innermost->outer; outer != nullptr; outer = outer->outer)
    if (outer->loops || outer->running == nullptr || !outer->running->uniform) return false;
  bool all = true;
  for (int lane = 0; lane < 32; ++lane) {
    const Value vote = (*votes)[lane];
    const bool comes = has(lanes, lane);
    all &=
        comes ? !vote.known() && warp.path->of(lane) == vote.form && mask_of(lane) == mask : vote == Value{};
  }
  return all;
}

}  // namespace glove::verify
