#include "ways/ways.h"

#include <algorithm>

namespace glove::verify {
namespace {

// Whether two values are loads from memory that nobody writes which differ in the address alone.
bool alike_loads(const SymbolTable& table, Value before, Value now) {
  const SymbolId first = table.load(before), second = table.load(now);
  if (first == 0 || second == 0) return false;
  const Symbol &a = table.symbol(first), &b = table.symbol(second);
  return a.type == b.type && a.detail == b.detail && a.bits == b.bits;
}

// Returns `before` plus as many steps from `before` to `now` as a loop has run, or nullopt if the step is not
// a constant.
std::optional<Value> stepped(SymbolTable& table, SymbolId iteration, Value before, Value now, unsigned bits) {
  const Value step = table.subtract(now, before, bits);
  if (!step.known()) return std::nullopt;
  if (step.constant == 0) return before;
  return table.add(before, table.scale(table.of(iteration), sign_extend(step.constant, bits), bits), bits);
}

// Returns what a round loads from memory that nobody writes, at an address that moves from round to round.
std::optional<Value> stepped_load(SymbolTable& table, SymbolId iteration, Value before, Value now) {
  if (!alike_loads(table, before, now)) return std::nullopt;
  const Symbol load = table.symbol(table.load(before));
  const Value last = table.symbol(table.load(now)).arguments[0];
  const auto address = stepped(table, iteration, load.arguments[0], last, 64);
  if (!address) return std::nullopt;
  return table.loaded(load.type, load.detail, load.bits, *address);
}

// What a lane has stored in its own memory.
const Contents& local_of(const Warp& warp, size_t lane) {
  static const Contents kNothing;
  return lane < warp.local.size() ? warp.local[lane] : kNothing;
}

// Finds for each symbol of the general state that is its own the value that it has in the present state.
class Instance {
 public:
  Instance(const BlockSnapshot& general, SymbolTable& table)
      : general_(general), table_(table), inputs_(table, first_own(general)) {}

  bool is_any(SymbolId symbol) const {
    return std::ranges::find(general_.anything, symbol) != general_.anything.end();
  }

  bool matches(Value pattern, Value value, unsigned bits) {
    const LinearTerm* sought = nullptr;
    Value rest = {pattern.constant, 0};
    for (const LinearTerm& term : table_.terms(pattern.form)) {
      const auto found = meaning_.find(term.symbol);
      if (found != meaning_.end()) {
        rest = table_.add(rest, table_.scale(found->second, term.factor, bits), bits);
      } else if (sought == nullptr && is_own(term.symbol)) {
        sought = &term;
      } else {
        if (sought == nullptr && is_moving_load(pattern)) return matches_load(pattern, value);
        if (!inputs_stay(term.symbol, 0)) return false;
        rest = table_.add(rest, table_.times(term, bits), bits);
      }
    }
    return sought == nullptr ? rest == value : matches_term(LinearTerm(*sought), rest, value, bits);
  }

  bool matches_predicate(Value pattern, Value value) {
    if (pattern.known()) return pattern == value;
    if (!is_any(pattern.form | kPredicateBit)) return pattern == value && inputs_stay(0, pattern.form);
    return meaning_.try_emplace(pattern.form | kPredicateBit, value).first->second == value;
  }

  bool matches_contents(const Contents& general, const Contents& present) {
    const auto& slots = general.slots();
    const auto& now = present.slots();
    for (size_t i = 0; i < std::max(slots.size(), now.size()); ++i) {
      const Slot a = i < slots.size() ? slots[i] : Slot{}, b = i < now.size() ? now[i] : Slot{};
      if (a.known == Known::kUnknown && b.known != Known::kNothingWritten) continue;
      if (a.known != b.known) return false;
      if (a.known != Known::kValue) continue;
      if (a.bytes != b.bytes || !matches(a.value, b.value, 8u * std::max<unsigned>(a.bytes, 2u)))
        return false;
    }
    return true;
  }

 private:
  bool is_own(SymbolId symbol) const {
    return (symbol == general_.iteration && general_.iteration != 0) || is_any(symbol);
  }

  // The first of the state's own symbols; predicates may stand before it.
  static SymbolId first_own(const BlockSnapshot& general) {
    SymbolId first = general.iteration != 0 ? general.iteration : ~0u;
    for (const SymbolId symbol : general.anything)
      first = std::min(first, (symbol & kPredicateBit) != 0 ? 1 : symbol);
    return first;
  }

  // value = rest + factor * symbol, which no other value has given a meaning so far.
  bool matches_term(LinearTerm term, Value rest, Value value, unsigned bits) {
    const bool iteration = term.symbol == general_.iteration;
    if (!iteration && term.factor != 1) return false;
    const Value scaled = table_.subtract(value, rest, bits);
    if (!iteration) {
      if (table_.symbol(term.symbol).kind == SymbolKind::kTicket && !is_new_ticket(term.symbol, scaled))
        return false;
      meaning_[term.symbol] = scaled;
      table_.note_source(term.symbol, scaled);
      return true;
    }
    // value = rest + factor * (iteration + rounds)
    const Value step = table_.subtract(scaled, table_.times(term, bits), bits);
    const int64_t by = sign_extend(step.constant, bits);
    if (step.known() && by % term.factor == 0) {
      const int64_t rounds = by / term.factor;
      if (rounds < 0) return false;
      meaning_[term.symbol] = table_.add(table_.of(term.symbol), {static_cast<uint64_t>(rounds), 0}, 64);
      return true;
    }
    const int64_t number = sign_extend(scaled.constant, bits);
    if (!scaled.known() || number % term.factor != 0 || number / term.factor < 0) return false;
    meaning_[term.symbol] = {static_cast<uint64_t>(number / term.factor), 0};
    return true;
  }

  // A general ticket stands for itself, or for one that was drawn since, which no other one stands for.
  bool is_new_ticket(SymbolId general, Value value) const {
    const SymbolId id = table_.single(value);
    if (id == 0 || !table_.drawn_alike(general, id)) return false;
    if (id != general && id < general_.end) return false;
    return std::ranges::none_of(meaning_, [&](const auto& known) {
      return known.second == value && table_.symbol(known.first).kind == SymbolKind::kTicket;
    });
  }

  // A load from memory that nobody writes, at an address that is the state's own.
  bool is_moving_load(Value value) const {
    const SymbolId load = table_.load(value);
    return load != 0 && std::ranges::any_of(table_.terms(table_.symbol(load).arguments[0].form),
                                            [&](const LinearTerm& term) { return is_own(term.symbol); });
  }

  bool matches_load(Value pattern, Value value) {
    return alike_loads(table_, pattern, value) && matches(table_.symbol(table_.load(pattern)).arguments[0],
                                                          table_.symbol(table_.load(value)).arguments[0], 64);
  }

  // Whether all symbols of the state's own from which a symbol or a predicate is computed can stand for
  // themselves, which they do from now on.
  bool inputs_stay(SymbolId symbol, PredicateId predicate) {
    const auto means = [&](uint32_t own, Value itself) {
      return meaning_.try_emplace(own, itself).first->second == itself;
    };
    return inputs_.all(
        symbol, predicate, [&](SymbolId id) { return !is_own(id) || means(id, table_.of(id)); },
        [&](PredicateId id) {
          return (!is_any(id | kPredicateBit) || means(id | kPredicateBit, {0, id})) &&
                 (!is_any(id | 1 | kPredicateBit) || means(id | 1 | kPredicateBit, {0, id | 1}));
        });
  }

  static constexpr uint32_t kPredicateBit = 0x80000000u;
  const BlockSnapshot& general_;
  SymbolTable& table_;
  std::map<SymbolId, Value> meaning_;  // of the state's own symbols, and with kPredicateBit of its predicates
  ValueInputs inputs_;
};

}  // namespace

// Drops the registers that no lane reads again.
void Generaliser::forget_dead(Warp& warp) {
  std::set<int> places;
  each_lane(warp.alive, [&](int lane) { places.insert(warp.pc[lane]); });
  for (size_t r = 0; r < warp.registers.size(); ++r) {
    const bool live = std::ranges::any_of(places, [&](int place) {
      const auto& list = setup_.flow.live_in(place);
      return std::ranges::binary_search(list, static_cast<uint32_t>(r));
    });
    if (!live) warp.registers.forget(r);
  }
}

std::shared_ptr<BlockSnapshot> Generaliser::snapshot(const BlockState& state) {
  auto copy = std::make_shared<BlockSnapshot>();
  copy->warps = state.warps;
  for (Warp& warp : copy->warps) forget_dead(warp);
  copy->shared = state.shared;
  copy->path = state.path;
  copy->progress = state.progress;
  copy->flights = order_.records.flights(state);
  copy->end = static_cast<SymbolId>(table_.symbol_count());
  return copy;
}

size_t Generaliser::differences(const BlockSnapshot& a, const BlockState& b) {
  size_t count = 0;
  for (size_t w = 0; w < b.warps.size(); ++w) {
    const Warp& warp = b.warps[w];
    if (warp.alive == 0) continue;
    const int lane = std::countr_zero(warp.alive);
    for (const uint32_t r : setup_.flow.live_in(warp.pc[lane]))
      count += !(a.warps[w].registers[r].get(lane) == warp.registers[r].get(lane));
  }
  return count;
}

PathPointer Generaliser::common_facts(const BlockSnapshot& general, const BlockState& state) {
  const Reasoner reasoner(table_, {nullptr, state.path.get(), 0});
  std::vector<const Path*> kept;
  for (const Path* path = general.path.get(); path != nullptr; path = path->parent.get()) {
    const auto truth = reasoner.truth(Value{0, path->everyone});
    if (truth && *truth) kept.push_back(path);
  }
  PathPointer common;
  for (auto path = kept.rbegin(); path != kept.rend(); ++path)
    common = extend(common, (*path)->everyone, (*path)->site);
  if (common == nullptr && general.path != nullptr) common = extend(nullptr, 0, general.path->site);
  return common;
}

// The ticket that stands for those which the rounds of a loop draw, if both values are such tickets: nullopt
// if they are not. It differs from all other tickets of the state, since all that hold the same one are
// generalised alike: nobody held it in the state `start` yet.
std::optional<Value> Generaliser::general_ticket(const BlockSnapshot& start, const BlockState& state,
                                                 Value before, Value now, BlockSnapshot& result) {
  const SymbolId a = table_.single(before), b = table_.single(now);
  if (a == 0 || b == 0 || a == b || b < start.end || !result.flights.empty()) return std::nullopt;
  const Symbol drawn = table_.symbol(b);
  const bool local = std::ranges::any_of(state.warps, [](const Warp& warp) { return !warp.local.empty(); });
  if (local || !table_.drawn_alike(a, b)) return std::nullopt;
  const auto [found, added] = result.tickets.try_emplace(b);
  if (!added) return found->second;
  found->second = table_.fresh(drawn.bits, drawn.scope);
  const SymbolId id = table_.single(found->second);
  Symbol& general = table_.change(id);
  general.kind = SymbolKind::kTicket;
  general.detail = drawn.detail;
  general.owner = drawn.owner;
  general.arguments[0] = drawn.arguments[0];
  general.range = drawn.range;
  general.unsigned_range = drawn.unsigned_range;
  result.anything.push_back(id);
  return found->second;
}

// A new unknown, the same for all lanes whose values were the same before and are the same now.
Value Generaliser::common_unknown(Unknowns& common, Value before, Value now, Type type,
                                  BlockSnapshot& result) {
  const auto [found, added] = common.try_emplace({before.constant, before.form, now.constant, now.form});
  if (!added) return found->second;
  found->second = table_.fresh_of(type, Scope::kBlock);
  if (type != Type::kPred)
    for (const Value& source : {before, now}) table_.note_source(table_.single(found->second), source);
  result.anything.push_back(type == Type::kPred ? found->second.form | 0x80000000u
                                                : table_.single(found->second));
  return found->second;
}

// Replaces each value of a register in `result` by what visit(type, value in `start`, present value,
// unknowns) returns. Lanes whose values were equal and still are equal are assumed to stay equal, and share
// an unknown; the next visit checks it.
template <class Visit>
void Generaliser::each_register(const BlockSnapshot& start, const BlockState& state, BlockSnapshot& result,
                                Visit visit) {
  for (uint32_t r = 0; r < setup_.kernel.registers.size(); ++r) {
    Unknowns common;
    for (size_t w = 0; w < state.warps.size(); ++w)
      each_lane(state.warps[w].alive, [&](int lane) {
        RegisterFile& registers = result.warps[w].registers;
        const Value now = registers[r].get(lane);
        const Value next =
            visit(setup_.kernel.registers[r].type, start.warps[w].registers[r].get(lane), now, common);
        if (!(next == now)) registers.change(r).set(lane, next);
      });
  }
}

void Generaliser::widen(const BlockSnapshot& start, BlockState& state, BlockSnapshot& result) {
  result.iteration = table_.single(table_.iteration(Scope::kBlock));
  result.path = start.path;
  each_register(start, state, result, [&](Type type, Value before, Value now, auto& common) -> Value {
    if (before == now) return now;
    std::optional<Value> general;
    if (type != Type::kPred) {
      if (!is_float(type)) general = stepped(table_, result.iteration, before, now, register_bits(type));
      if (!general) general = stepped_load(table_, result.iteration, before, now);
      if (!general) general = general_ticket(start, state, before, now, result);
    }
    return general ? *general : common_unknown(common, before, now, type, result);
  });
  const auto next = [&](const Slot& before, const Slot& now) -> std::optional<Value> {
    if (before.value == now.value) return now.value;
    const unsigned bits = 8u * std::max<unsigned>(now.bytes, 2u);
    const auto general = stepped(table_, result.iteration, before.value, now.value, bits);
    return general ? general : general_ticket(start, state, before.value, now.value, result);
  };
  each_contents(start, result,
                [&](const Contents& before, Contents& now) { replace(before, now, false, next); });
}

// Calls visit(contents in `start`, contents in `result`) of the shared memory and of each lane's own.
template <class Visit>
void Generaliser::each_contents(const BlockSnapshot& start, BlockSnapshot& result, Visit visit) {
  visit(start.shared, result.shared);
  for (size_t w = 0; w < result.warps.size(); ++w)
    for (size_t lane = 0; lane < result.warps[w].local.size(); ++lane)
      visit(local_of(start.warps[w], lane), result.warps[w].local[lane]);
}

// Replaces each value that was known before, too, by next(before, now); nullopt: it is unknown from now on,
// as is one that was not known. all: what holds no value is unknown as well.
template <class Next>
void Generaliser::replace(const Contents& before, Contents& contents, bool all, Next next) {
  for (size_t i = 0; i < contents.slots().size(); ++i) {
    Slot& now = contents.slot(i);
    const Slot then = i < before.slots().size() ? before.slots()[i] : Slot{};
    if (all ? now.known == Known::kNothingWritten && then.known == Known::kNothingWritten
            : now.known != Known::kValue)
      continue;
    const bool both = now.known == Known::kValue && then.known == Known::kValue && then.bytes == now.bytes;
    const std::optional<Value> value = both ? next(then, now) : std::nullopt;
    if (value)
      now.value = *value;
    else
      now.known = Known::kUnknown;
    if (!value && now.bytes == 8) contents.slot(i + 1).known = Known::kUnknown;
  }
}

void Generaliser::weaken(const BlockSnapshot& general, BlockState& state, BlockSnapshot& result) {
  result.iteration = general.iteration;
  result.anything = general.anything;
  result.path = general.path;
  const auto next_round = [&](Value before, Value now, Type type) {
    if (type == Type::kPred) return false;
    if (!alike_loads(table_, before, now))
      return table_.goes_on(before, now, general.iteration, register_bits(type));
    return table_.goes_on(table_.symbol(table_.load(before)).arguments[0],
                          table_.symbol(table_.load(now)).arguments[0], general.iteration, 64);
  };
  bool all_stay = true;
  each_register(general, state, result, [&](Type type, Value before, Value now, auto&) -> Value {
    all_stay &= before == now || !next_round(before, now, type);
    return now;
  });
  const auto stays = [&](Value before, Value now, bool predicate) {
    return before == now && (all_stay || !computed_from(table_, before, predicate, general.iteration));
  };
  each_register(general, state, result, [&](Type type, Value before, Value now, auto& common) -> Value {
    if (stays(before, now, type == Type::kPred)) return now;
    if (next_round(before, now, type)) return before;
    std::optional<Value> ticket;
    if (type != Type::kPred && !(before == now)) ticket = general_ticket(general, state, before, now, result);
    return ticket ? *ticket : common_unknown(common, before, now, type, result);
  });
  const auto next = [&](const Slot& before, const Slot& now) {
    return stays(before.value, now.value, false) ? std::optional(now.value) : std::nullopt;
  };
  each_contents(general, result,
                [&](const Contents& before, Contents& now) { replace(before, now, true, next); });
}

// Whether a state is an instance of a general one from which everything was explored.
bool Generaliser::subsumed(const BlockSnapshot& general, const BlockState& state, bool* facts_differ) {
  Instance instance(general, table_);
  const auto warp_matches = [&](const Warp& pattern, const Warp& warp, int place) {
    for (const uint32_t r : setup_.flow.live_in(place)) {
      const Type type = setup_.kernel.registers[r].type;
      bool all = true;
      each_lane(warp.alive, [&](int lane) {
        if (!all || warp.pc[lane] != place) return;
        const Value a = pattern.registers[r].get(lane), b = warp.registers[r].get(lane);
        all = type == Type::kPred ? instance.matches_predicate(a, b)
                                  : instance.matches(a, b, register_bits(type));
      });
      if (!all) return false;
    }
    return true;
  };
  for (size_t w = 0; w < state.warps.size(); ++w) {
    const Warp& warp = state.warps[w];
    std::set<int> places;
    each_lane(warp.alive, [&](int lane) { places.insert(warp.pc[lane]); });
    for (const int place : places)
      if (!warp_matches(general.warps[w], warp, place)) return false;
    const size_t locals = std::max(warp.local.size(), general.warps[w].local.size());
    for (size_t lane = 0; lane < locals; ++lane)
      if (has(warp.alive, static_cast<int>(lane)) &&
          !instance.matches_contents(local_of(general.warps[w], lane), local_of(warp, lane)))
        return false;
  }
  if (!instance.matches_contents(general.shared, state.shared) ||
      general.flights != order_.records.flights(state))
    return false;
  const Reasoner reasoner(table_, {nullptr, state.path.get(), 0});
  for (const Path* path = general.path.get(); path != nullptr; path = path->parent.get()) {
    const auto truth = reasoner.truth(Value{0, path->everyone});
    if (!truth || !*truth) *facts_differ = true;
  }
  return true;
}

}  // namespace glove::verify
