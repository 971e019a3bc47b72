// What comes before whoever has seen a counter or flag, once all blocks have run.
#include "order/order.h"

#include <algorithm>

namespace glove::verify {

void GridOrder::add_assumptions() {
  for (const uint32_t number : used_)
    if (number < sights_.size() && places_.count(sights_[number].location) > 0)
      report_.assume(
          places_.at(sights_[number].location).stores
              ? "flags are zero before the launch, and all blocks are resident"
              : "counters of grid barriers are zero before the launch, and all blocks are resident");
}

// Whether all that changes the place is followed.
bool GridOrder::sound(uint32_t at) const {
  const auto found = places_.find(at);
  if (found == places_.end() || found->second.spoiled) return false;
  const MemorySpan span = order_.locations.span(at);
  return !span.somewhere && !learned_.plainly_written.contains(found->second.key) &&
         learned_.somewhere_written.count(span.object) == 0;
}

// Whether the counter may come so far without one addition.
bool GridOrder::reached_without(const SyncPlace& sync, const Change& without, uint64_t least) {
  std::vector<const Change*> others;
  for (const auto& [key, change] : sync.changes)
    if (&change != &without) others.push_back(&change);
  std::ranges::sort(others, {}, &Change::least);
  uint64_t count = 0;
  for (const Change* change : others)
    if (change->least <= count) count += change->number;
  return count >= least;
}

// The releases, by block, that come before whoever has the sight: of the additions those without which a
// counter does not come so far; of stores what all have in common that may have been seen. A release carries
// what its thread had seen before. As what comes before comes in an order, any solution is right: the
// greatest.
std::vector<uint32_t> GridOrder::releases_of(uint32_t number) const {
  std::vector<uint32_t> none(setup_.blocks);
  const Sight& seen = sights_[number];
  if (!sound(seen.location)) return none;
  const SyncPlace& sync = places_.at(seen.location);
  std::optional<std::vector<uint32_t>> all;
  for (const auto& [key, change] : sync.changes) {
    if (sync.adds ? reached_without(sync, change, seen.least)
                  : change.number < seen.least || (seen.exactly && change.number > seen.least))
      continue;
    std::vector<uint32_t> these = none;
    const bool light =
        has(fences_.seen_without_sequential, number) && (fences_.needs_sequential & change.release) != 0;
    const bool far = has(fences_.seen_elsewhere, number) && (fences_.light_releases & change.release) != 0;
    if (change.release != 0 && !light && !far) {
      these[key.second] = change.release;
      for (uint32_t i = 0; i < before_.size(); ++i)
        for (uint32_t block = 0; has(change.carries, i) && block < setup_.blocks; ++block)
          these[block] |= before_[i][block];
    }
    for (uint32_t block = 0; all && block < setup_.blocks; ++block)
      these[block] = sync.adds ? these[block] | (*all)[block] : these[block] & (*all)[block];
    all = std::move(these);
  }
  return all.value_or(none);
}

// Called when all blocks have run. A counter that is set back before all have added to it counts nothing.
void GridOrder::settle() {
  const auto fails = [&](const SyncPlace& sync) {
    return !sync.spoiled && !std::ranges::all_of(sync.set_back, [&](const SetBack& back) {
      return std::ranges::all_of(sync.changes, [&](const auto& change) {
        const uint32_t block = change.first.second;
        const uint32_t own = block == back.block ? back.arrived : 0;
        return (change.second.release & ~releases_before(back.seen, block) & ~own) == 0;
      });
    });
  };
  for (bool changed = true; changed;) {
    changed = false;
    before_.assign(sights_.size(), std::vector<uint32_t>(setup_.blocks, ~0u));
    for (bool falls = true; falls;) {
      falls = false;
      for (uint32_t i = 0; i < sights_.size(); ++i) {
        auto releases = releases_of(i);
        falls |= releases != before_[i];
        before_[i] = std::move(releases);
      }
    }
    for (auto& [at, sync] : places_)
      if (fails(sync)) sync.spoiled = changed = true;
  }
}

uint32_t GridOrder::releases_before(uint32_t seen, uint32_t block) const {
  uint32_t releases = 0;
  for (uint32_t i = 0; i < before_.size(); ++i)
    if (has(seen, i)) releases |= before_[i][block];
  return releases;
}

bool GridOrder::unclear(uint32_t seen) const {
  if (has(seen, kMostSights)) return true;
  for (uint32_t i = 0; i < sights_.size(); ++i)
    if (has(seen, i) && unclear_.count(order_.locations.span(sights_[i].location).object) > 0) return true;
  return false;
}

// The first symbol behind the condition that a strong load or an atomic has returned, unless the condition
// compares it with a known number.
SymbolId GridOrder::observed_in(PredicateId fact) const {
  const Predicate& predicate = table_.predicate(fact);
  const auto plain = [&](const Value& value) {
    return value.known() || table_.symbol(table_.single(value)).kind == SymbolKind::kObserved;
  };
  if (predicate.kind == PredicateKind::kCompare && plain(predicate.a) && plain(predicate.b) &&
      (predicate.a.known() || predicate.b.known()))
    return 0;
  SymbolId found = 0;
  ValueInputs inputs(table_, 0, false);
  (void)inputs.all(
      0, fact,
      [&](SymbolId id) {
        const Symbol& symbol = table_.symbol(id);
        if (symbol.kind == SymbolKind::kObserved && symbol.arguments[2].constant != 0) found = id;
        return found == 0;
      },
      [](PredicateId) { return true; });
  return found;
}

}  // namespace glove::verify
