// Counters of grid barriers, and fences.
#include <utility>

#include "verify/run/kernel_run.h"

namespace glove::verify {

// Whether what the block did in earlier phases is behind a fence, as far as the thread's own says. A thread's
// fence covers what its block did before the barrier in front of it. With the fence in an earlier phase, each
// thread has to fence what it did since, and its fence is ordered with the addition by the barrier: for
// fence.sc this is enough, since the fence of who sees the addition comes later in the order of all such
// fences, or it would come before the addition that it has seen.
bool KernelRun::released(const BlockState& state, const Warp& warp, int lane) {
  const FenceMark& mark = warp.fence[static_cast<size_t>(lane)];
  if (!mark.clock) return false;
  return mark.phase == state.shadow.phase || (mark.sequential && state.unfenced_phase < mark.phase);
}

// An atomic increment that no block can see wrap if each adds once.
bool KernelRun::counts_up(const Instruction& in, Value amount) const {
  return in.atomic == AtomicOp::kInc && amount.known() && amount.constant + 1 >= blocks_;
}

// Something adds one to a counter that may wrap. The results differ as long as each block adds once.
void KernelRun::increment(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                          bool certain) {
  const uint32_t at = location(place);
  incremented_.insert(at);
  counter_addition(state, warp, in, place, lane, {1, 0}, certain);
  if (spoiled_.count(at) > 0 || counters_.count(at) == 0) spoil_tickets(place, 4);
}

// The number of a counter or a flag among all of them; nullopt: there are too many.
std::optional<uint32_t> KernelRun::counter_of(std::map<uint32_t, uint32_t>& kind, uint32_t at) const {
  const size_t used = counters_.size() + flags_.size();
  if (used >= Clocks::kCounters && kind.count(at) == 0) return std::nullopt;
  return kind.try_emplace(at, static_cast<uint32_t>(used)).first->second;
}

// A strong store of a number other than 0 to a place that holds 0 before: who reads another number than 0
// there has seen this store, if it is the only one. Returns false if the store is nothing of the kind.
bool KernelRun::raise_flag(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                           Value value, bool certain) {
  if (blocks_ < 2 || !check_global_ || place.space != Space::kGlobal || place.kind != Place::kNumber ||
      !certain || !value.known() || mask_bits(value.constant, bits_of(in.type)) == 0)
    return false;
  if ((in.fence == FenceScope::kBlock && !in.is_volatile) || !released(state, warp, lane)) return false;
  const uint32_t at = location(place);
  const auto number = counter_of(flags_, at);
  if (!number) return false;
  const uint32_t bit = 1u << *number;
  const auto [raised, first] = raised_.try_emplace(*number, state.block);
  if ((!first && raised->second != state.block) || (state.arrived & bit) != 0 || counters_.count(at) > 0)
    spoiled_.insert(at);
  const FenceMark& mark = warp.fence[static_cast<size_t>(lane)];
  if (mark.phase != state.shadow.phase) needs_sequential_ |= bit;
  if (!mark.sequential) light_releases_ |= bit;
  counter_places_[*number] = key_of(place);
  state.arrived |= bit;
  state.releases[*number] = {warp.thread(lane), mark};
  return true;
}

// Whether the store comes after all blocks have arrived at the counter. A block that adds to it once more
// after that does not count, and its ticket may be one that was drawn before.
bool KernelRun::resets_counter(const BlockState& state, const Warp& warp, const Place& place, int lane) {
  if (place.space != Space::kGlobal || place.kind != Place::kNumber) return false;
  const auto at = locations_.find(key_of(place));
  if (at == locations_.end()) return false;
  const auto counter = counters_.find(at->second);
  if (counter == counters_.end() ||
      (state.clocks.seen_counters(warp.thread(lane)) >> counter->second & 1) == 0)
    return false;
  reset_.insert(at->second);
  if (spoiled_.count(at->second) > 0) spoil_tickets(place, 4);
  return true;
}

void KernelRun::spoil_counter(const Place& place) {
  const uint32_t at = location(place);
  spoiled_.insert(at);
  if (reset_.count(at) > 0 || incremented_.count(at) > 0) spoil_tickets(place, 4);
}

// A block adds one to a counter behind a fence: the arrival at a grid barrier.
void KernelRun::counter_addition(BlockState& state, Warp& warp, const Instruction& in, const Place& place,
                                 int lane, Value amount, bool certain) {
  if (blocks_ < 2 || place.space != Space::kGlobal || place.kind != Place::kNumber) return;
  if (amount.known() && amount.constant == 0) return;  // it only reads
  const uint32_t at = location(place);
  const FenceMark& mark = warp.fence[static_cast<size_t>(lane)];
  if (!certain || in.fence == FenceScope::kBlock || !amount.known() || amount.constant != 1 ||
      !released(state, warp, lane))
    return spoil_counter(place);
  const auto number = counter_of(counters_, at);
  const auto flag = flags_.find(at);
  if (!number || (flag != flags_.end() && raised_.count(flag->second) > 0)) return spoil_counter(place);
  const uint32_t counter = *number;
  counter_places_[counter] = key_of(place);
  if (mark.phase != state.shadow.phase) needs_sequential_ |= 1u << counter;
  if (!mark.sequential) light_releases_ |= 1u << counter;
  if ((state.arrived >> counter & 1) != 0) spoil_counter(place);  // twice
  state.arrived |= 1u << counter;
  state.releases[counter] = {warp.thread(lane), mark};
  arrivals_[counter][state.block] |= 1;
}

// What a condition says about a number that a strong load or an atomic addition returned: that it is not 0,
// and that it is at least so much.
struct KernelRun::Seen {
  SymbolId symbol = 0;
  uint64_t least = 0;
};

KernelRun::Seen KernelRun::seen_in(PredicateId fact) const {
  const Predicate& predicate = table_.predicate(fact);
  const bool holds = (fact & 1) == 0;
  if (predicate.kind != PredicateKind::kCompare || predicate.is_float) return {};
  const bool swapped = predicate.a.known();
  const Value seen = swapped ? predicate.b : predicate.a, number = swapped ? predicate.a : predicate.b;
  const SymbolId id = table_.single(seen);
  if (id == 0 || !number.known()) return {};
  const SymbolKind kind = table_.symbol(id).kind;
  if (kind != SymbolKind::kObserved && kind != SymbolKind::kTicket) return {};
  const int64_t at = sign_extend(number.constant, predicate.bits);
  if (predicate.compare == CompareKind::kEq) {  // seen == number, or seen != 0
    if (holds) return at > 0 ? Seen{id, number.constant} : Seen{};
    return at == 0 ? Seen{id, 1} : Seen{};
  }
  if (predicate.compare != CompareKind::kLt || at < 0 || swapped != holds) return {};
  const uint64_t least = number.constant + (holds ? 1 : 0);  // number < seen, or not seen < number
  return least > 0 ? Seen{id, least} : Seen{};
}

// What the thread may do with a counter that is full, or a flag that is raised, as the symbol says, which
// some thread of the block has loaded: bits of Observed.
uint64_t KernelRun::standing(const BlockState& state, const Warp& warp, int lane,
                             const Symbol& symbol) const {
  const bool acquired = symbol.arguments[1].constant != 0;
  const FenceMark& mark = warp.fence[static_cast<size_t>(lane)];
  if (symbol.owner == owner_of(state, warp, lane)) {
    uint64_t bits = Observed::kOwn | (acquired ? Observed::kAcquired : 0);
    if (mark.acquires && mark.epoch >= symbol.epoch)
      bits |= mark.sequential ? Observed::kFenced : Observed::kAcquired;
    return bits;
  }
  const uint32_t loader = symbol.owner - state.block * threads_ - 1;
  if (loader >= threads_) return 0;
  const uint32_t known = (*state.clocks.known(warp.thread(lane)))[loader];
  if (known < symbol.epoch) return 0;  // nothing orders the load before what this thread does
  uint64_t bits = Observed::kElsewhere | (acquired ? Observed::kAcquired : 0);
  const FenceMark& loaders = state.warps[loader / 32].fence[loader % 32];
  if (loaders.acquires && loaders.epoch >= symbol.epoch && known >= loaders.epoch)
    bits |= loaders.sequential ? Observed::kFenced : Observed::kAcquired;
  if (mark.acquires && mark.sequential && (*mark.clock)[loader] >= symbol.epoch)
    bits |= Observed::kFencedElsewhere;
  return bits;
}

// Conditions on what a strong load or an atomic addition saw may say that a counter is full or a flag raised.
void KernelRun::note_facts(const BlockState& state, Warp& warp, Lanes lanes) {
  if (!acquires_) return;
  if (warp.noted_path != warp.path || warp.noted_block_path != state.path) warp.noted_epoch.fill(0);
  warp.noted_path = warp.path;
  warp.noted_block_path = state.path;
  if (warp.path == nullptr && state.path == nullptr) return;
  each_lane(lanes, [&](int lane) {
    uint32_t& noted = warp.noted_epoch[static_cast<size_t>(lane)];
    if (std::exchange(noted, state.clocks.epoch(warp.thread(lane))) == state.clocks.epoch(warp.thread(lane)))
      return;
    const Reasoner reasoner(table_, position(state, warp, lane));
    reasoner.any_fact([&](PredicateId fact) {
      const Seen seen = seen_in(fact);
      if (seen.symbol == 0) return false;
      const Symbol& symbol = table_.symbol(seen.symbol);
      const bool observed = symbol.kind == SymbolKind::kObserved;
      std::optional<uint32_t> number;
      const auto counter = counters_.find(symbol.detail);
      if (counter == counters_.end())
        number = observed && symbol.detail != 0 ? counter_of(flags_, symbol.detail) : std::nullopt;
      else if (seen.least + (observed ? 0 : 1) >= blocks_)
        number = counter->second;
      if (number) warp.observed[static_cast<size_t>(lane)] |= standing(state, warp, lane, symbol) << *number;
      return false;
    });
  });
}

void KernelRun::see_counters(BlockState& state, const Warp& warp, int lane, uint64_t seen, bool sequential,
                             bool elsewhere) {
  seen = seen & 0xff & ~uint64_t{state.clocks.seen_counters(warp.thread(lane))};
  for (uint32_t counter = 0; counter < Clocks::kCounters; ++counter) {
    if ((seen >> counter & 1) == 0) continue;
    state.clocks.see_counter(warp.thread(lane), counter);
    used_counters_.insert(counter);
    if (!sequential) seen_without_sequential_ |= 1u << counter;
    if (elsewhere) seen_elsewhere_ |= 1u << counter;
  }
}

// Before an access or a barrier: what was acquired before a branch has told what it was.
void KernelRun::acquire_seen(BlockState& state, Warp& warp, Lanes lanes) {
  if (!acquires_) return;
  note_facts(state, warp, lanes);
  each_lane(lanes, [&](int lane) {
    const uint64_t observed = warp.observed[static_cast<size_t>(lane)];
    if (observed < Observed::kAcquired) return;
    see_counters(state, warp, lane, observed / Observed::kFenced, true, false);
    see_counters(state, warp, lane, observed / Observed::kAcquired, false, false);
    see_counters(state, warp, lane, observed / Observed::kFencedElsewhere, true, true);
  });
}

void KernelRun::step_fence(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  if (in.fence != FenceScope::kDevice) return;
  // An access that releases is a fence for what comes before it, and acquires nothing that others have seen.
  const bool whole = in.op == Op::kFence;
  if (whole) note_facts(state, warp, lanes);
  each_lane(lanes, [&](int lane) {
    const uint32_t thread = warp.thread(lane);
    warp.fence[static_cast<size_t>(lane)] = {state.clocks.known(thread), state.clocks.epoch(thread),
                                             state.shadow.phase, in.sequential, whole};
    state.clocks.advance({thread});  // what comes behind the fence is not covered by it
    if (!whole) return;
    const uint64_t observed = warp.observed[static_cast<size_t>(lane)];
    see_counters(state, warp, lane, observed / Observed::kOwn, in.sequential, false);
    if (in.sequential) see_counters(state, warp, lane, observed / Observed::kElsewhere, true, true);
  });
}

}  // namespace glove::verify
