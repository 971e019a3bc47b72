#include "order/order.h"

#include <algorithm>
#include <functional>

namespace glove::verify {
namespace {

// "write by".
std::string text_of(const Access& access) {
  return std::string(access.asynchronous ? "asynchronous " : "") +
         (access.kind == AccessKind::kRead    ? "read"
          : access.kind == AccessKind::kWrite ? "write"
                                              : "atomic operation") +
         " by ";
}

const AsyncGroups& groups_of(const Warp& warp, Flight flight) {
  return flight == Flight::kCopy        ? warp.copies
         : flight == Flight::kBulkRead  ? warp.bulk_reads
         : flight == Flight::kBulkWrite ? warp.bulk_writes
                                        : warp.products;
}

constexpr uint32_t kMostAttempts = 100;  // of two instructions that could not be told apart
constexpr int kMostConditions = 8;

// The places where a path was decided, the last first.
void add_conditions(const Path* path, int lane, const std::function<std::string(uint32_t)>& line_of,
                    std::string& text, int& shown) {
  for (; path != nullptr && shown < kMostConditions; path = path->parent.get()) {
    if (lane >= 0 && path->of(lane) == 0) continue;
    text += (shown++ > 0 ? ", " : "") + line_of(path->site);
  }
}

}  // namespace

uint32_t AccessLog::add(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, AccessKind kind,
                        unsigned bytes, PathPointer path, bool certain, Flight flight, uint64_t tile) {
  AccessRecord record = {
      .kind = kind,
      .certain = certain,
      .flight = flight,
      .scope = in.order.is_volatile                     ? StrongFor::kAll
               : in.order.scope == FenceScope::kBlock   ? StrongFor::kBlock
               : in.order.scope == FenceScope::kCluster ? StrongFor::kCluster
                                                        : StrongFor::kAll,
      .may_hold_lock = (lanes & ~warp.exchanged) == 0,
      .instruction = setup_.number_of(in),
      .warp = warp.index,
      .home = {setup_.block_number(setup_.block_index(state.block, setup_.cluster.rank_of(warp.index))),
               state.block},
      .bytes = bytes,
      .tile = tile,
      .acquired = ~0u,
      .seen = ~0u,
      .uncovered = state.arrived_before,
      .warp_path = std::move(path),
      .block_path = state.path};
  each_lane(lanes, [&](int lane) {
    const uint32_t acquired = state.clocks.seen_counters(warp.thread(lane));
    const uint64_t observed = warp.observed[lane];
    record.acquired &= acquired;
    record.seen &=
        acquired | static_cast<uint32_t>((observed | observed / Observed::kElsewhere) & Observed::kAll);
  });
  if (warp.alive != 0)
    record.last_barrier = warp.last_barrier[static_cast<size_t>(std::countr_zero(warp.alive))];
  // The same instruction in the same situation shares its record.
  const uint64_t key = ((uint64_t{record.instruction} * 1024 + warp.index) * 2 + (certain ? 1 : 0)) * 4 +
                       static_cast<uint64_t>(kind);
  const auto found = recent_.find(key);
  if (found != recent_.end()) {
    const AccessRecord& last = records_[found->second];
    if (last.warp_path == record.warp_path && last.block_path == record.block_path &&
        last.home.block == record.home.block && last.acquired == record.acquired &&
        last.seen == record.seen && last.uncovered == record.uncovered && last.bytes == bytes &&
        last.tile == tile && last.last_barrier == record.last_barrier &&
        last.may_hold_lock == record.may_hold_lock)
      return found->second;
  }
  records_.push_back(std::move(record));
  return recent_[key] = static_cast<uint32_t>(records_.size() - 1);
}

uint32_t AccessLog::epoch_of(const BlockState& state, const AccessRecord& record, int lane,
                             uint32_t epoch) const {
  if (record.flight == Flight::kNone) return epoch;
  if (record.flight == Flight::kBulk) {  // the threads that go on know alike, where this is asked
    const auto reader = std::ranges::find_if(state.warps, [](const Warp& warp) { return warp.alive != 0; });
    const bool over = reader == state.warps.end() ||
                      Mbarriers::over(epoch, reader->thread(std::countr_zero(reader->alive)), state.clocks);
    return over ? AsyncGroups::kElsewhere : AsyncGroups::kInFlight;
  }
  return groups_of(state.warps[record.warp], record.flight).completed(epoch, lane);
}

uint32_t AccessLog::epoch_now(const BlockState& state, const Warp& warp, const AccessRecord& record,
                              int lane) const {
  return record.flight == Flight::kNone   ? state.clocks.epoch(warp.thread(lane))
         : record.flight == Flight::kBulk ? state.mbarriers.flight()
                                          : groups_of(warp, record.flight).current();
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
        hash = mix(hash, part);
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
      const Value address = range.address[lane];
      add(address.constant, address.form, range.record, Lanes{1} << lane,
          [&](int) { return range.epoch[lane]; });
    });
  std::sort(list.begin(), list.end());
  return list;
}

// Whether the thread has left the kernel, and nothing orders what it did with those that go on.
bool AccessLog::left_unordered(const BlockState& state, const Warp& reader, const AccessRecord& access,
                               int lane, uint32_t epoch) const {
  const Warp& warp = state.warps[access.warp];
  return !has(warp.alive, lane) && epoch != AsyncGroups::kInFlight && epoch != AsyncGroups::kElsewhere &&
         !state.clocks.before(warp.thread(lane), epoch, reader.thread(std::countr_zero(reader.alive)));
}

// Cells with accesses of such threads outlast the phase.
void AccessLog::keep_cells_of_left(BlockState& state, const Warp& reader) const {
  for (size_t granule = 0; granule < state.shadow.shared.size(); ++granule) {
    Cell& cell = state.shadow.shared[granule];
    if (cell.phase != state.shadow.phase || cell.has_flight) continue;
    for (const AccessEntry& entry : cell.entries)
      each_lane(entry.lanes, [&](int lane) {
        cell.has_flight |= left_unordered(state, reader, records_[entry.record], lane, entry.epoch);
      });
    if (cell.has_flight) state.shadow.flights.push_back(granule);
  }
}

// Their way there does not matter any more, and must not: a general state stands for later rounds, which came
// another way.
void AccessLog::begin_phase(BlockState& state, bool alone) {
  const size_t first = alone ? 0 : records_.size();
  std::vector<AccessRecord> kept;
  std::map<std::pair<uint32_t, bool>, uint32_t> moved;
  const auto reader = std::ranges::find_if(state.warps, [](const Warp& warp) { return warp.alive != 0; });
  const auto left = [&](const AccessRecord& access, int lane, uint32_t epoch) {
    return left_unordered(state, *reader, access, lane, epoch);
  };
  const bool any_left = reader != state.warps.end() && std::ranges::any_of(state.warps, [](const Warp& warp) {
                          return warp.alive != warp.lanes;
                        });
  if (any_left) keep_cells_of_left(state, *reader);
  const auto keep = [&](uint32_t& record, Lanes lanes, uint32_t* epochs, bool by_lane) {
    const AccessRecord& access = records_[record];
    const bool outlasts =
        setup_.has_products && access.kind != AccessKind::kRead && reader != state.warps.end();
    Lanes flying = 0, open = 0;
    if (access.flight == Flight::kNone && !outlasts && !any_left) return flying;
    uint32_t latest = 0;
    each_lane(lanes, [&](int lane) {
      const uint32_t end = epoch_of(state, access, lane, epochs[by_lane ? lane : 0]);
      if (end == AsyncGroups::kInFlight) flying |= 1u << lane;
      if (any_left && left(access, lane, end)) {
        open |= 1u << lane;
        latest = std::max(latest, end);
        return;
      }
      if (!outlasts || end == AsyncGroups::kInFlight || end == AsyncGroups::kElsewhere) return;
      const bool fenced = !(access.in_global && setup_.fences_shared_alone);
      if (fenced && state.clocks.published(access.warp * 32 + static_cast<uint32_t>(lane), end,
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
    warp.bulk_reads.forget_completed();
    warp.bulk_writes.forget_completed();
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

void RaceReports::compare(uint32_t id, int lane, Value address, uint32_t other, int other_lane,
                          Value other_address, unsigned other_bytes) {
  const AccessRecord& a = order_.records[id];
  const AccessRecord& b = order_.records[other];
  if (already_reported(a, b)) return;
  const Side left = {address, a.bytes, {a.warp_path.get(), a.block_path.get(), lane}};
  const Side right = {other_address, other_bytes, {b.warp_path.get(), b.block_path.get(), other_lane}};
  const Overlap overlap = compare_addresses(left, right, table_);
  if (overlap == Overlap::kNever ||
      exclude_each_other(left.position, right.position, a.home.block == b.home.block && a.warp == b.warp,
                         table_))
    return;
  const Value difference = table_.subtract(address, other_address, 64);
  std::map<uint64_t, unsigned> parameters;
  add_parameters(difference, false, parameters);
  const bool open = !parameters.empty();
  if (open)
    add_parameters_on_way(left.position, parameters), add_parameters_on_way(right.position, parameters);
  const std::string values = open || overlap != Overlap::kPossible ? "" : values_that_decide(left, right);
  Finding* finding = report(a, lane, b, other_lane,
                            open             ? "an address " + depends_on(parameters)
                            : values.empty() ? "an address that is not known"
                                             : "undecided: a race if " + values,
                            false, open || !values.empty() ? Overlap::kUnproved : overlap, false);
  if (finding != nullptr && !values.empty()) finding->has_example = true;
}

std::optional<std::pair<int, int>> RaceReports::not_excluded(const AccessRecord& a, Lanes lanes_a,
                                                             const AccessRecord& b, Lanes lanes_b) const {
  std::optional<std::pair<int, int>> found;
  // Lanes that nothing tells apart on their ways need not be tried one by one.
  const auto tried = [](const AccessRecord& access, Lanes lanes) {
    for (const Path* path : {access.warp_path.get(), access.block_path.get()})
      for (; path != nullptr; path = path->parent.get())
        if (path->by_lane) return lanes;
    return lanes & (~lanes + 1);
  };
  const bool certain = a.certain && b.certain;
  each_lane(tried(a, lanes_a), [&](int i) {
    each_lane(found ? 0 : tried(b, lanes_b), [&](int j) {
      if (found || (!certain && exclude_each_other({a.warp_path.get(), a.block_path.get(), i},
                                                   {b.warp_path.get(), b.block_path.get(), j},
                                                   a.home.block == b.home.block && a.warp == b.warp, table_)))
        return;
      found = {i, j};
    });
  });
  return found;
}

bool RaceReports::already_reported(const AccessRecord& a, const AccessRecord& b) const {
  const auto found = reported_.find(std::minmax(a.instruction, b.instruction));
  return found != reported_.end() && found->second >= kMostAttempts;
}

// Whether what an atomic operation other than an addition, or a shuffle, has returned decides that a lane
// comes to an access; with `chosen`, or a number that a lane has chosen among several, as those of a warp
// choose the greatest.
bool RaceReports::claims(const AccessRecord& record, int lane, bool chosen) const {
  const Reasoner reasoner(table_, {record.warp_path.get(), record.block_path.get(), lane});
  return reasoner.any_fact([&](PredicateId fact) {
    bool found = false;
    ValueInputs(table_, 0, false)
        .all(
            0, fact,
            [&](SymbolId id) {
              const Symbol& symbol = table_.symbol(id);
              found |= symbol.kind == SymbolKind::kClaim ||
                       (chosen && symbol.kind == SymbolKind::kOperation && symbol.op == Op::kSelect);
              return !found;
            },
            [](PredicateId) { return true; });
    return found;
  });
}

void RaceReports::explain(const AccessRecord& a, int lane_a, const AccessRecord& b, int lane_b,
                          Finding& finding) const {
  const auto line_of = [&](uint32_t instruction) {
    return setup_.source_line(setup_.kernel.code[instruction]);
  };
  const auto way = [&](const AccessRecord& record, int lane) {
    std::string conditions;
    int shown = 0;
    add_conditions(record.warp_path.get(), lane, line_of, conditions, shown);
    add_conditions(record.block_path.get(), -1, line_of, conditions, shown);
    return thread_name(public_access(record, lane)) + " comes to " + line_of(record.instruction) +
           (record.last_barrier == 0
                ? " from the kernel's beginning, through no barrier"
                : " from the barrier at " + line_of(static_cast<uint32_t>(record.last_barrier) - 1)) +
           (shown == 0 ? "" : ", under conditions decided at " + conditions);
  };
  finding.explanation.push_back(way(b, lane_b));
  finding.explanation.push_back(way(a, lane_a));
  std::string why;
  if (a.home.block != b.home.block)
    why = a.home.cluster == b.home.cluster
              ? "the threads are in different blocks of a cluster, and no barrier of the cluster that orders "
                "the accesses lies between them"
              : "the threads are in different blocks, and no grid barrier lies between the accesses";
  else if (a.warp == b.warp)
    why = "the threads are lanes of one warp, and neither __syncwarp nor a barrier lies between the accesses";
  else if (a.last_barrier == 0 && b.last_barrier == 0)
    why = "no barrier lies between the accesses: neither thread has come through one";
  else if (a.last_barrier == b.last_barrier)
    why = "no barrier lies between the accesses: both come after the same one";
  else
    why = "no barrier that the one thread leaves is one at which the other has arrived after its access";
  finding.explanation.push_back(why);
  const auto flies = [&](Flight flight) { return a.flight == flight || b.flight == flight; };
  if (flies(Flight::kCopy))
    finding.explanation.push_back(
        "a copy by cp.async lasts until its own thread has waited for the group, and others need a barrier "
        "behind that");
  if (flies(Flight::kBulk) || flies(Flight::kBulkRead) || flies(Flight::kBulkWrite))
    finding.explanation.push_back(
        "a bulk copy lasts until a thread has waited for its mbarrier's phase or, to global memory, its own "
        "thread for its group; what it reads or replaces needs fence.proxy.async after it was written");
  if (flies(Flight::kProduct))
    finding.explanation.push_back(
        "wgmma reads until its warp has waited for the group; a thread that writes what it reads must "
        "execute "
        "fence.proxy.async after the write, or after the wait for a copy, and then a barrier");
}

Access RaceReports::public_access(const AccessRecord& record, int lane) const {
  return {record.kind, record.flight != Flight::kNone, record.home.block,
          setup_.cluster.in_block(record.warp * 32 + static_cast<uint32_t>(lane)),
          setup_.kernel.sites[setup_.kernel.code[record.instruction].site]};
}

Finding* RaceReports::report(const AccessRecord& a, int lane_a, const AccessRecord& b, int lane_b,
                             const std::string& place, bool exact, Overlap overlap, bool same_value) {
  const Instruction& in = setup_.kernel.code[a.instruction];
  const Instruction& other = setup_.kernel.code[b.instruction];
  const auto at_lemma = [&](const Instruction& at) -> const Lemma* {
    for (const Lemma& lemma : setup_.launch.lemmas)
      if (setup_.comes_from(at, lemma.at.file, lemma.at.line)) return &lemma;
    return nullptr;
  };
  if (const Lemma* lemma = at_lemma(in); lemma != nullptr && at_lemma(other) != nullptr) {
    reported_[std::minmax(a.instruction, b.instruction)] += kMostAttempts;
    const std::string& file = lemma->at.file;
    report_.assume("lemma at " + file.substr(file.find_last_of('/') + 1) + ":" +
                   std::to_string(lemma->at.line) + ": " + lemma->reason);
    return nullptr;
  }
  const std::vector<Access> accesses = {public_access(a, lane_a), public_access(b, lane_b)};
  std::string message = text_of(accesses[0]) + thread_name(accesses[0]) + " and " + text_of(accesses[1]) +
                        thread_name(accesses[1]) + ", " + place;
  FindingKind kind = same_value || store_the_same(a, b) ? FindingKind::kSameValueRace : FindingKind::kRace;
  if (!exact && overlap == Overlap::kUnproved) {
    kind = FindingKind::kUnproved;
    message = "these may touch the same bytes: " + message;
  }
  const bool locked = a.may_hold_lock && b.may_hold_lock;
  if (locked) message += ", unless both hold a lock: locks made of atomicCAS or atomicExch are not proved";
  const bool one_warp = a.home.block == b.home.block && a.warp == b.warp && a.instruction == b.instruction;
  const bool claimed = claims(a, lane_a, one_warp) && claims(b, lane_b, one_warp);
  if (claimed)
    message += ", unless an atomic operation or a choice of the warp lets only one of them come here";
  if (kind == FindingKind::kRace && a.home.block != b.home.block && order_.grid_races.ordered(a, b, true)) {
    kind = FindingKind::kMissingAcquire;
    message += ": the reader has seen the counter or flag, and lacks a fence behind that";
  }
  const bool of_mbarrier = in.op == Op::kMbarrier || other.op == Op::kMbarrier;
  if ((a.home.block != b.home.block && setup_.cluster.several() && setup_.uses_flags) ||
      (of_mbarrier && setup_.arrives_relaxed)) {
    kind = FindingKind::kUnproved;
    message += "; what fences order between blocks of clusters is not followed";
  }
  if (kind == FindingKind::kRace && a.home.block != b.home.block &&
      order_.grid.unclear(a.acquired | b.acquired)) {
    kind = FindingKind::kUnproved;
    message += ", unless what one of them has acquired before orders them, which is not understood";
  }
  if (kind == FindingKind::kRace && (locked || claimed)) kind = FindingKind::kUnproved;
  if (kind != FindingKind::kSameValueRace)
    reported_[std::minmax(a.instruction, b.instruction)] += kind == FindingKind::kRace ? kMostAttempts : 1;
  Finding* finding = report_.find(kind, exact && a.certain && b.certain, in, &other, message, nullptr);
  if (finding == nullptr) return nullptr;
  finding->accesses = accesses;
  explain(a, lane_a, b, lane_b, *finding);
  return finding;
}

}  // namespace glove::verify
