// Races inside a block: every access is compared with what is not ordered before it.
#include <algorithm>
#include <utility>

#include "run/kernel_run.h"

namespace glove::verify {

uint32_t KernelRun::add_record(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in,
                               AccessKind kind, unsigned bytes, PathPointer path, bool certain,
                               Flight flight) {
  AccessRecord record;
  record.kind = kind;
  record.certain = certain;
  record.flight = flight;
  record.instruction = static_cast<uint32_t>(&in - kernel_.code.data());
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
  const auto found = recent_records_.find(key);
  if (found != recent_records_.end()) {
    const AccessRecord& last = records_[found->second];
    if (last.warp_path == record.warp_path && last.block_path == record.block_path &&
        last.block == record.block && last.acquired == record.acquired &&
        last.uncovered == record.uncovered && last.bytes == bytes &&
        last.last_barrier == record.last_barrier && last.may_hold_lock == record.may_hold_lock)
      return found->second;
  }
  records_.push_back(std::move(record));
  return recent_records_[key] = static_cast<uint32_t>(records_.size() - 1);
}

void KernelRun::access(BlockState& state, Warp& warp, const Instruction& in, AccessKind kind, unsigned bytes,
                       Lanes lanes, const std::array<Place, 32>& places, const Guarded& guard,
                       Flight flight) {
  acquire_seen(state, warp, lanes);
  Lanes shared = 0, global = 0;
  each_lane(lanes, [&](int lane) {
    if (ended()) return;
    const Place& place = places[static_cast<size_t>(lane)];
    if (place.space == Space::kShared) shared |= 1u << lane;
    if (place.space != Space::kGlobal || !check_global_) return;
    if (kind != AccessKind::kRead) {
      if (place.object == 0) {
        if (!writes_unknown_) writes_unknown_ = true;
        find(FindingKind::kUnproved, false, in, nullptr, "a store to a buffer that is not known", &state);
      } else if (note_written(place, bytes)) {
        return begin_again();
      }
    } else if (is_constant(place, bytes)) {
      note_read(place, bytes);
      return;  // nobody writes there
    }
    global |= 1u << lane;
  });
  if (ended() || (shared | global) == 0) return;
  PathPointer path =
      guard.possible != 0 ? lane_path(warp.path, guard.possible, guard.condition, false, 0) : warp.path;
  const bool certain = context_ == nullptr && state.path == nullptr && path == nullptr;
  const uint32_t id = add_record(state, warp, shared | global, in, kind, bytes, path, certain, flight);
  records_[id].strong =
      in.strong || in.acquire || in.release ||
      (in.is_volatile && (shared != 0 ? options_.volatile_shared_strong : options_.volatile_global_strong));
  Lanes ranges = 0;
  each_lane(shared | global, [&](int lane) {
    if (ended()) return;
    const Place& place = places[static_cast<size_t>(lane)];
    if (place.kind == Place::kNumber)
      exact_access(state, warp, id, lane, place);
    else
      ranges |= 1u << lane;
  });
  if (ranges != 0 && !ended()) range_access(state, warp, id, ranges, places);
}

void KernelRun::exact_access(BlockState& state, Warp& warp, uint32_t record, int lane, const Place& place) {
  const uint64_t first = place.address.constant / granule_;
  const uint64_t last = (place.address.constant + records_[record].bytes - 1) / granule_;
  for (uint64_t granule = first; granule <= last; ++granule) {
    if (place.space == Space::kShared) {
      if (granule > kMostShared) return;
      if (granule >= state.shadow.shared.size()) state.shadow.shared.resize(granule + 256);
      Cell& cell = state.shadow.shared[granule];
      if (cell.phase != state.shadow.phase) {
        cell.entries.clear();
        cell.phase = state.shadow.phase;
        cell.has_flight = false;
      }
      const bool outlasts = records_[record].flight != Flight::kNone ||
                            (has_products_ && records_[record].kind != AccessKind::kRead);
      if (outlasts && !std::exchange(cell.has_flight, true)) state.shadow.flights.push_back(granule);
      check_cell(state, warp, record, lane, cell, place);
    } else {
      const auto [cell, added] = state.shadow.global.try_emplace({place.address.form, granule});
      if (added) {
        auto& forms = state.shadow.forms[place.object];
        if (std::find(forms.begin(), forms.end(), place.address.form) == forms.end())
          forms.push_back(place.address.form);
      }
      check_cell(state, warp, record, lane, cell->second, place);
    }
  }
  if (state.shadow.ranges.empty()) return;
  Extent mine;
  mine.object = place.space == Space::kShared ? 0 : place.object;
  const Wide at = static_cast<Wide>(static_cast<int64_t>(place.address.constant));
  if (table_.terms(place.address.form).size() < 2) mine.bytes = {at, at + records_[record].bytes - 1};
  compare_with_ranges(state, warp, record, lane, place.address, mine);
}

bool KernelRun::ordered(const BlockState& state, const AccessRecord& other, int other_lane, uint32_t epoch,
                        const Warp& warp, int lane, const AccessRecord& mine) const {
  const uint32_t end = epoch_of(state, other, other_lane, epoch);
  if (end == AsyncGroups::kInFlight) return false;
  if (end == AsyncGroups::kElsewhere)  // on another way, which other lanes may go meanwhile
    return context_ == nullptr || context_->running->uniform || other.warp != warp.index ||
           other_lane == lane;
  const uint32_t thread = other.warp * 32 + static_cast<uint32_t>(other_lane);
  if (mine.flight == Flight::kProduct) return state.clocks.before_proxy(thread, end, warp.thread(lane));
  if (options_.lockstep && other.warp == warp.index) return true;
  return state.clocks.before(thread, end, warp.thread(lane));
}

// Whether a store of shared memory writes what the store before it, which nothing orders with it, has
// written.
bool KernelRun::writes_what_is_there(BlockState& state, const Warp& warp, uint32_t id, int lane,
                                     const AccessEntry& entry, const Place& place) {
  const Instruction& in = kernel_.code[records_[id].instruction];
  if (in.op != Op::kStore || in.operands.size() < in.vector) return false;
  const unsigned bytes = std::max(1u, bits_of(in.type) / 8);
  const bool together = entry.record == id;  // the slots do not hold the other lane's values yet
  const int other = std::countr_zero(entry.lanes);
  if (together && !(operand(state, warp, in.address, lane) == operand(state, warp, in.address, other)))
    return false;
  for (unsigned i = 0; i < in.vector; ++i) {
    if (in.operands[i].kind == OperandKind::kNone) return false;
    const Value mine = operand(state, warp, in.operands[i], lane);
    const Slot& slot = state.shared.at(place.address.constant + i * bytes);
    if (!together && (slot.known != Known::kValue || slot.bytes != bytes)) return false;
    if (!(mine == (together ? operand(state, warp, in.operands[i], other) : slot.value))) return false;
  }
  return true;
}

void KernelRun::check_cell(BlockState& state, Warp& warp, uint32_t id, int lane, Cell& cell,
                           const Place& place) {
  const uint32_t epoch = epoch_now(state, warp, records_[id], lane);
  AccessEntry* same = nullptr;
  bool all_before = true;
  for (AccessEntry& entry : cell.entries) {
    // A thread's groups are complete in their order: the last of its reads stands for those before.
    if (entry.record == id &&
        (entry.epoch == epoch || (records_[id].flight != Flight::kNone && entry.lanes == Lanes{1} << lane &&
                                  records_[id].kind == AccessKind::kRead)))
      same = &entry;
    const AccessRecord& other = records_[entry.record];
    const AccessRecord& mine = records_[id];
    const bool conflicts = conflict(other, mine);
    if (!conflicts && mine.kind != AccessKind::kWrite) continue;
    Lanes open = 0;
    each_lane(entry.lanes, [&](int other_lane) {
      open |= Lanes{!ordered(state, other, other_lane, entry.epoch, warp, lane, mine)} << other_lane;
    });
    if (other.warp == warp.index && other.flight == Flight::kNone && mine.flight != Flight::kProduct)
      open &= ~(1u << lane);
    all_before &= open == 0;
    if (open == 0 || !conflicts) continue;
    const int other_lane = std::countr_zero(open);
    if (already_reported(mine, other)) continue;
    if ((!mine.certain || !other.certain) &&
        exclude_each_other({mine.warp_path.get(), mine.block_path.get(), lane},
                           {other.warp_path.get(), other.block_path.get(), other_lane}, table_))
      continue;
    const bool same_value = mine.kind == AccessKind::kWrite && other.kind == AccessKind::kWrite &&
                            place.space == Space::kShared &&
                            writes_what_is_there(state, warp, id, lane, entry, place);
    const std::string where =
        place.space == Space::kShared
            ? "shared memory at " + std::to_string(place.address.constant)
            : "global memory at byte " + std::to_string(place.address.constant) + " of a buffer";
    report_race(records_[id], lane, records_[entry.record], other_lane, where, true, Overlap::kPossible,
                same_value);
  }
  // A certain write that all before it are ordered with stands for them.
  if (all_before && same == nullptr && records_[id].certain && records_[id].kind == AccessKind::kWrite &&
      blocks_ == 1 && place.space == Space::kShared)
    cell.entries.clear();
  if (same != nullptr)
    same->lanes |= 1u << lane, same->epoch = epoch;
  else
    cell.entries.push_back({id, 1u << lane, epoch});
}

// The address of a lane as a ticket of its own and the rest; location 0 if it is none.
TicketShape KernelRun::ticket_shape(const BlockState& state, const Warp& warp, int lane, Value address) {
  for (const LinearTerm& term : std::vector<LinearTerm>(table_.terms(address.form))) {
    const Symbol& symbol = table_.symbol(term.symbol);
    if (symbol.kind != SymbolKind::kTicket || symbol.owner != owner_of(state, warp, lane)) continue;
    const Value amount = symbol.arguments[0];
    const Wide least = amount.known() ? static_cast<Wide>(mask_bits(amount.constant, symbol.bits)) : 0;
    const uint32_t location = symbol.detail;
    const Value rest = table_.subtract(address, table_.scale(table_.of(term.symbol), term.factor, 64), 64);
    if (table_.scope_of(rest) == Scope::kThread) return {};
    return {location, term.factor, least, rest};
  }
  return {};
}

// The bytes that a lane may touch; of global memory, counted from the beginning of the object.
Interval KernelRun::touched_bytes(const BlockState& state, const Warp& warp, int lane, SymbolId object,
                                  Value address, unsigned bytes) {
  if (object != 0) address = table_.subtract(address, table_.of(object), 64);
  Interval touched = Reasoner(table_, position(state, warp, lane)).exact_range(address);
  touched.hi = clamp_wide(touched.hi + bytes - 1);
  return touched;
}

// The lanes of an access in groups of the same object and of addresses that differ in nothing but a ticket.
std::vector<RangeAccess> KernelRun::grouped(const BlockState& state, const Warp& warp, uint32_t record,
                                            Lanes lanes, const std::array<Place, 32>& places) {
  std::vector<RangeAccess> groups;
  each_lane(lanes, [&](int lane) {
    const Place& place = places[static_cast<size_t>(lane)];
    const SymbolId object = place.space == Space::kShared ? 0 : place.object;
    if (place.space == Space::kGlobal && object == 0) return;  // reported or nobody writes
    const TicketShape shape = ticket_shape(state, warp, lane, place.address);
    const Interval touched = touched_bytes(state, warp, lane, object, place.address, records_[record].bytes);
    const auto owned = [&] {
      return owned_range(place.address, object, records_[record].bytes, position(state, warp, lane), table_);
    };
    auto group = std::find_if(groups.begin(), groups.end(), [&](const RangeAccess& other) {
      return other.object == object && other.shape == shape;
    });
    if (group == groups.end()) {
      groups.emplace_back();
      group = groups.end() - 1;
      group->record = record;
      group->lanes = 0;
      group->object = object;
      group->shape = shape;
      group->bytes = touched;
      group->form = place.address.form;
      group->owned = owned();
      group->constants = {kWideLimit, -kWideLimit};
    } else if (group->owned.location != 0 && !(group->owned == owned())) {
      group->owned = {};
    }
    if (group->form != place.address.form) group->form = 0;
    const auto constant = static_cast<Wide>(static_cast<int64_t>(place.address.constant));
    group->constants = group->constants.hull({constant, constant + records_[record].bytes - 1});
    group->lanes |= 1u << lane;
    group->bytes = group->bytes.hull(touched);
    group->epoch[static_cast<size_t>(lane)] = epoch_now(state, warp, records_[record], lane);
    group->address[static_cast<size_t>(lane)] = place.address;
  });
  for (RangeAccess& group : groups) bound_by_votes(state, warp, group), find_distinct(group);
  return groups;
}

void KernelRun::range_access(BlockState& state, Warp& warp, uint32_t record, Lanes lanes,
                             const std::array<Place, 32>& places) {
  std::vector<RangeAccess> groups = grouped(state, warp, record, lanes, places);
  for (const RangeAccess& range : groups)
    each_lane(range.lanes, [&](int lane) {
      if (ended()) return;
      const Value address = range.address[static_cast<size_t>(lane)];
      compare_with_cells(state, warp, record, lane, range.object, address);
      Extent mine = range;
      const auto constant = static_cast<Wide>(static_cast<int64_t>(address.constant));
      mine.form = address.form;
      mine.constants = {constant, constant + records_[record].bytes - 1};
      compare_with_ranges(state, warp, record, lane, address, mine);
    });
  for (size_t i = 0; i < groups.size() && !ended(); ++i) {
    for (size_t j = i; j < groups.size(); ++j) compare_lanes(groups[i], groups[j]);
    const RangeAccess& range = groups[i];
    const bool known =
        std::any_of(state.shadow.ranges.begin(), state.shadow.ranges.end(), [&](const RangeAccess& other) {
          bool same = other.record == record && other.object == range.object && other.lanes == range.lanes;
          each_lane(same ? range.lanes : 0, [&](int lane) {
            const auto at = static_cast<size_t>(lane);
            same &= other.epoch[at] == range.epoch[at] && other.address[at] == range.address[at];
          });
          return same;
        });
    if (!known) state.shadow.ranges.push_back(range);
    tick();
  }
}

// Lanes of one instruction against each other.
void KernelRun::compare_lanes(const RangeAccess& a, const RangeAccess& b) {
  const AccessRecord& record = records_[a.record];
  if (record.kind != AccessKind::kWrite || a.object != b.object ||
      apart(a.shape, record.bytes, b.shape, record.bytes, table_))
    return;
  const bool same = &a == &b;
  if (!same && a.bytes.meet(b.bytes).empty()) return;
  each_lane(a.lanes, [&](int i) {
    each_lane(same ? b.lanes & ~((Lanes{2} << i) - 1) : b.lanes, [&](int j) {
      compare_one(a.record, i, a.address[static_cast<size_t>(i)], b.record, j,
                  b.address[static_cast<size_t>(j)], record.bytes);
    });
  });
}

// `mine`: what the access's lanes have in common; of an exact access the object and the bytes alone.
void KernelRun::compare_with_ranges(BlockState& state, Warp& warp, uint32_t id, int lane, Value address,
                                    const Extent& mine) {
  for (const RangeAccess& range : state.shadow.ranges) {
    if (range.object != mine.object || range.bytes.meet(mine.bytes).empty()) continue;
    if (range.record == id && records_[id].kind != AccessKind::kWrite) continue;
    const AccessRecord& other = records_[range.record];
    if (!conflict(other, records_[id]) || apart(mine, records_[id].bytes, range, other.bytes, table_))
      continue;
    if (!tick()) return;
    each_lane(range.lanes, [&](int other_lane) {
      if (other.warp == warp.index && other_lane == lane && other.flight == Flight::kNone) return;
      if (ordered(state, other, other_lane, range.epoch[static_cast<size_t>(other_lane)], warp, lane,
                  records_[id]))
        return;
      compare_one(id, lane, address, range.record, other_lane, range.address[static_cast<size_t>(other_lane)],
                  other.bytes);
    });
  }
}

void KernelRun::compare_with_cells(BlockState& state, Warp& warp, uint32_t id, int lane, SymbolId object,
                                   Value address) {
  const auto visit = [&](const Cell& cell, Value place) {
    for (const AccessEntry& entry : cell.entries) {
      if (!conflict(records_[entry.record], records_[id])) continue;
      each_lane(entry.lanes, [&](int other_lane) {
        const AccessRecord& other = records_[entry.record];
        if (other.warp == warp.index && other_lane == lane && other.flight == Flight::kNone) return;
        if (ordered(state, other, other_lane, entry.epoch, warp, lane, records_[id])) return;
        compare_one(id, lane, address, entry.record, other_lane, place, granule_);
      });
    }
  };
  if (object == 0) {
    const Interval range = Reasoner(table_, position(state, warp, lane)).exact_range(address);
    const auto bound = [&](Wide value) {
      return static_cast<size_t>(std::clamp<Wide>(value, 0, Wide{state.shadow.shared.size() * granule_}) /
                                 granule_);
    };
    for (size_t i = bound(range.lo);
         i < std::min(state.shadow.shared.size(), bound(range.hi + records_[id].bytes - 1) + 1); ++i)
      if (state.shadow.shared[i].phase == state.shadow.phase)
        visit(state.shadow.shared[i], {i * granule_, 0});
    return;
  }
  if (state.shadow.forms.count(object) == 0) return;
  for (const auto& [place, cell] : state.shadow.global)
    if (object_of({0, place.form}) == object) visit(cell, {place.granule * granule_, place.form});
}

void KernelRun::compare_one(uint32_t id, int lane, Value address, uint32_t other, int other_lane,
                            Value other_address, unsigned other_bytes) {
  const AccessRecord& a = records_[id];
  const AccessRecord& b = records_[other];
  if (already_reported(a, b)) return;
  const Side left = {address, a.bytes, {a.warp_path.get(), a.block_path.get(), lane}};
  const Side right = {other_address, other_bytes, {b.warp_path.get(), b.block_path.get(), other_lane}};
  const Overlap overlap = compare_addresses(left, right, table_);
  if (overlap == Overlap::kNever || exclude_each_other(left.position, right.position, table_)) return;
  report_race(a, lane, b, other_lane, "an address that is not known", false, overlap, false);
}

// One race of two instructions is enough; so are a few attempts to prove that there is none.
bool KernelRun::already_reported(const AccessRecord& a, const AccessRecord& b) const {
  const auto found = reported_races_.find(std::minmax(a.instruction, b.instruction));
  return found != reported_races_.end() && found->second >= kMostAttempts;
}

}  // namespace glove::verify
