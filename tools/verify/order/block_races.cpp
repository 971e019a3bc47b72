#include "order/order.h"

#include <algorithm>
#include <utility>

namespace glove::verify {
namespace {

// What the address of a place is counted from.
SymbolId object_at(const Place& place) {
  return place.space == Space::kShared ? 0 : place.object;
}

// Whether a thread made the access before another of its own, which sees it.
bool of_one_thread(const AccessRecord& other, int other_lane, const Warp& warp, int lane,
                   const AccessRecord& mine) {
  return other.warp == warp.index && other_lane == lane && other.flight == Flight::kNone &&
         !needs_proxy_fence(mine, other);
}

}  // namespace

void BlockRaces::access(BlockState& state, Warp& warp, const Instruction& in, AccessKind kind, unsigned bytes,
                        Lanes lanes, const std::array<Place, 32>& places, const Guarded& guard, Flight flight,
                        uint64_t tile) {
  order_.grid.acquire_seen(state, warp, lanes);
  Lanes shared = 0, global = 0;
  const bool of_mbarrier = in.op == Op::kMbarrier || (in.op == Op::kBulkCopy && kind == AccessKind::kAtomic);
  each_lane(lanes, [&](int lane) {
    if (report_.ended()) return;
    const Place& place = places[lane];
    if (place.space == Space::kShared) shared |= 1u << lane;
    if (setup_.has_mbarriers && kind != AccessKind::kRead && !of_mbarrier &&
        may_be_mbarrier(state, warp, lane, place, bytes))
      return report_.unproved(in, "memory is written that may be an mbarrier", &state);
    if (place.space != Space::kGlobal || !setup_.check_global) return;
    if (kind != AccessKind::kRead || place.object != 0) order_.aliases.note_use(place.object, in);
    if (kind == AccessKind::kRead && (place.object == 0 || in.order.read_only))
      order_.aliases.note_odd_read(place, bytes, in);
    if (kind != AccessKind::kRead) {
      if (place.object == 0) {
        report_.find(FindingKind::kUnproved, false, in, nullptr, "a store to a buffer that is not known",
                     &state);
      } else if (order_.read_only.note_written(place, bytes)) {
        return report_.begin_again();
      }
    } else if (order_.read_only.is_constant(place, bytes)) {
      order_.read_only.note_read(place, bytes);
      return;  // nobody writes there
    }
    global |= 1u << lane;
  });
  if (report_.ended() || (shared | global) == 0) return;
  PathPointer path =
      guard.possible != 0 ? lane_path(warp.path, guard.possible, guard.condition, false, 0) : warp.path;
  const bool certain = open_.innermost == nullptr && state.path == nullptr && path == nullptr;
  const uint32_t id =
      order_.records.add(state, warp, shared | global, in, kind, bytes, path, certain, flight, tile);
  order_.records[id].in_global |= global != 0;
  order_.records[id].element = bytes / in.vector / (in.type == Type::kF16x2 ? 2 : 1);
  order_.records[id].strong = in.order.strong || in.order.acquire || in.order.release ||
                              (in.order.is_volatile && (shared != 0 ? setup_.options.volatile_shared_strong
                                                                    : setup_.options.volatile_global_strong));
  if (kind == AccessKind::kWrite && !order_.records[id].strong)
    note_stored(state, warp, id, in, shared | global);
  Lanes ranges = 0;
  each_lane(shared | global, [&](int lane) { ranges |= Lanes{places[lane].kind != Place::kNumber} << lane; });
  exact_accesses(state, warp, id, (shared | global) & ~ranges, places);
  if (ranges != 0 && !report_.ended()) range_access(state, warp, id, ranges, places);
}

// Remembers the number that all lanes store, if it is one.
void BlockRaces::note_stored(const BlockState& state, const Warp& warp, uint32_t record,
                             const Instruction& in, Lanes lanes) {
  if (in.op != Op::kStore || in.vector != 1 || in.operands.size() != 1 ||
      in.operands[0].kind == OperandKind::kNone)
    return;
  StoredNumber& stored = order_.records[record].stored;
  bool all = true;
  each_lane(lanes, [&](int lane) {
    const Value value = read(state, warp, in.operands[0], lane);
    if (lane == std::countr_zero(lanes) && !stored.number) stored.number = value.constant;
    all &= value.known() && stored.number == value.constant && !stored.several;
  });
  stored.several = !all;
}

void BlockRaces::exact_accesses(BlockState& state, Warp& warp, uint32_t record, Lanes lanes,
                                const std::array<Place, 32>& places) {
  const auto bytes_at = [&](const Place& place) {
    const Wide at = static_cast<Wide>(static_cast<int64_t>(place.address.constant));
    return table_.terms(place.address.form).size() < 2 ? Interval{at, at + order_.records[record].bytes - 1}
                                                       : Interval{};
  };
  std::optional<SymbolId> object;
  Ranges near;
  each_lane(lanes, [&](int lane) {
    if (report_.ended()) return;
    const Place& place = places[lane];
    exact_access(state, warp, record, lane, place);
    if (state.shadow.ranges.empty()) return;
    if (object != object_at(place)) {
      object = object_at(place);
      Interval all = bytes_at(place);
      each_lane(lanes, [&](int other) {
        if (object == object_at(places[other])) all = all.hull(bytes_at(places[other]));
      });
      near = ranges_near(state, record, *object, all);
    }
    Extent mine;
    mine.object = *object;
    mine.bytes = bytes_at(place);
    compare_with_ranges(state, warp, record, lane, place.address, mine, near);
  });
}

void BlockRaces::exact_access(BlockState& state, Warp& warp, uint32_t record, int lane, const Place& place) {
  const uint64_t first = place.address.constant / setup_.granule;
  const uint64_t last = (place.address.constant + order_.records[record].bytes - 1) / setup_.granule;
  for (uint64_t granule = first; granule <= last; ++granule) {
    if (place.space == Space::kShared) {
      const size_t at = setup_.cell_of(granule);
      if (!setup_.cluster.several() && at > kMostShared) return;
      if (at >= state.shadow.shared.size()) state.shadow.shared.resize(at + 256);
      Cell& cell = state.shadow.shared[at];
      if (cell.phase != state.shadow.phase) {
        cell.entries.clear();
        cell.phase = state.shadow.phase;
        cell.has_flight = false;
      }
      const bool outlasts = order_.records[record].flight != Flight::kNone ||
                            (setup_.has_products && order_.records[record].kind != AccessKind::kRead);
      if (outlasts && !std::exchange(cell.has_flight, true)) state.shadow.flights.push_back(at);
      check_cell(state, warp, record, lane, cell, place);
    } else {
      const auto [cell, added] = state.shadow.global.try_emplace({place.address.form, granule});
      if (added) {
        auto& forms = state.shadow.forms[place.object];
        if (std::ranges::find(forms, place.address.form) == forms.end()) forms.push_back(place.address.form);
      }
      check_cell(state, warp, record, lane, cell->second, place);
    }
  }
}

bool BlockRaces::ordered(const BlockState& state, const AccessRecord& other, int other_lane, uint32_t epoch,
                         const Warp& warp, int lane, const AccessRecord& mine) const {
  if (other.flight == Flight::kBulk) return Mbarriers::over(epoch, warp.thread(lane), state.clocks);
  const uint32_t end = order_.records.epoch_of(state, other, other_lane, epoch);
  if (end == AsyncGroups::kInFlight) return false;
  if (end == AsyncGroups::kElsewhere)  // on another way, which other lanes may go meanwhile
    return open_.innermost == nullptr || open_.innermost->running->uniform || other.warp != warp.index ||
           other_lane == lane;
  // A warp stores a tile together: each of its bytes once, and when all have loaded what they do before.
  if (mine.tile != 0 && other.tile != 0 && other.warp == warp.index &&
      (&mine == &other || other.kind == AccessKind::kRead))
    return true;
  const uint32_t thread = other.warp * 32 + static_cast<uint32_t>(other_lane);
  if (needs_proxy_fence(mine, other)) {
    if (mine.in_global && setup_.fences_shared_alone) return false;
    return mine.flight != Flight::kProduct && thread == warp.thread(lane)
               ? state.clocks.fenced(thread, end)
               : state.clocks.before_proxy(thread, end, warp.thread(lane));
  }
  if (setup_.options.lockstep && other.warp == warp.index) return true;
  return state.clocks.before(thread, end, warp.thread(lane));
}

// Whether a store of shared memory writes what the store before it, which nothing orders with it, has
// written.
bool BlockRaces::writes_what_is_there(BlockState& state, const Warp& warp, uint32_t id, int lane,
                                      const AccessEntry& entry, int other, const Place& place) {
  const Instruction& in = setup_.kernel.code[order_.records[id].instruction];
  if (in.op != Op::kStore || in.operands.size() < in.vector) return false;
  const unsigned bytes = bytes_of(in.type);
  const bool together = entry.record == id;  // the slots do not hold the other lane's values yet
  if (together && !(read(state, warp, in.address, lane) == read(state, warp, in.address, other)))
    return false;
  for (unsigned i = 0; i < in.vector; ++i) {
    if (in.operands[i].kind == OperandKind::kNone) return false;
    const Value mine = read(state, warp, in.operands[i], lane);
    const Slot& slot = state.shared.at(place.address.constant + i * bytes);
    if (!together && (slot.known != Known::kValue || slot.bytes != bytes)) return false;
    if (!(mine == (together ? read(state, warp, in.operands[i], other) : slot.value))) return false;
  }
  return true;
}

void BlockRaces::check_cell(BlockState& state, Warp& warp, uint32_t id, int lane, Cell& cell,
                            const Place& place) {
  const uint32_t epoch = order_.records.epoch_now(state, warp, order_.records[id], lane);
  AccessEntry* same = nullptr;
  bool all_before = true;
  for (AccessEntry& entry : cell.entries) {
    // A thread's groups are complete in their order: the last of its reads stands for those before.
    if (entry.record == id &&
        (entry.epoch == epoch ||
         (order_.records[id].flight != Flight::kNone && order_.records[id].flight != Flight::kBulk &&
          entry.lanes == Lanes{1} << lane && order_.records[id].kind == AccessKind::kRead)))
      same = &entry;
    const AccessRecord& other = order_.records[entry.record];
    const AccessRecord& mine = order_.records[id];
    const bool conflicts = conflict(other, mine);
    if (!conflicts && mine.kind != AccessKind::kWrite) continue;
    Lanes open = 0;
    each_lane(entry.lanes, [&](int other_lane) {
      open |= Lanes{!ordered(state, other, other_lane, entry.epoch, warp, lane, mine)} << other_lane;
    });
    if (other.warp == warp.index && other.flight == Flight::kNone && !needs_proxy_fence(mine, other))
      open &= ~(1u << lane);
    all_before &= open == 0;
    if (open == 0 || !conflicts) continue;
    if (order_.reports.already_reported(mine, other)) continue;
    const auto meeting = order_.reports.not_excluded(mine, Lanes{1} << lane, other, open);
    if (!meeting) continue;
    const int other_lane = meeting->second;
    const bool same_value = mine.kind == AccessKind::kWrite && other.kind == AccessKind::kWrite &&
                            place.space == Space::kShared &&
                            writes_what_is_there(state, warp, id, lane, entry, other_lane, place);
    const std::string where = place.space == Space::kShared
                                  ? setup_.shared_at(state, place.address.constant)
                                  : name_of_global(setup_.kernel.code[mine.instruction], place.address.form,
                                                   place.address.constant);
    order_.reports.report(order_.records[id], lane, order_.records[entry.record], other_lane, where, true,
                          Overlap::kPossible, same_value);
  }
  // A certain write that all before it are ordered with stands for them.
  if (all_before && same == nullptr && order_.records[id].certain &&
      order_.records[id].kind == AccessKind::kWrite && setup_.blocks == 1 && place.space == Space::kShared)
    cell.entries.clear();
  if (same != nullptr)
    same->lanes |= 1u << lane, same->epoch = epoch;
  else
    cell.entries.push_back({id, 1u << lane, epoch});
}

// The lanes of an access in groups of the same object and of addresses that differ in nothing but a ticket.
std::vector<RangeAccess> BlockRaces::grouped(const BlockState& state, const Warp& warp, uint32_t record,
                                             Lanes lanes, const std::array<Place, 32>& places) {
  std::vector<RangeAccess> groups;
  each_lane(lanes, [&](int lane) {
    const Place& place = places[lane];
    const SymbolId object = object_at(place);
    if (place.space == Space::kGlobal && object == 0) return;  // reported or nobody writes
    const TicketShape shape = order_.tickets.shape_of(state, warp, lane, place.address);
    const Interval touched =
        touched_bytes(state, warp, lane, object, place.address, order_.records[record].bytes);
    const auto owned = [&] {
      return owned_range(place.address, object, order_.records[record].bytes, position(state, warp, lane),
                         table_);
    };
    auto group = std::ranges::find_if(
        groups, [&](const RangeAccess& other) { return other.object == object && other.shape == shape; });
    if (group == groups.end()) {
      groups.push_back(
          {{object, touched, shape, place.address.form, {kWideLimit, -kWideLimit}, owned(), {}, {}, {}},
           record,
           0,
           {},
           {}});
      group = groups.end() - 1;
    } else if (group->owned.location != 0 && !(group->owned == owned())) {
      group->owned = {};
    }
    if (group->form != place.address.form) group->form = 0;
    const auto constant = static_cast<Wide>(static_cast<int64_t>(place.address.constant));
    group->constants = group->constants.hull({constant, constant + order_.records[record].bytes - 1});
    group->lanes |= 1u << lane;
    group->bytes = group->bytes.hull(touched);
    group->epoch[lane] = order_.records.epoch_now(state, warp, order_.records[record], lane);
    group->address[lane] = place.address;
  });
  for (RangeAccess& group : groups) bound_by_votes(state, warp, group), find_distinct(group);
  return groups;
}

void BlockRaces::range_access(BlockState& state, Warp& warp, uint32_t record, Lanes lanes,
                              const std::array<Place, 32>& places) {
  std::vector<RangeAccess> groups = grouped(state, warp, record, lanes, places);
  for (const RangeAccess& range : groups) {
    const Ranges near = ranges_near(state, record, range.object, range.bytes);
    each_lane(range.lanes, [&](int lane) {
      if (report_.ended()) return;
      const Value address = range.address[lane];
      compare_with_cells(state, warp, record, lane, range.object, address);
      Extent mine = range;
      const auto constant = static_cast<Wide>(static_cast<int64_t>(address.constant));
      mine.form = address.form;
      mine.constants = {constant, constant + order_.records[record].bytes - 1};
      compare_with_ranges(state, warp, record, lane, address, mine, near);
    });
  }
  for (size_t i = 0; i < groups.size() && !report_.ended(); ++i) {
    for (size_t j = i; j < groups.size(); ++j) compare_lanes(groups[i], groups[j]);
    const RangeAccess& range = groups[i];
    const bool known = std::ranges::any_of(state.shadow.ranges, [&](const RangeAccess& other) {
      bool same = other.record == record && other.object == range.object && other.lanes == range.lanes;
      each_lane(same ? range.lanes : 0, [&](int lane) {
        const auto at = static_cast<size_t>(lane);
        same &= other.epoch[at] == range.epoch[at] && other.address[at] == range.address[at];
      });
      return same;
    });
    if (!known) state.shadow.ranges.push_back(range);
    report_.tick();
  }
}

// Lanes of one instruction against each other.
void BlockRaces::compare_lanes(const RangeAccess& a, const RangeAccess& b) {
  const AccessRecord& record = order_.records[a.record];
  if (!conflict(record, record) || record.tile != 0 || a.object != b.object ||
      apart(a.shape, record.bytes, b.shape, record.bytes, table_))
    return;
  const bool same = &a == &b;
  if (!same && bytes_apart(a.bytes, b.bytes, table_)) return;
  each_lane(a.lanes, [&](int i) {
    each_lane(same ? b.lanes & ~((Lanes{2} << i) - 1) : b.lanes, [&](int j) {
      order_.reports.compare(a.record, i, a.address[i], b.record, j, b.address[j], record.bytes);
    });
  });
}

BlockRaces::Ranges BlockRaces::ranges_near(const BlockState& state, uint32_t id, SymbolId object,
                                           const Interval& bytes) {
  Ranges near;
  for (const RangeAccess& range : state.shadow.ranges)
    if (range.object == object && !bytes_apart(range.bytes, bytes, table_) &&
        (range.record != id || order_.records[id].kind == AccessKind::kWrite))
      near.push_back(&range);
  return near;
}

// `mine`: what the access's lanes have in common; of an exact access the object and the bytes alone.
void BlockRaces::compare_with_ranges(const BlockState& state, const Warp& warp, uint32_t id, int lane,
                                     Value address, const Extent& mine, const Ranges& ranges) {
  for (const RangeAccess* const at : ranges) {
    const RangeAccess& range = *at;
    if (bytes_apart(range.bytes, mine.bytes, table_)) continue;
    const AccessRecord& other = order_.records[range.record];
    if (!conflict(other, order_.records[id]) ||
        apart(mine, order_.records[id].bytes, range, other.bytes, table_))
      continue;
    if (!report_.tick()) return;
    each_lane(range.lanes, [&](int other_lane) {
      if (of_one_thread(other, other_lane, warp, lane, order_.records[id])) return;
      if (ordered(state, other, other_lane, range.epoch[other_lane], warp, lane, order_.records[id])) return;
      order_.reports.compare(id, lane, address, range.record, other_lane, range.address[other_lane],
                             other.bytes);
    });
  }
}

void BlockRaces::compare_with_cells(BlockState& state, Warp& warp, uint32_t id, int lane, SymbolId object,
                                    Value address) {
  const auto visit = [&](const Cell& cell, Value place) {
    for (const AccessEntry& entry : cell.entries) {
      if (!conflict(order_.records[entry.record], order_.records[id])) continue;
      each_lane(entry.lanes, [&](int other_lane) {
        const AccessRecord& other = order_.records[entry.record];
        if (of_one_thread(other, other_lane, warp, lane, order_.records[id])) return;
        if (ordered(state, other, other_lane, entry.epoch, warp, lane, order_.records[id])) return;
        order_.reports.compare(id, lane, address, entry.record, other_lane, place, setup_.granule);
      });
    }
  };
  if (object == 0) {
    const Interval range = Reasoner(table_, position(state, warp, lane)).exact_range(address);
    const auto bound = [&](Wide value) { return setup_.cell_of(setup_.near_shared(value) / setup_.granule); };
    const size_t end =
        std::min(state.shadow.shared.size(), bound(range.hi + order_.records[id].bytes - 1) + 1);
    for (size_t i = bound(range.lo); i < end; ++i)
      if (state.shadow.shared[i].phase == state.shadow.phase)
        visit(state.shadow.shared[i], {setup_.address_of_cell(i), 0});
    return;
  }
  if (state.shadow.forms.count(object) == 0) return;
  for (const auto& [place, cell] : state.shadow.global)
    if (object_of({0, place.form}) == object) visit(cell, {place.granule * setup_.granule, place.form});
}

// If the addresses of a group differ by votes of one ballot alone, and each lane's own vote comes after those
// that it counts, the group's addresses are one behind the other.
void BlockRaces::bound_by_votes(const BlockState& state, const Warp& warp, RangeAccess& group) {
  SymbolId ballot = 0;
  int64_t factor = 0;
  bool same = true;
  each_lane(group.lanes, [&](int lane) {
    Value begin = group.address[lane];
    for (const LinearTerm& term : table_.terms(begin.form)) {
      if (!table_.counts_votes(term.symbol)) continue;
      const SymbolId counted = table_.single(table_.symbol(term.symbol).arguments[0]);
      const Value count = table_.of(term.symbol);
      if (count == table_.count_votes(counted, ~0u)) continue;
      same &= ballot == 0 || (ballot == counted && factor == term.factor);
      ballot = counted, factor = term.factor;
      begin = table_.subtract(begin, table_.scale(count, term.factor, 64), 64);
    }
    if (lane == std::countr_zero(group.lanes)) group.begin = begin;
    same &= group.begin == begin;
  });
  if (!same || ballot == 0 || factor <= 0) return;
  const Value end = table_.add(group.begin, table_.scale(table_.count_votes(ballot, ~0u), factor, 64), 64);
  each_lane(group.lanes, [&](int lane) {
    const Value room = table_.subtract(end, group.address[lane], 64);
    same &= Reasoner(table_, position(state, warp, lane)).exact_range(room).lo >=
            Wide{order_.records[group.record].bytes};
  });
  if (same) group.end = end;
}

}  // namespace glove::verify
