// Counters of grid barriers, flags, and fences.
#include "order/order.h"

#include <utility>

namespace glove::verify {

// Whether what the block did in earlier phases is behind a fence, as far as the thread's own says. A thread's
// fence covers what its block did before the barrier in front of it. With the fence in an earlier phase, each
// thread has to fence what it did since, and its fence is ordered with the addition by the barrier: for
// fence.sc this is enough, since fence.sc operations are totally ordered, so a thread that observes the
// addition fences after us.
bool GridOrder::released(const BlockState& state, const Warp& warp, int lane) {
  const FenceMark& mark = warp.fence[lane];
  if (!mark.clock) return false;
  return mark.phase == state.shadow.phase || (mark.sequential && state.unfenced_phase < mark.phase);
}

bool GridOrder::counts_up(const Instruction& in, Value amount) const {
  return !setup_.cluster.several() && in.atomic == AtomicOp::kInc && amount.known() &&
         amount.constant + 1 >= setup_.blocks && !learned_.pair;
}

// Something adds one to a counter that may wrap. The results differ as long as each block adds once.
void GridOrder::increment(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                          bool certain) {
  const uint32_t at = order_.locations.number(place);
  incremented_.insert(at);
  counter_addition(state, warp, in, place, lane, {1, 0}, certain);
  if (report_.ended()) return;
  if (spoiled_.count(at) > 0 || counters_.count({at, 1}) == 0) order_.tickets.spoil(place, 4);
}

// A number for one more counter or flag; nullopt: there are too many.
std::optional<uint32_t> GridOrder::free_number() const {
  const auto used = static_cast<uint32_t>(counters_.size() + flags_.size());
  return used < Clocks::kCounters ? std::optional(used) : std::nullopt;
}

std::optional<uint32_t> GridOrder::flag_number(uint32_t at) {
  if (const auto known = flags_.find(at); known != flags_.end()) return known->second;
  const auto number = free_number();
  if (number) flags_[at] = *number;
  return number;
}

// A strong store of a number other than 0 to a place that holds 0 before: a thread that reads another
// number there has seen this store, if it is the only one. Returns false if the store is nothing of the kind.
bool GridOrder::raise_flag(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                           Value value, bool certain) {
  if (!follows() || !setup_.check_global || place.space != Space::kGlobal || place.kind != Place::kNumber ||
      !certain || !value.known() || mask_bits(value.constant, bits_of(in.type)) == 0)
    return false;
  if ((is_narrow(in.order.scope) && !in.order.is_volatile) || !released(state, warp, lane)) return false;
  const uint32_t at = order_.locations.number(place);
  const auto number = flag_number(at);
  if (!number) return false;
  const uint32_t bit = 1u << *number;
  const auto [raised, first] = raised_.try_emplace(*number, state.block);
  if ((!first && raised->second != state.block) || (state.arrived & bit) != 0 || counters_.count({at, 1}) > 0)
    spoiled_.insert(at);
  const FenceMark& mark = warp.fence[lane];
  if (mark.phase != state.shadow.phase) fences_.needs_sequential |= bit;
  if (!mark.sequential) fences_.light_releases |= bit;
  places_of_[*number] = key_of(place);
  state.arrived |= bit;
  state.releases[*number] = {warp.thread(lane), mark};
  return true;
}

// Whether the store comes after all blocks have arrived at the counter. A block that adds to it once more
// after that does not count, and its ticket may be one that was drawn before.
bool GridOrder::resets_counter(const BlockState& state, const Warp& warp, const Place& place, int lane) {
  if (place.space != Space::kGlobal || place.kind != Place::kNumber) return false;
  const auto at = order_.locations.known_number(place);
  if (!at) return false;
  const auto counter = counters_.find({*at, 1});
  if (counter == counters_.end() || !has(state.clocks.seen_counters(warp.thread(lane)), counter->second))
    return false;
  reset_.insert(*at);
  if (counters_.count({*at, 2}) > 0) spoiled_.insert(*at);
  if (spoiled_.count(*at) > 0) order_.tickets.spoil(place, 4);
  return true;
}

void GridOrder::spoil_counter(const Place& place) {
  const uint32_t at = order_.locations.number(place);
  spoiled_.insert(at);
  if (reset_.count(at) > 0 || incremented_.count(at) > 0) order_.tickets.spoil(place, 4);
}

// How often the block has arrived at the location.
uint32_t GridOrder::rounds(const BlockState& state, uint32_t at) const {
  uint32_t count = 0;
  for (auto counter = counters_.find({at, 1}); counter != counters_.end() && counter->first.first == at;
       ++counter)
    count += state.arrived >> counter->second & 1;
  return count;
}

// Whether the addition makes the block arrive at the next round of a grid barrier. Nobody begins a round
// before all have arrived at the one before, so a thread that reads blocks * k knows that every block arrived
// k times. Each block adds 1; where the first one adds 2^31 less the others' additions, the top bit changes
// with the last arrival.
bool GridOrder::begins_round(const BlockState& state, uint32_t thread, const Instruction& in, uint32_t at,
                             uint64_t amount) {
  const uint32_t turn = 0x80000001u - setup_.blocks;
  if (state.block == 0 && amount == turn && bits_of(in.type) == 32 && counters_.count({at, 1}) == 0)
    reversing_.try_emplace(at, setup_.number_of(in));
  if (amount != (state.block == 0 && reversing_.count(at) > 0 ? turn : 1u)) return false;
  const uint32_t before = rounds(state, at);
  return before == 0 || (reset_.count(at) == 0 && incremented_.count(at) == 0 &&
                         (state.clocks.seen_counters(thread) >> counters_.at({at, before}) & 1) != 0);
}

// A block adds to a counter behind a fence: the arrival at a grid barrier.
void GridOrder::counter_addition(BlockState& state, Warp& warp, const Instruction& in, const Place& place,
                                 int lane, Value amount, bool certain) {
  if (!follows() || place.space != Space::kGlobal || place.kind != Place::kNumber) return;
  if (amount.known() && amount.constant == 0) return;  // it only reads
  const uint32_t at = order_.locations.number(place);
  const FenceMark& mark = warp.fence[lane];
  if (!certain || is_narrow(in.order.scope) || !amount.known() || !released(state, warp, lane) ||
      !begins_round(state, warp.thread(lane), in, at, mask_bits(amount.constant, bits_of(in.type))))
    return spoil_counter(place);
  const uint32_t round = rounds(state, at) + 1;
  const auto known = counters_.find({at, round});
  const auto number = known != counters_.end() ? known->second : free_number();
  if (!number && (round > 1 || reversing_.count(at) > 0))
    return report_.unproved(in,
                            "the blocks meet more often than " + std::to_string(Clocks::kCounters) +
                                " times, or how often is not known",
                            &state);
  const auto flag = flags_.find(at);
  if (!number || (flag != flags_.end() && raised_.count(flag->second) > 0)) return spoil_counter(place);
  const uint32_t counter = *number;
  counters_[{at, round}] = counter;
  places_of_[counter] = key_of(place);
  if (mark.phase != state.shadow.phase) fences_.needs_sequential |= 1u << counter;
  if (!mark.sequential) fences_.light_releases |= 1u << counter;
  state.arrived |= 1u << counter;
  state.releases[counter] = {warp.thread(lane), mark};
  arrivals_[counter].insert(state.block);
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
    if (holds) return at > 0 ? Seen{id, number.constant, true} : Seen{};
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
  for (const auto& [key, counter] : counters_) {
    const auto arrived = state.arrived_at.find(counter);
    if (arrived == state.arrived_at.end() || (a != arrived->second && b != arrived->second)) continue;
    *by = a == arrived->second ? b : a;
    const Symbol &arrival = table_.symbol(arrived->second), &seen = table_.symbol(*by);
    if (*by != arrived->second && seen.kind == SymbolKind::kObserved && seen.detail == key.first &&
        seen.owner == arrival.owner && seen.arguments[0].constant == key.second)
      return key;
  }
  return std::nullopt;
}

// The counters that are full, or the flag that is raised, if the fact holds, and by which symbol that was
// seen.
uint32_t GridOrder::numbers_seen(const BlockState& state, PredicateId fact, SymbolId* by) {
  if (const auto round = turn_seen(state, fact, by)) return 1u << counters_.at(*round);
  const Seen seen = seen_in(fact);
  *by = seen.symbol;
  if (seen.symbol == 0) return 0;
  const Symbol& symbol = table_.symbol(seen.symbol);
  if (reversing_.count(symbol.detail) > 0) return 0;
  const bool observed = symbol.kind == SymbolKind::kObserved;
  uint32_t numbers = 0, round = 1;
  for (; counters_.count({symbol.detail, round}) > 0; ++round)
    if (seen.least + (observed ? 0 : 1) >= uint64_t{round} * setup_.blocks)
      numbers |= 1u << counters_.at({symbol.detail, round});
  if (round > 1 || !observed || symbol.detail == 0) return numbers;
  const auto flag = flag_number(symbol.detail);
  return flag ? 1u << *flag : 0;
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
  seen = seen & 0xff & ~uint64_t{state.clocks.seen_counters(warp.thread(lane))};
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
  // An access that releases is a fence for what comes before it, and acquires nothing that others have seen.
  const bool whole = in.op == Op::kFence;
  if (whole) note_facts(state, warp, lanes);
  each_lane(lanes, [&](int lane) {
    const uint32_t thread = warp.thread(lane);
    warp.fence[lane] = {state.clocks.known(thread), state.clocks.epoch(thread), state.shadow.phase,
                        in.order.sequential, whole};
    state.clocks.advance({thread});  // what comes behind the fence is not covered by it
    if (!whole) return;
    warp.unfenced_loads &= ~(1u << lane);
    const uint64_t observed = warp.observed[lane];
    see_counters(state, warp, lane, observed / Observed::kOwn, in.order.sequential, false);
    if (in.order.sequential) see_counters(state, warp, lane, observed / Observed::kElsewhere, true, true);
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

void GridOrder::add_assumptions() {
  for (const uint32_t counter : used_) {
    report_.assume(raised_.count(counter) > 0
                       ? "flags are zero before the launch, and all blocks are resident"
                       : "counters of grid barriers are zero before the launch, and all blocks are resident");
  }
}

bool GridOrder::released_by(uint32_t counter, uint32_t block) const {
  if (((fences_.needs_sequential & fences_.seen_without_sequential) >> counter & 1) != 0) return false;
  if (((fences_.light_releases & fences_.seen_elsewhere) >> counter & 1) != 0) return false;
  for (const auto& [at, number] : counters_)
    if (number == counter && spoiled_.count(at.first) > 0) return false;
  for (const auto& [at, number] : flags_)
    if (number == counter && spoiled_.count(at) > 0) return false;
  const auto place = places_of_.find(counter);
  if (place == places_of_.end() || learned_.plainly_written.contains(place->second)) return false;
  if (learned_.somewhere_written.count(object_of({0, place->second.form})) > 0) return false;
  if (const auto flag = raised_.find(counter); flag != raised_.end()) return flag->second == block;
  const auto blocks = arrivals_.find(counter);
  return blocks != arrivals_.end() && blocks->second.size() == setup_.blocks;
}

void GridOrder::note_turn(BlockState& state, uint32_t location, Value value) {
  const uint32_t round = rounds(state, location);
  if (round > 0) state.arrived_at[counters_.at({location, round})] = table_.single(value);
}

std::vector<MemorySpan> GridOrder::reversing_places() const {
  std::vector<MemorySpan> spans;
  for (const auto& [location, instruction] : reversing_) spans.push_back(order_.locations.span(location));
  return spans;
}

}  // namespace glove::verify
