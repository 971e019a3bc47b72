#include "ways/explorer.h"

#include <algorithm>

#include "value/symbols.h"

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
  copy->flights = records_.flights(state);
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
Value Generaliser::common_unknown(std::map<std::array<uint64_t, 4>, Value>& common, Value before, Value now,
                                  Type type, BlockSnapshot& result) {
  const auto [found, added] = common.try_emplace({before.constant, before.form, now.constant, now.form});
  if (added && type == Type::kPred) {
    found->second = table_.fresh_predicate(Scope::kBlock, false);
    result.anything.push_back(found->second.form | 0x80000000u);
  } else if (added) {
    found->second = table_.fresh(std::max(16u, bits_of(type)), Scope::kBlock);
    result.anything.push_back(table_.single(found->second));
  }
  return found->second;
}

void Generaliser::widen(const BlockSnapshot& start, BlockState& state, BlockSnapshot& result) {
  Symbol symbol;
  symbol.kind = SymbolKind::kIteration;
  symbol.scope = Scope::kBlock;
  symbol.range = symbol.unsigned_range = {0, (Wide{1} << 31) - 1};
  symbol.bits = 64;
  result.iteration = table_.add_symbol(symbol);
  result.path = start.path;
  for (uint32_t r = 0; r < setup_.kernel.registers.size(); ++r) {
    const Type type = setup_.kernel.registers[r].type;
    const unsigned bits = std::max(16u, bits_of(type));
    // Lanes whose values were equal and still are equal are assumed to stay equal; the next visit checks it.
    std::map<std::array<uint64_t, 4>, Value> common;
    for (size_t w = 0; w < state.warps.size(); ++w)
      each_lane(state.warps[w].alive, [&](int lane) {
        RegisterFile& registers = result.warps[w].registers;
        const Value before = start.warps[w].registers[r].get(lane), now = registers[r].get(lane);
        if (before == now) return;
        std::optional<Value> general;
        if (type != Type::kPred) {
          if (!is_float(type)) general = stepped(table_, result.iteration, before, now, bits);
          if (!general) general = stepped_load(table_, result.iteration, before, now);
          if (!general) general = general_ticket(start, state, before, now, result);
        }
        registers.change(r).set(lane, general ? *general : common_unknown(common, before, now, type, result));
      });
  }
  for (size_t i = 0; i < result.shared.slots().size(); ++i) {
    Slot& now = result.shared.at(i * 4);
    const Slot before = i < start.shared.slots().size() ? start.shared.slots()[i] : Slot{};
    if (now.known != Known::kValue ||
        (before.known == Known::kValue && before.bytes == now.bytes && before.value == now.value))
      continue;
    std::optional<Value> general;
    if (before.known == Known::kValue && before.bytes == now.bytes) {
      const unsigned bits = 8u * std::max<unsigned>(now.bytes, 2u);
      general = stepped(table_, result.iteration, before.value, now.value, bits);
      if (!general) general = general_ticket(start, state, before.value, now.value, result);
    }
    if (general)
      now.value = *general;
    else
      now.known = Known::kUnknown;
    if (now.known == Known::kUnknown && now.bytes == 8) result.shared.at(i * 4 + 4).known = Known::kUnknown;
  }
}

void Generaliser::weaken(const BlockSnapshot& general, BlockState& state, BlockSnapshot& result) {
  result.iteration = general.iteration;
  result.anything = general.anything;
  result.path = general.path;
  const auto goes_on = [&](Value before, Value now, unsigned bits) {
    for (const LinearTerm& term : table_.terms(before.form))
      if (term.symbol == general.iteration)
        return table_.subtract(now, before, bits) ==
               Value{mask_bits(static_cast<uint64_t>(term.factor), bits), 0};
    return false;
  };
  const auto next_round = [&](Value before, Value now, Type type) {
    if (type == Type::kPred) return false;
    if (!alike_loads(table_, before, now)) return goes_on(before, now, std::max(16u, bits_of(type)));
    return goes_on(table_.symbol(table_.load(before)).arguments[0],
                   table_.symbol(table_.load(now)).arguments[0], 64);
  };
  const auto each_register = [&](auto visit) {
    for (uint32_t r = 0; r < setup_.kernel.registers.size(); ++r) {
      std::map<std::array<uint64_t, 4>, Value> common;
      for (size_t w = 0; w < state.warps.size(); ++w)
        each_lane(state.warps[w].alive,
                  [&](int lane) { visit(r, general.warps[w].registers[r].get(lane), w, lane, common); });
    }
  };
  bool all_stay = true;
  each_register([&](uint32_t r, Value before, size_t w, int lane, auto&) {
    const Value now = result.warps[w].registers[r].get(lane);
    all_stay &= before == now || !next_round(before, now, setup_.kernel.registers[r].type);
  });
  const auto stays = [&](Value before, Value now, bool predicate) {
    return before == now && (all_stay || !computed_from(table_, before, predicate, general.iteration));
  };
  each_register([&](uint32_t r, Value before, size_t w, int lane, auto& common) {
    const Type type = setup_.kernel.registers[r].type;
    const Value now = result.warps[w].registers[r].get(lane);
    if (stays(before, now, type == Type::kPred)) return;
    RegisterFile& registers = result.warps[w].registers;
    if (next_round(before, now, type)) return registers.change(r).set(lane, before);
    const auto ticket = type == Type::kPred || before == now
                            ? std::nullopt
                            : general_ticket(general, state, before, now, result);
    registers.change(r).set(lane, ticket ? *ticket : common_unknown(common, before, now, type, result));
  });
  for (size_t i = 0; i < result.shared.slots().size(); ++i) {
    Slot& now = result.shared.at(i * 4);
    const Slot before = i < general.shared.slots().size() ? general.shared.slots()[i] : Slot{};
    if (now.known == Known::kValue && before.known == Known::kValue && before.bytes == now.bytes &&
        stays(before.value, now.value, false))
      continue;
    if (now.known == Known::kNothingWritten && before.known == Known::kNothingWritten) continue;
    now.known = Known::kUnknown;
    if (now.bytes == 8) result.shared.at(i * 4 + 4).known = Known::kUnknown;
  }
}

}  // namespace glove::verify
