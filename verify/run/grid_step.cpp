// Counters of grid barriers, and fences.
#include "verify/run/kernel_run.h"

namespace glove::verify {

// A block adds one to a counter behind a fence: the arrival at a grid barrier.
void KernelRun::counter_addition(BlockState& state, Warp& warp, const Instruction& in, const Place& place,
                                 int lane, Value amount, bool certain) {
  if (blocks_ < 2 || place.space != Space::kGlobal || place.kind != Place::kNumber) return;
  const uint32_t at = location(place);
  const FenceMark& mark = warp.fence[static_cast<size_t>(lane)];
  if (!certain || in.fence == FenceScope::kBlock || !amount.known() || amount.constant != 1 || !mark.clock ||
      mark.phase != state.shadow.phase) {
    spoiled_.insert(at);
    return;
  }
  if (counters_.size() >= Clocks::kCounters && counters_.count(at) == 0) return;
  const uint32_t counter = counters_.try_emplace(at, static_cast<uint32_t>(counters_.size())).first->second;
  counter_places_[counter] = key_of(place);
  if ((state.arrived >> counter & 1) != 0) spoiled_.insert(at);  // twice
  state.arrived |= 1u << counter;
  state.releases[counter] = {warp.thread(lane), mark};
  arrivals_[counter][state.block] |= 1;
}

// Conditions on what a strong load or an atomic addition saw may say that a counter is full.
void KernelRun::note_facts(const BlockState& state, Warp& warp, Lanes lanes) {
  if (counters_.empty() || blocks_ < 2) return;
  each_lane(lanes, [&](int lane) {
    const Reasoner reasoner(table_, position(state, warp, lane));
    reasoner.any_fact([&](PredicateId fact) {
      // seen == number, or not (seen < number)
      const Predicate predicate = table_.predicate(fact);
      const bool holds = (fact & 1) == 0;
      if (predicate.kind != PredicateKind::kCompare || predicate.is_float) return false;
      if ((predicate.compare == CompareKind::kEq) != holds) return false;
      const bool swapped = predicate.a.known();
      const Value seen = swapped ? predicate.b : predicate.a, number = swapped ? predicate.a : predicate.b;
      const SymbolId id = table_.single(seen);
      if (id == 0 || !number.known() || (swapped && !holds) ||
          sign_extend(number.constant, predicate.bits) <= 0)
        return false;
      const Symbol& symbol = table_.symbol(id);
      const bool observed = symbol.kind == SymbolKind::kObserved;
      if (!observed && symbol.kind != SymbolKind::kTicket) return false;
      const auto counter = counters_.find(symbol.detail);
      if (counter == counters_.end() || counter->second >= Clocks::kCounters) return false;
      if (number.constant + (observed ? 0 : 1) >= blocks_)
        warp.observed[static_cast<size_t>(lane)] |= static_cast<uint8_t>(1u << counter->second);
      return false;
    });
  });
}

void KernelRun::step_fence(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  if (in.fence != FenceScope::kDevice) return;
  note_facts(state, warp, lanes);
  each_lane(lanes, [&](int lane) {
    const uint32_t thread = warp.thread(lane);
    warp.fence[static_cast<size_t>(lane)] = {state.clocks.known(thread), state.clocks.epoch(thread),
                                             state.shadow.phase};
    state.clocks.advance({thread});  // what comes behind the fence is not covered by it
    for (uint32_t counter = 0; counter < Clocks::kCounters; ++counter)
      if ((warp.observed[static_cast<size_t>(lane)] >> counter & 1) != 0) {
        state.clocks.see_counter(thread, counter);
        used_counters_.insert(counter);
      }
  });
}

}  // namespace glove::verify
