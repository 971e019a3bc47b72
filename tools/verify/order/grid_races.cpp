#include "order/order.h"

#include <map>
#include <tuple>
#include <unordered_map>

namespace glove::verify {
namespace {

// What decides whether accesses of two blocks conflict and whether a grid barrier orders them.
using AccessClass = std::tuple<std::pair<uint32_t, uint32_t>, AccessKind, bool, StrongFor, uint32_t, uint32_t,
                               uint32_t, uint32_t, uint32_t>;  // as in class_of

AccessClass class_of(const AccessRecord& record) {
  return {{record.home.cluster, record.home.block},
          record.kind,
          record.strong,
          record.scope,
          record.bytes,
          record.element,
          record.acquired,
          record.seen,
          record.uncovered};
}

// Accesses that touch the same extent; those of one path have most in common with those of another.
struct SameExtent {
  Extent extent;
  std::vector<const RangeAccess*> ranges;
};

struct AccessesOfClass {
  uint32_t record = 0;  // one of them
  std::vector<SameExtent> extents;
  std::unordered_multimap<uint64_t, size_t> by_hash;
  std::vector<std::pair<Value, AccessEntry>> cells;

  void add(const RangeAccess& range) {
    const auto low = [](Wide value) { return static_cast<uint64_t>(value); };
    uint64_t hash = range.form;
    for (const uint64_t part : {low(range.constants.lo), low(range.constants.hi), low(range.bytes.lo),
                                low(range.bytes.hi), uint64_t{range.owned.ticket}, range.shape.rest.constant})
      hash = mix(hash, part);
    const auto [first, last] = by_hash.equal_range(hash);
    for (auto at = first; at != last; ++at)
      if (extents[at->second].extent == range) return extents[at->second].ranges.push_back(&range);
    by_hash.emplace(hash, extents.size());
    extents.push_back({range, {&range}});
  }
};

}  // namespace

// Called at the end of a phase and of a path: what the block did to global memory since the last full
// barrier.
void GridRaces::keep(BlockState& state) {
  if (setup_.blocks < 2) return;
  const auto covered = [&](uint32_t counter, uint32_t thread, uint32_t epoch) {
    const auto& [adder, mark] = state.releases.at(counter);
    if (thread == adder) return epoch <= mark.epoch;
    return (*mark.clock)[thread] >= epoch;
  };
  const uint32_t recent = state.arrived & ~state.arrived_before;
  note_unfenced(state);
  const auto settle = [&](uint32_t record, Lanes lanes, auto epoch_at, const GlobalPlace* place) {
    uint32_t mask = 0;
    for (uint32_t counter = 0; counter < 32; ++counter) {
      if (!has(recent, counter)) continue;
      if (place != nullptr && order_.grid.is_arrival(state, counter, order_.records[record], lanes, *place))
        continue;
      bool all = true;
      each_lane(lanes, [&](int lane) {
        all &= covered(counter, order_.records[record].warp * 32 + static_cast<uint32_t>(lane),
                       order_.records.epoch_of(state, order_.records[record], lane, epoch_at(lane)));
      });
      if (!all) mask |= 1u << counter;
    }
    if (mask == 0) return record;
    return order_.records.uncovered(record, mask);
  };
  for (const auto& [place, cell] : state.shadow.global) {
    auto& kept = cells_[place];
    const SymbolId object = object_of({0, place.form});
    forms_[object].insert(place.form);
    for (const AccessEntry& entry : cell.entries) {
      const auto epoch_at = [&](int) { return entry.epoch; };
      const AccessEntry settled = {settle(entry.record, entry.lanes, epoch_at, &place), entry.lanes, 0};
      bool known = false;
      for (AccessEntry& other : kept)
        if (other.record == settled.record) other.lanes |= settled.lanes, known = true;
      if (!known) kept.push_back(settled);
    }
  }
  for (RangeAccess range : state.shadow.ranges) {
    if (range.object == 0) continue;
    range.record = settle(
        range.record, range.lanes, [&](int lane) { return range.epoch[lane]; }, nullptr);
    keep_range(range);
  }
}

// Remembers the phase if some thread has not fenced all that it did in global memory.
void GridRaces::note_unfenced(BlockState& state) {
  bool all = true;
  state.shadow.each_global([&](const GlobalPlace*, uint32_t record, Lanes lanes, auto epoch_at) {
    const Warp& warp = state.warps[order_.records[record].warp];
    each_lane(all ? lanes : 0, [&](int lane) {
      const FenceMark& mark = warp.fence[lane];
      all &= mark.sequential && mark.phase == state.shadow.phase &&
             order_.records.epoch_of(state, order_.records[record], lane, epoch_at(lane)) <= mark.epoch;
    });
  });
  if (!all) state.unfenced_phase = state.shadow.phase;
}

// Paths that part from each other have their beginnings in common.
void GridRaces::keep_range(const RangeAccess& range) {
  uint64_t hash = range.record * 0x9e3779b97f4a7c15u ^ range.lanes;
  each_lane(range.lanes,
            [&](int lane) { hash = mix(mix(hash, range.address[lane].constant), range.address[lane].form); });
  auto& kept = ranges_[range.object];
  const auto [first, last] = known_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (at->second.first != range.object) continue;
    const RangeAccess& other = kept[at->second.second];
    bool same = other.record == range.record && other.lanes == range.lanes;
    each_lane(same ? range.lanes : 0, [&](int lane) { same &= other.address[lane] == range.address[lane]; });
    if (same) return;
  }
  known_.emplace(hash, std::pair(range.object, kept.size()));
  kept.push_back(range);
}

void GridRaces::compare_blocks() {
  order_.grid.settle();
  for (const auto& [place, entries] : cells_) {
    for (size_t i = 0; i < entries.size(); ++i)
      for (size_t j = i + 1; j < entries.size(); ++j) {
        const AccessRecord& a = order_.records[entries[i].record];
        const AccessRecord& b = order_.records[entries[j].record];
        if (a.home.cluster == b.home.cluster || !conflict(a, b) || ordered(a, b)) continue;
        const auto lanes = order_.reports.not_excluded(a, entries[i].lanes, b, entries[j].lanes);
        if (!lanes) continue;
        const auto [lane_a, lane_b] = *lanes;
        // The write first: which cell comes first is accidental.
        const bool swap = a.kind == AccessKind::kRead;
        order_.reports.report(
            swap ? b : a, swap ? lane_b : lane_a, swap ? a : b, swap ? lane_a : lane_b,
            name_of_global(setup_.kernel.code[a.instruction], place.form, place.granule * setup_.granule),
            true, Overlap::kPossible, false);
      }
    if (!report_.tick()) return;
  }
  for (const auto& [object, ranges] : ranges_)
    if (!report_.ended()) compare_at(object);
}

// Ranges of one object with each other and with its cells. Most pairs are told apart by their classes and
// extents, before any lane is looked at.
void GridRaces::compare_at(SymbolId object) {
  std::map<AccessClass, AccessesOfClass> classes;
  const auto members = [&](uint32_t record) -> AccessesOfClass& {
    AccessesOfClass& found = classes[class_of(order_.records[record])];
    found.record = record;
    return found;
  };
  for (const RangeAccess& range : ranges_[object]) members(range.record).add(range);
  const auto& forms = forms_[object];
  for (const auto& [place, entries] : cells_)
    if (forms.count(place.form) > 0)
      for (const AccessEntry& entry : entries)
        members(entry.record).cells.push_back({{place.granule * setup_.granule, place.form}, entry});
  const auto compare = [&](const RangeAccess& range, uint32_t other, Lanes lanes, unsigned bytes,
                           auto address_of) -> bool {
    each_lane(range.lanes, [&](int lane) {
      each_lane(lanes, [&](int other_lane) {
        order_.reports.compare(range.record, lane, range.address[lane], other, other_lane,
                               address_of(other_lane), bytes);
      });
    });
    return report_.tick();
  };
  const auto compare_extents = [&](const SameExtent& left, const SameExtent& right, unsigned bytes,
                                   unsigned other_bytes) {
    if (bytes_apart(left.extent.bytes, right.extent.bytes, table_) ||
        apart(left.extent, bytes, right.extent, other_bytes, table_))
      return;
    for (const RangeAccess* range : left.ranges)
      for (const RangeAccess* other : right.ranges)
        if (!compare(*range, other->record, other->lanes, other_bytes,
                     [&](int lane) { return other->address[lane]; }))
          return;
  };
  for (const auto& [key, mine] : classes)
    for (const auto& [other_key, other] : classes) {
      const AccessRecord &a = order_.records[mine.record], &b = order_.records[other.record];
      if (a.home.cluster == b.home.cluster || !conflict(a, b) || ordered(a, b)) continue;
      for (const SameExtent& left : mine.extents) {
        for (size_t i = 0; key < other_key && i < other.extents.size(); ++i)
          compare_extents(left, other.extents[i], a.bytes, b.bytes);
        for (const auto& [address, entry] : other.cells)
          for (const RangeAccess* range : left.ranges)
            if (!report_.ended())
              compare(*range, entry.record, entry.lanes, setup_.granule,
                      [place = address](int) { return place; });
        if (!report_.tick()) return;
      }
    }
}

bool GridRaces::ordered(const AccessRecord& a, const AccessRecord& b, bool if_acquired) {
  const auto before = [&](const AccessRecord& first, const AccessRecord& then) {
    const uint32_t seen = if_acquired ? then.seen : then.acquired;
    return seen != 0 && (order_.grid.releases_before(seen, first.home.block) & ~first.uncovered) != 0;
  };
  return before(a, b) || before(b, a);
}

}  // namespace glove::verify
