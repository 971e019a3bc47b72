#include "order/access_log.h"

#include <algorithm>

namespace glove::verify {

uint32_t AccessLog::add(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, AccessKind kind,
                        unsigned bytes, PathPointer path, bool certain, Flight flight) {
  AccessRecord record;
  record.kind = kind;
  record.certain = certain;
  record.flight = flight;
  record.instruction = setup_.number_of(in);
  record.warp = warp.index;
  record.block = state.block;
  record.bytes = bytes;
  record.acquired = ~0u;
  record.may_hold_lock = (lanes & ~warp.exchanged) == 0;
  each_lane(lanes, [&](int lane) { record.acquired &= state.clocks.seen_counters(warp.thread(lane)); });
  record.uncovered = state.arrived_before;
  record.block_scope = in.fence == FenceScope::kBlock && !in.is_volatile;
  record.warp_path = std::move(path);
  record.block_path = state.path;
  if (warp.alive != 0)
    record.last_barrier = warp.last_barrier[static_cast<size_t>(std::countr_zero(warp.alive))];
  // The same instruction in the same situation shares its record.
  const uint64_t key = ((uint64_t{record.instruction} * 1024 + warp.index) * 2 + (certain ? 1 : 0)) * 4 +
                       static_cast<uint64_t>(kind);
  const auto found = recent_.find(key);
  if (found != recent_.end()) {
    const AccessRecord& last = records_[found->second];
    if (last.warp_path == record.warp_path && last.block_path == record.block_path &&
        last.block == record.block && last.acquired == record.acquired &&
        last.uncovered == record.uncovered && last.bytes == bytes &&
        last.last_barrier == record.last_barrier && last.may_hold_lock == record.may_hold_lock)
      return found->second;
  }
  records_.push_back(std::move(record));
  return recent_[key] = static_cast<uint32_t>(records_.size() - 1);
}

uint32_t AccessLog::epoch_of(const BlockState& state, const AccessRecord& record, int lane,
                             uint32_t epoch) const {
  if (record.flight == Flight::kNone) return epoch;
  const Warp& warp = state.warps[record.warp];
  return (record.flight == Flight::kCopy ? warp.copies : warp.products).completed(epoch, lane);
}

uint32_t AccessLog::epoch_now(const BlockState& state, const Warp& warp, const AccessRecord& record,
                              int lane) const {
  return record.flight == Flight::kNone   ? state.clocks.epoch(warp.thread(lane))
         : record.flight == Flight::kCopy ? warp.copies.current()
                                          : warp.products.current();
}

std::vector<uint64_t> AccessLog::flights(const BlockState& state) const {
  std::vector<uint64_t> list;
  const auto add = [&](uint64_t place, uint64_t form, uint32_t record, Lanes lanes, auto epoch_at) {
    const AccessRecord& access = records_[record];
    const Warp& warp = state.warps[access.warp];
    const AsyncGroups& groups = access.flight == Flight::kProduct ? warp.products : warp.copies;
    each_lane(lanes, [&](int lane) {
      const bool flies = epoch_of(state, access, lane, epoch_at(lane)) == AsyncGroups::kInFlight;
      const uint64_t age = flies ? groups.age(epoch_at(lane), lane) : AsyncGroups::kInFlight;
      uint64_t hash = 0;
      for (const uint64_t part : {place, form, uint64_t{access.instruction}, uint64_t{warp.thread(lane)},
                                  uint64_t{access.bytes}, static_cast<uint64_t>(access.kind), age})
        hash = (hash ^ part) * 0xff51afd7ed558ccdu, hash ^= hash >> 32;
      list.push_back(hash);
    });
  };
  for (const size_t granule : state.shadow.flights)
    for (const AccessEntry& entry : state.shadow.shared[granule].entries)
      add(granule, 0, entry.record, entry.lanes, [&](int) { return entry.epoch; });
  for (const auto& [place, cell] : state.shadow.global)
    for (const AccessEntry& entry : cell.entries)
      add(place.granule, place.form, entry.record, entry.lanes, [&](int) { return entry.epoch; });
  for (const RangeAccess& range : state.shadow.ranges)
    each_lane(range.lanes, [&](int lane) {
      const Value address = range.address[static_cast<size_t>(lane)];
      add(address.constant, address.form, range.record, Lanes{1} << lane,
          [&](int) { return range.epoch[static_cast<size_t>(lane)]; });
    });
  std::sort(list.begin(), list.end());
  return list;
}

// Their way there does not matter any more, and must not: a general state stands for later rounds, which came
// another way.
void AccessLog::begin_phase(BlockState& state, bool alone) {
  const size_t first = alone ? 0 : records_.size();
  std::vector<AccessRecord> kept;
  std::map<std::pair<uint32_t, bool>, uint32_t> moved;
  const auto reader =
      std::find_if(state.warps.begin(), state.warps.end(), [](const Warp& warp) { return warp.alive != 0; });
  const auto keep = [&](uint32_t& record, Lanes lanes, uint32_t* epochs, bool by_lane) {
    const AccessRecord& access = records_[record];
    const bool outlasts =
        setup_.has_products && access.kind != AccessKind::kRead && reader != state.warps.end();
    Lanes flying = 0, open = 0;
    if (access.flight == Flight::kNone && !outlasts) return flying;
    uint32_t latest = 0;
    each_lane(lanes, [&](int lane) {
      const uint32_t end = epoch_of(state, access, lane, epochs[by_lane ? lane : 0]);
      if (end == AsyncGroups::kInFlight) flying |= 1u << lane;
      if (!outlasts || end == AsyncGroups::kInFlight || end == AsyncGroups::kElsewhere) return;
      if (state.clocks.published(access.warp * 32 + static_cast<uint32_t>(lane), end,
                                 reader->thread(std::countr_zero(reader->alive))))
        return;
      open |= 1u << lane;
      latest = std::max(latest, end);
    });
    if ((flying | open) == 0) return flying;
    const bool over = flying == 0;  // then it is as if its thread had written at the end
    const auto [found, added] = moved.try_emplace({record, over}, static_cast<uint32_t>(first + kept.size()));
    if (added) {
      kept.push_back(access);
      kept.back().warp_path = kept.back().block_path = nullptr;
      if (over) kept.back().flight = Flight::kNone;
    }
    if (over) std::fill_n(epochs, by_lane ? 32 : 1, latest);
    record = found->second;
    return flying | open;
  };
  state.shadow.new_phase(keep);
  if (alone) records_.clear();
  records_.insert(records_.end(), kept.begin(), kept.end());
  recent_.clear();
  for (Warp& warp : state.warps) {
    warp.copies.forget_completed();
    warp.products.forget_completed();
  }
}

uint32_t AccessLog::uncovered(uint32_t record, uint32_t counters) {
  const auto [found, added] =
      uncovered_.try_emplace({record, counters}, static_cast<uint32_t>(records_.size()));
  if (added) {
    records_.push_back(records_[record]);
    records_.back().uncovered |= counters;
  }
  return found->second;
}

}  // namespace glove::verify
