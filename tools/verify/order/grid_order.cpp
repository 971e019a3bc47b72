// Counters of grid barriers, flags, and fences.
#include "order/order.h"

#include <utility>

namespace glove::verify {

// What orders what the block did in earlier phases before a change: its own release, or the thread's fence.
// Without a clock: nothing does. A thread's fence covers what its block did before the barrier in front of
// it. With the fence in an earlier phase, each thread has to fence what it did since, and its fence is
// ordered with the addition by the barrier: for fence.sc this is enough, since fence.sc operations are
// totally ordered, so a thread that observes the addition fences after us.
FenceMark GridOrder::release_of(const BlockState& state, const Warp& warp, const Instruction& in, int lane) {
  const uint32_t thread = warp.thread(lane);
  if (in.order.release && in.order.scope == FenceScope::kDevice)
    return {state.clocks.known(thread), state.clocks.epoch(thread), state.shadow.phase, false, false};
  const FenceMark& mark = warp.fence[lane];
  const bool covers = mark.clock != nullptr && (mark.phase == state.shadow.phase ||
                                                (mark.sequential && state.unfenced_phase < mark.phase));
  return covers ? mark : FenceMark{};
}

bool GridOrder::counts_up(const Instruction& in, Value amount) const {
  return !setup_.cluster.several() && in.atomic == AtomicOp::kInc && amount.known() &&
         amount.constant + 1 >= setup_.blocks && !learned_.pair;
}

// Something adds one to a counter that may wrap. The results differ as long as each block adds once.
void GridOrder::increment(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                          bool certain) {
  SyncPlace& sync = sync_at(place);
  sync.wraps = true;
  counter_addition(state, warp, in, place, lane, {1, 0}, certain);
  if (report_.ended()) return;
  if (sync.spoiled || sync.changes.empty()) order_.tickets.spoil(place, 4);
}

SyncPlace& GridOrder::sync_at(const Place& place) {
  SyncPlace& sync = places_[order_.locations.number(place)];
  sync.key = key_of(place);
  return sync;
}

// What is written there is not followed.
void GridOrder::note_unclear(const Place& place) {
  if (follows() && place.space == Space::kGlobal) unclear_.insert(place.object);
}

// The thread changes a place by a number. `key`: what makes this the block's only such change.
void GridOrder::note_change(BlockState& state, const Warp& warp, const Instruction& in, int lane,
                            const Place& place, uint64_t key, Change change) {
  const uint32_t at = order_.locations.number(place), thread = warp.thread(lane);
  SyncPlace& sync = sync_at(place);
  const FenceMark mark = release_of(state, warp, in, lane);
  if (mark.clock != nullptr) {
    const auto known = releases_.find({at, key});
    const auto bit = known != releases_.end() ? known->second : static_cast<uint32_t>(releases_.size());
    if (bit >= 32 || has(state.arrived, bit)) {
      sync.spoiled = true;
      return note_unclear(place);
    }
    releases_[{at, key}] = bit;
    change.release = 1u << bit;
    change.carries = state.clocks.counters_of(*mark.clock);
    if (mark.phase != state.shadow.phase) fences_.needs_sequential |= change.release;
    if (!mark.sequential) fences_.light_releases |= change.release;
    places_of_[bit] = key_of(place);
    state.arrived |= change.release;
    state.releases[bit] = {thread, mark};
    state.clocks.advance({thread});  // what comes behind the release is not covered by it
  }
  // What came before a release of the place that comes before this change: any of the thread's own, or one
  // that the thread knows of.
  for (auto other = releases_.lower_bound({at, 0}); other != releases_.end() && other->first.first == at;
       ++other) {
    if (!has(state.arrived & ~change.release, other->second)) continue;
    const auto& [releaser, fence] = state.releases.at(other->second);
    if (releaser != thread && (mark.clock == nullptr || (*mark.clock)[releaser] < fence.epoch)) continue;
    change.release |= 1u << other->second;
    change.carries |= state.clocks.counters_of(*fence.clock);
  }
  const auto [known, first] = sync.changes.try_emplace({key, state.block}, change);
  if (first) return;
  Change& both = known->second;  // on several ways
  both = {std::max(both.number, change.number), std::min(both.least, change.least),
          both.release & change.release, both.carries & change.carries};
}

// A strong store of a number to a place that holds 0 before: a thread that reads the number there has seen
// this store, or another one of the same number. Returns false if the store is nothing of the kind.
bool GridOrder::raise_flag(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                           Value value, bool certain) {
  if (!follows() || !setup_.check_global || place.space != Space::kGlobal || place.kind != Place::kNumber ||
      !certain || !value.known() || (is_narrow(in.order.scope) && !in.order.is_volatile))
    return false;
  SyncPlace& sync = sync_at(place);
  if (sync.adds) return false;
  sync.stores = true;
  const uint64_t number = mask_bits(value.constant, bits_of(in.type));
  sync.spoiled |= number != 0 && sync.changes.count({0, state.block}) > 0;  // it may not hold 0 before
  note_change(state, warp, in, lane, place, number, {.number = number});
  return true;
}

// Whether the store may come after all that blocks add to the counter, which is looked at in the end. A block
// that adds to it once more after that does not count, and its ticket may be one that was drawn before.
bool GridOrder::resets_counter(const BlockState& state, const Warp& warp, const Place& place, int lane) {
  if (place.space != Space::kGlobal || place.kind != Place::kNumber) return false;
  const auto at = order_.locations.known_number(place);
  if (!at) return false;
  const auto counter = places_.find(*at);
  const uint32_t seen = state.clocks.seen_counters(warp.thread(lane));
  if (counter == places_.end() || !counter->second.adds || least_seen(seen, *at) == 0) return false;
  SyncPlace& sync = counter->second;
  sync.set_back.push_back({state.block, state.arrived, seen});
  if (sync.spoiled) order_.tickets.spoil(place, 4);
  return true;
}

void GridOrder::spoil_counter(const Place& place) {
  SyncPlace& sync = sync_at(place);
  sync.spoiled = true;
  if (!sync.set_back.empty() || sync.wraps) order_.tickets.spoil(place, 4);
}

// How often the block has added to the location.
uint32_t GridOrder::rounds(const BlockState& state, uint32_t at) const {
  uint32_t count = 0;
  for (auto release = releases_.lower_bound({at, 0});
       release != releases_.end() && release->first.first == at; ++release)
    count += state.arrived >> release->second & 1;
  return count;
}

// What the location holds at least, as who has seen the numbers knows.
uint64_t GridOrder::least_seen(uint32_t seen, uint32_t at) const {
  uint64_t least = 0;
  for (uint32_t i = 0; i < sights_.size(); ++i)
    if (has(seen, i) && sights_[i].location == at) least = std::max(least, sights_[i].least);
  return least;
}

// A block adds to a counter behind a fence. Where the first one adds 2^31 less the others' additions, the top
// bit changes with the last arrival at a grid barrier; each addition counts as one there.
void GridOrder::counter_addition(BlockState& state, Warp& warp, const Instruction& in, const Place& place,
                                 int lane, Value amount, bool certain) {
  if (!follows() || place.space != Space::kGlobal || place.kind != Place::kNumber) return;
  if (amount.known() && amount.constant == 0) return;  // it only reads
  const uint32_t at = order_.locations.number(place);
  SyncPlace& sync = sync_at(place);
  uint64_t number = mask_bits(amount.constant, bits_of(in.type));
  const uint32_t turn = 0x80000001u - setup_.blocks;
  if (state.block == 0 && amount.known() && number == turn && bits_of(in.type) == 32 && sync.changes.empty())
    reversing_.try_emplace(at, setup_.number_of(in));
  const bool turns = reversing_.count(at) > 0;
  if (turns && number == (state.block == 0 ? turn : 1u)) number = 1;
  const bool known = certain && amount.known() && number <= INT32_MAX && !sync.stores;
  const bool released = release_of(state, warp, in, lane).clock != nullptr;
  const uint64_t least = least_seen(state.clocks.seen_counters(warp.thread(lane)), at);
  const uint32_t before = rounds(state, at);
  const auto last = sync.changes.find({before, state.block});
  if (!known || is_narrow(in.order.scope) || !released || (turns && number != 1) ||
      (before > 0 &&
       (!sync.set_back.empty() || sync.wraps || last == sync.changes.end() || least <= last->second.least))) {
    // Additions of several threads, each of which releases, may count together.
    const auto release = releases_.find({at, before});
    const bool other = release != releases_.end() && has(state.arrived, release->second) &&
                       state.releases.at(release->second).first != warp.thread(lane);
    if (released && (!known || other)) note_unclear(place);
    return spoil_counter(place);
  }
  if (sights_.size() >= kMostSights && (before > 0 || turns))
    return report_.unproved(in,
                            "the blocks meet more often than " + std::to_string(kMostSights) +
                                " times, or how often is not known",
                            &state);
  sync.adds = true;
  note_change(state, warp, in, lane, place, before + 1, {.number = number, .least = least});
}

void GridOrder::observe(const BlockState& state, Warp& warp, const Instruction& in, const Place& place,
                        int lane, Value value) {
  const uint32_t at = place.space == Space::kGlobal && place.object == 0 ? 0 : order_.locations.number(place);
  Symbol& symbol = table_.change(table_.single(value));
  symbol.kind = SymbolKind::kObserved;
  symbol.type = in.type;
  symbol.detail = at;
  symbol.owner = setup_.owner_of(state, warp, lane);
  symbol.epoch = state.clocks.epoch(warp.thread(lane));
  warp.unfenced_loads |= 1u << lane;
  if (!reversing_.empty()) symbol.arguments[0] = {rounds(state, at), 0};
  if (in.order.acquire) symbol.arguments[1] = {1, 0};
  if (in.order.is_volatile || !is_narrow(in.order.scope)) symbol.arguments[2] = {1, 0};
}

void GridOrder::acquire_again(BlockState& state, const Warp& warp, const Instruction& in, const Place& place,
                              int lane) {
  const auto at = order_.locations.known_number(place);
  for (uint32_t i = 0; at && !is_narrow(in.order.scope) && i < sights_.size(); ++i)
    if (sights_[i].location == *at)
      see_counters(state, warp, lane, warp.observed[lane] & Observed::kOwn << i, false, false);
}

GridOrder::Seen GridOrder::seen_in(PredicateId fact) const {
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
    if (holds) return at >= 0 ? Seen{id, number.constant, true} : Seen{};
    return at == 0 ? Seen{id, 1, false} : Seen{};
  }
  if (predicate.compare != CompareKind::kLt || at < 0 || swapped != holds) return {};
  const uint64_t least = number.constant + (holds ? 1 : 0);  // number < seen, or not seen < number
  return least > 0 ? Seen{id, least, false} : Seen{};
}

// What the thread may do with a counter that is full, or a flag that is raised, as the symbol says, which
// some thread of the block has loaded: bits of Observed.
uint64_t GridOrder::standing(const BlockState& state, const Warp& warp, int lane,
                             const Symbol& symbol) const {
  const bool acquired = symbol.arguments[1].constant != 0;
  const FenceMark& mark = warp.fence[lane];
  if (symbol.owner == setup_.owner_of(state, warp, lane)) {
    uint64_t bits = Observed::kOwn | (acquired ? Observed::kAcquired : 0);
    if (mark.acquires && mark.epoch >= symbol.epoch)
      bits |= mark.sequential ? Observed::kFenced : Observed::kAcquired;
    return bits;
  }
  const uint32_t loader = symbol.owner - state.block * setup_.cluster.threads - 1;
  if (loader >= setup_.cluster.threads) return 0;
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

// The top bit of what a load saw is another than what the arrival saw before it.
std::optional<GridOrder::Round> GridOrder::turn_seen(const BlockState& state, PredicateId fact,
                                                     SymbolId* by) const {
  const Predicate& predicate = table_.predicate(fact);
  if (reversing_.empty() || predicate.kind != PredicateKind::kCompare || (fact & 1) != 0 ||
      predicate.compare != CompareKind::kLt || !predicate.is_signed || !(predicate.b == Value{0, 0}))
    return std::nullopt;
  const SymbolId both = table_.single(predicate.a);
  if (both == 0 || table_.symbol(both).op != Op::kXor) return std::nullopt;
  const SymbolId a = table_.single(table_.symbol(both).arguments[0]);
  const SymbolId b = table_.single(table_.symbol(both).arguments[1]);
  for (const auto& [key, bit] : releases_) {
    const auto arrived = state.arrived_at.find(bit);
    if (arrived == state.arrived_at.end() || (a != arrived->second && b != arrived->second)) continue;
    *by = a == arrived->second ? b : a;
    const Symbol &arrival = table_.symbol(arrived->second), &seen = table_.symbol(*by);
    if (*by != arrived->second && seen.kind == SymbolKind::kObserved && seen.detail == key.first &&
        seen.owner == arrival.owner && seen.arguments[0].constant == key.second &&
        seen.arguments[2].constant != 0)
      return Round{key.first, static_cast<uint32_t>(key.second)};
  }
  return std::nullopt;
}

// The number of what is seen at a place; more than are followed: that of what is not understood.
uint32_t GridOrder::sight(const Sight& seen) {
  const auto known = std::ranges::find(sights_, seen);
  if (known == sights_.end() && sights_.size() >= kMostSights) return 1u << kMostSights;
  const auto number = static_cast<uint32_t>(known - sights_.begin());
  if (known == sights_.end()) sights_.push_back(seen);
  return 1u << number;
}

// What has been seen of a counter or flag if the fact holds, as a bit, and by which symbol.
uint32_t GridOrder::numbers_seen(const BlockState& state, PredicateId fact, SymbolId* by) {
  if (const auto round = turn_seen(state, fact, by))
    return sight({round->first, uint64_t{round->second} * setup_.blocks, false});
  const Seen seen = seen_in(fact);
  *by = seen.symbol;
  if (seen.symbol == 0) {
    const auto [known, is_new] = observed_.try_emplace(fact);
    if (is_new) known->second = observed_in(fact);
    *by = known->second;
    return *by != 0 ? 1u << kMostSights : 0;
  }
  const Symbol& symbol = table_.symbol(seen.symbol);
  const bool observed = symbol.kind == SymbolKind::kObserved;
  if (observed && symbol.arguments[2].constant == 0) return 0;  // not for other blocks
  if (reversing_.count(symbol.detail) > 0 || symbol.detail == 0 || (observed && seen.least == 0)) return 0;
  const auto place = places_.find(symbol.detail);
  if (!observed && (place == places_.end() || !place->second.adds)) return 0;
  return sight({symbol.detail, seen.least + (observed ? 0 : 1), seen.exactly && observed});
}

// Conditions on what a strong load or an atomic addition saw may say that a counter is full or a flag raised.
void GridOrder::note_facts(const BlockState& state, Warp& warp, Lanes lanes) {
  if (!setup_.acquires) return;
  if (warp.noted.path != warp.path || warp.noted.block_path != state.path) warp.noted.epoch.fill(0);
  warp.noted.path = warp.path;
  warp.noted.block_path = state.path;
  if (warp.path == nullptr && state.path == nullptr) return;
  each_lane(lanes, [&](int lane) {
    uint32_t& noted = warp.noted.epoch[lane];
    if (std::exchange(noted, state.clocks.epoch(warp.thread(lane))) == state.clocks.epoch(warp.thread(lane)))
      return;
    const Reasoner reasoner(table_, position(state, warp, lane));
    reasoner.any_fact([&](PredicateId fact) {
      SymbolId by = 0;
      const uint32_t numbers = numbers_seen(state, fact, &by);
      if (numbers != 0) warp.observed[lane] |= standing(state, warp, lane, table_.symbol(by)) * numbers;
      return false;
    });
  });
}

void GridOrder::see_counters(BlockState& state, const Warp& warp, int lane, uint64_t seen, bool sequential,
                             bool elsewhere) {
  seen = seen & Observed::kAll & ~uint64_t{state.clocks.seen_counters(warp.thread(lane))};
  for (uint32_t counter = 0; counter < Clocks::kCounters; ++counter) {
    if (!has(seen, counter)) continue;
    state.clocks.see_counter(warp.thread(lane), counter);
    used_.insert(counter);
    if (!sequential) fences_.seen_without_sequential |= 1u << counter;
    if (elsewhere) fences_.seen_elsewhere |= 1u << counter;
  }
}

void GridOrder::acquire_seen(BlockState& state, Warp& warp, Lanes lanes) {
  if (!setup_.acquires) return;
  note_facts(state, warp, lanes);
  each_lane(lanes, [&](int lane) {
    const uint64_t observed = warp.observed[lane];
    if (observed < Observed::kAcquired) return;
    see_counters(state, warp, lane, observed / Observed::kFenced, true, false);
    see_counters(state, warp, lane, observed / Observed::kAcquired, false, false);
    see_counters(state, warp, lane, observed / Observed::kFencedElsewhere, true, true);
  });
}

void GridOrder::step_fence(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  // Blocks of a cluster are never followed here; their fences matter at the barriers of the cluster.
  if (in.order.scope != FenceScope::kDevice &&
      !(setup_.cluster.several() && in.order.scope == FenceScope::kCluster))
    return;
  const bool acquires = in.order.acquire || !in.order.release;
  if (acquires) note_facts(state, warp, lanes);
  each_lane(lanes, [&](int lane) {
    const uint32_t thread = warp.thread(lane);
    const uint64_t observed = acquires ? warp.observed[lane] : 0;
    see_counters(state, warp, lane, observed / Observed::kOwn, in.order.sequential, false);
    if (in.order.sequential) see_counters(state, warp, lane, observed / Observed::kElsewhere, true, true);
    if (acquires) warp.unfenced_loads &= ~(1u << lane);
    if (in.order.acquire && !in.order.release) return;
    warp.fence[lane] = {state.clocks.known(thread), state.clocks.epoch(thread), state.shadow.phase,
                        in.order.sequential, acquires};
    state.clocks.advance({thread});  // what comes behind the fence is not covered by it
  });
}

// Whether the access is the addition by which the block has arrived: who sees the counter full has seen it.
bool GridOrder::is_arrival(const BlockState& state, uint32_t counter, const AccessRecord& record, Lanes lanes,
                           const GlobalPlace& place) const {
  if (record.kind != AccessKind::kAtomic) return false;
  const GlobalPlace& at = places_of_.at(counter);
  const uint64_t begin = place.granule * setup_.granule;
  if (place.form != at.form || begin + setup_.granule <= at.granule || begin >= at.granule + record.bytes)
    return false;
  const uint32_t adder = state.releases.at(counter).first;
  return record.warp == adder / 32 && lanes == Lanes{1} << adder % 32;
}

void GridOrder::note_turn(BlockState& state, uint32_t location, Value value) {
  const uint32_t round = rounds(state, location);
  if (round > 0) state.arrived_at[releases_.at({location, round})] = table_.single(value);
}

std::vector<MemorySpan> GridOrder::reversing_places() const {
  std::vector<MemorySpan> spans;
  for (const auto& [location, instruction] : reversing_) spans.push_back(order_.locations.span(location));
  return spans;
}

}  // namespace glove::verify
