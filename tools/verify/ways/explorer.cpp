#include "ways/ways.h"

#include <algorithm>

namespace glove::verify {

constexpr uint32_t kUnrolled = 4;  // rounds with a fork before a state is generalised
constexpr size_t kMostUnrolled = 16;
constexpr size_t kRemembered = 4;  // states of a lineage, to find loops of that period
constexpr size_t kMostSnapshots = 64;
constexpr uint32_t kMostForks = 256;  // between two full barriers
constexpr uint32_t kMostMbarrierForks = 32;

void Explorer::begin(BlockState state) {
  snapshots_.clear();
  forks_.clear();
  forks_.push_back(std::move(state));
}

std::optional<BlockState> Explorer::next() {
  if (forks_.empty()) return std::nullopt;
  std::optional<BlockState> state = std::move(forks_.back());
  forks_.pop_back();
  return state;
}

// Where all lanes are, and what orders them with other blocks: a state in which fewer counters have been seen
// full, or which lacks a fence, is no instance of another one.
uint64_t Explorer::place_of_state(const BlockState& state) const {
  uint64_t hash = 1469598103934665603u;
  const auto add = [&](uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
  for (const Warp& warp : state.warps) {
    add(warp.alive);
    each_lane(warp.alive, [&](int lane) {
      add(static_cast<uint64_t>(warp.pc[lane]));
      if (!setup_.acquires) return;
      const FenceMark& mark = warp.fence[lane];
      add(state.clocks.seen_counters(warp.thread(lane)));
      if (mark.clock != nullptr) add(state.clocks.counters_of(*mark.clock));
      add(warp.observed[lane]);
      add((mark.sequential ? 1u : 0u) + (mark.acquires ? 2u : 0u) +
          (state.unfenced_phase < mark.phase ? 4u : 0u) + (warp.unfenced_loads >> lane & 1) * 8u);
    });
  }
  add(state.arrived);
  return hash;
}

void Explorer::fork(BlockState& state, PredicateId condition, uint32_t site) {
  if (setup_.has_mbarriers && state.forks.all >= kMostMbarrierForks)
    return report_.unproved(setup_.kernel.code[site],
                            "a loop around mbarriers whose length is not known; give what decides it",
                            &state);
  if (forks_.size() > 4096)
    return report_.unproved(setup_.kernel.code[site], "too many conditions with barriers behind them",
                            &state);
  if (std::map<uint64_t, unsigned> parameters; ++state.forks.of_phase > kMostForks) {
    add_parameters_on_way({nullptr, state.path.get(), 0}, parameters);
    return report_.unproved(
        setup_.kernel.code[site],
        "a loop goes round without a barrier of the block, " +
            (parameters.empty() ? "for which too many conditions decide" : depends_on(parameters)),
        &state);
  }
  ++state.forks.all;
  BlockState other = state;
  other.path = extend(state.path, condition ^ 1, site);
  state.path = extend(state.path, condition, site);
  for (const WaitBranch& wait : setup_.waits.at(static_cast<int>(site)))
    order_.waits.log_wait(wait.taken_stays ? other : state, site, condition ^ (wait.taken_stays ? 1u : 0u));
  forks_.push_back(std::move(other));
}

// Takes the registers and the shared memory of a state that covers this one.
void Explorer::go_on_from(const BlockSnapshot& general, BlockState& state) {
  for (size_t w = 0; w < state.warps.size(); ++w) {
    Warp warp = general.warps[w];
    std::swap(warp.copies, state.warps[w].copies);  // what is in flight has the numbers of this state
    std::swap(warp.products, state.warps[w].products);
    state.warps[w] = std::move(warp);
  }
  state.shared = general.shared;
}

// What lies behind a full barrier is ordered with all before, and all threads may know what was written.
void Explorer::begin_phase(BlockState& state) {
  state.forks.of_phase = 0;
  if (setup_.check_global) order_.grid_races.keep(state);
  state.arrived_before = state.arrived;
  order_.records.begin_phase(state, setup_.blocks < 2 && forks_.empty());
  state.shared.settle(table_);
  state.shared.settle_defined(
      std::ranges::all_of(state.warps, [](const Warp& warp) { return warp.alive == warp.lanes; }));
  for (const Slot& slot : state.shared.slots())
    if (slot.known == Known::kValue && slot.value.form != 0) table_.share(slot.value, Scope::kBlock);
  // What one thread knows about its own data matters to no other, and would tell equal states apart.
  for (Warp& warp : state.warps) warp.path = nullptr;
}

void Explorer::at_full_barrier(BlockState& state) {
  begin_phase(state);
  // Nothing unknown has decided, phases differ, or threads that have left matter.
  if (state.path == nullptr || setup_.has_mbarriers || !state.cluster.remote.empty()) return;
  const uint64_t place = place_of_state(state);
  auto& known = snapshots_[place];
  for (auto& general : known) {
    bool facts_differ = false;
    if (!generaliser_.subsumed(*general, state, &facts_differ)) continue;
    order_.waits.note_instance(general->progress, state.progress);
    const bool defines_more = !general->shared.defined_within(state.shared);
    if (!facts_differ && !defines_more) return report_.end_path(true);
    // The same state under other conditions, or where less was written: go on once more without them.
    general->shared.keep_defined(state.shared);
    state.path = generaliser_.common_facts(*general, state);
    general->path = state.path;
    return go_on_from(*general, state);
  }
  auto& [lineage, forks] = state.lineages[place];
  if (!lineage.empty() && forks == state.forks.all) return;  // a loop of known length
  forks = state.forks.all;
  auto now = generaliser_.snapshot(state);
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
      generaliser_.weaken(*lineage[lineage.size() - 1 - since], state, *now);
    } else {
      // The latest of those that are most alike.
      generaliser_.widen(**std::min_element(lineage.rbegin(), lineage.rbegin() + kRemembered,
                                            [&](const auto& a, const auto& b) {
                                              return generaliser_.differences(*a, state) <
                                                     generaliser_.differences(*b, state);
                                            }),
                         state, *now);
    }
    state.warps = now->warps;
    state.shared = now->shared;
    state.path = now->path;
    now->end = static_cast<SymbolId>(table_.symbol_count());
    now->generalisations = ++state.generalisations;
    report_.assume("loop counters do not wrap");
  }
  lineage.push_back(now);
  if (known.size() < kMostSnapshots)
    known.push_back(now);
  else if (now->iteration != 0)
    known.back() = now;
}

}  // namespace glove::verify
