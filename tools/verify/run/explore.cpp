// Conditions that are the same for the whole block and have a barrier behind them: the block's state is
// forked. States that meet again at a full barrier are compared, so that loops of unknown length come to an
// end.
#include <algorithm>

#include "run/kernel_run.h"
#include "value/inputs.h"

namespace glove::verify {
namespace {

constexpr uint32_t kUnrolled = 4;  // rounds with a fork before a state is generalised
constexpr size_t kMostUnrolled = 16;
constexpr size_t kRemembered = 4;  // states of a lineage, to find loops of that period
constexpr size_t kMostSnapshots = 64;

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

// Where all lanes are, and what orders them with other blocks: a state in which fewer counters have been seen
// full, or which lacks a fence, is no instance of another one.
uint64_t KernelRun::place_of_state(const BlockState& state) const {
  uint64_t hash = 1469598103934665603u;
  const auto mix = [&](uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
  for (const Warp& warp : state.warps) {
    mix(warp.alive);
    each_lane(warp.alive, [&](int lane) {
      mix(static_cast<uint64_t>(warp.pc[static_cast<size_t>(lane)]));
      if (!acquires_) return;
      const FenceMark& mark = warp.fence[static_cast<size_t>(lane)];
      mix(state.clocks.seen_counters(warp.thread(lane)));
      mix(warp.observed[static_cast<size_t>(lane)]);
      mix((mark.sequential ? 1u : 0u) + (mark.acquires ? 2u : 0u) +
          (state.unfenced_phase < mark.phase ? 4u : 0u) + (warp.unfenced_loads >> lane & 1) * 8u);
    });
  }
  mix(state.arrived);
  return hash;
}

void KernelRun::fork(BlockState& state, PredicateId condition, uint32_t site) {
  if (forks_.size() > 4096)
    return unproved(kernel_.code[site], "too many conditions with barriers behind them", &state);
  ++state.forks;
  BlockState other = state;
  other.path = extend(state.path, condition ^ 1, site);
  state.path = extend(state.path, condition, site);
  for (const WaitBranch& wait : waits_.at(static_cast<int>(site)))
    log_wait(wait.taken_stays ? other : state, site, condition ^ (wait.taken_stays ? 1u : 0u));
  forks_.push_back(std::move(other));
}

void KernelRun::drop_thread_facts(BlockState& state) {
  // What one thread knows about its own data does not matter to the others, and would tell equal states
  // apart.
  for (Warp& warp : state.warps) warp.path = nullptr;
}

// Drops the registers that no lane reads again.
void KernelRun::forget_dead(Warp& warp) {
  std::set<int> places;
  each_lane(warp.alive, [&](int lane) { places.insert(warp.pc[static_cast<size_t>(lane)]); });
  for (size_t r = 0; r < warp.registers.size(); ++r) {
    const bool live = std::any_of(places.begin(), places.end(), [&](int place) {
      const auto& list = flow_.live_in(place);
      return std::binary_search(list.begin(), list.end(), static_cast<uint32_t>(r));
    });
    if (!live) warp.registers.forget(r);
  }
}

std::shared_ptr<BlockSnapshot> KernelRun::snapshot(const BlockState& state) {
  auto copy = std::make_shared<BlockSnapshot>();
  copy->warps = state.warps;
  for (Warp& warp : copy->warps) forget_dead(warp);
  copy->shared = state.shared;
  copy->path = state.path;
  copy->progress = state.progress;
  copy->flights = flights(state);
  copy->end = static_cast<SymbolId>(table_.symbol_count());
  return copy;
}

// Takes the registers and the shared memory of a state that covers this one.
void KernelRun::go_on_from(const BlockSnapshot& general, BlockState& state) {
  for (size_t w = 0; w < state.warps.size(); ++w) {
    Warp warp = general.warps[w];
    std::swap(warp.copies, state.warps[w].copies);  // what is in flight has the numbers of this state
    std::swap(warp.products, state.warps[w].products);
    state.warps[w] = std::move(warp);
  }
  state.shared = general.shared;
}

void KernelRun::at_full_barrier(BlockState& state) {
  if (check_global_) keep_for_grid(state);
  state.arrived_before = state.arrived;
  begin_phase(state);
  state.shared.settle(table_);
  for (const Slot& slot : state.shared.slots())
    if (slot.known == Known::kValue && slot.value.form != 0) table_.share(slot.value, 0);
  drop_thread_facts(state);
  if (state.path == nullptr) return;  // nothing unknown has decided so far
  const uint64_t place = place_of_state(state);
  auto& known = snapshots_[place];
  for (auto& general : known) {
    bool facts_differ = false;
    if (!subsumed(*general, state, &facts_differ)) continue;
    log_.instances.emplace_back(general->progress, state.progress);
    if (!facts_differ) return end_path(true);
    // The same state under other conditions: go on once more without them.
    state.path = common_facts(*general, state);
    general->path = state.path;
    return go_on_from(*general, state);
  }
  auto& lineage = state.lineage[place];
  uint32_t& forks = state.lineage_forks[place];
  if (!lineage.empty() && forks == state.forks) return;  // a loop of known length
  forks = state.forks;
  auto now = snapshot(state);
  // The last general state; a loop whose rounds alternate comes back to it only after a few.
  size_t since = 0;
  while (since < lineage.size() && lineage[lineage.size() - 1 - since]->iteration == 0) ++since;
  const bool has_general = since < lineage.size();
  // A state that was generalised elsewhere in this round is no step from the one before.
  const bool comparable = !lineage.empty() && (lineage.back()->generalisations == state.generalisations ||
                                               lineage.size() >= kMostUnrolled);
  now->generalisations = state.generalisations;
  if (has_general ? since >= 2 : comparable && lineage.size() >= kUnrolled) {
    if (has_general) {
      weaken(*lineage[lineage.size() - 1 - since], state, *now);
    } else {
      // The latest of those that are most alike.
      widen(**std::min_element(lineage.rbegin(), lineage.rbegin() + kRemembered,
                               [&](const auto& a, const auto& b) {
                                 return differences(*a, state) < differences(*b, state);
                               }),
            state, *now);
    }
    state.warps = now->warps;
    state.shared = now->shared;
    state.path = now->path;
    now->end = static_cast<SymbolId>(table_.symbol_count());
    now->generalisations = ++state.generalisations;
    assume("loop counters do not wrap");
  }
  lineage.push_back(now);
  if (known.size() < kMostSnapshots)
    known.push_back(now);
  else if (now->iteration != 0)
    known.back() = now;
}

size_t KernelRun::differences(const BlockSnapshot& a, const BlockState& b) {
  size_t count = 0;
  for (size_t w = 0; w < b.warps.size(); ++w) {
    const Warp& warp = b.warps[w];
    if (warp.alive == 0) continue;
    const int lane = std::countr_zero(warp.alive);
    for (const uint32_t r : flow_.live_in(warp.pc[static_cast<size_t>(lane)]))
      count += !(a.warps[w].registers[r].get(lane) == warp.registers[r].get(lane));
  }
  return count;
}

PathPointer KernelRun::common_facts(const BlockSnapshot& general, const BlockState& state) {
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
std::optional<Value> KernelRun::general_ticket(const BlockSnapshot& start, const BlockState& state,
                                               Value before, Value now, BlockSnapshot& result) {
  const SymbolId a = table_.single(before), b = table_.single(now);
  if (a == 0 || b == 0 || a == b || b < start.end || !result.flights.empty()) return std::nullopt;
  const Symbol drawn = table_.symbol(b);
  const bool local = std::any_of(state.warps.begin(), state.warps.end(),
                                 [](const Warp& warp) { return !warp.local.empty(); });
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
Value KernelRun::common_unknown(std::map<std::array<uint64_t, 4>, Value>& common, Value before, Value now,
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

// The state at a later round of a loop, as the start plus so many steps as the loop has run.
void KernelRun::widen(const BlockSnapshot& start, BlockState& state, BlockSnapshot& result) {
  Symbol symbol;
  symbol.kind = SymbolKind::kIteration;
  symbol.scope = Scope::kBlock;
  symbol.range = symbol.unsigned_range = {0, (Wide{1} << 31) - 1};
  symbol.bits = 64;
  result.iteration = table_.add_symbol(symbol);
  result.path = start.path;
  for (uint32_t r = 0; r < kernel_.registers.size(); ++r) {
    const Type type = kernel_.registers[r].type;
    const unsigned bits = std::max(16u, bits_of(type));
    // Lanes that had the same and have the same are taken to go on so; the next visit checks it.
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

// A general state did not cover this one: what differs from its next round may be anything, and what has not
// changed too, if other values have gone one round on.
void KernelRun::weaken(const BlockSnapshot& general, BlockState& state, BlockSnapshot& result) {
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
    for (uint32_t r = 0; r < kernel_.registers.size(); ++r) {
      std::map<std::array<uint64_t, 4>, Value> common;
      for (size_t w = 0; w < state.warps.size(); ++w)
        each_lane(state.warps[w].alive,
                  [&](int lane) { visit(r, general.warps[w].registers[r].get(lane), w, lane, common); });
    }
  };
  bool all_stay = true;
  each_register([&](uint32_t r, Value before, size_t w, int lane, auto&) {
    const Value now = result.warps[w].registers[r].get(lane);
    all_stay &= before == now || !next_round(before, now, kernel_.registers[r].type);
  });
  const auto stays = [&](Value before, Value now, bool predicate) {
    return before == now && (all_stay || !computed_from(table_, before, predicate, general.iteration));
  };
  each_register([&](uint32_t r, Value before, size_t w, int lane, auto& common) {
    const Type type = kernel_.registers[r].type;
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
