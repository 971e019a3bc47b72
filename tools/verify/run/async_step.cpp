// What goes on beside the threads: copies to shared memory (cp.async) and products of matrices that are read
// from there (wgmma).
//
// The PTX ISA (9.7.9, cp.async) calls cp.async a weak memory operation performed in the generic proxy, whose
// writes its own thread sees once it has waited for the group; nothing else orders it, not even another copy
// of the same group. wgmma.mma_async is performed in the asynchronous proxy (9.7.15): what was written in the
// generic one, by a copy too, needs fence.proxy.async before it is read there. The completion of a product
// has such a fence. No rule asks for a wait before the kernel ends: a copy that nobody reads may still be in
// flight then.
#include <algorithm>

#include "run/kernel_run.h"

namespace glove::verify {
namespace {

constexpr unsigned kCoreBytes = 128;  // eight rows of 16 bytes
constexpr unsigned kDepthCores = 2;   // core matrices that one product takes of each eight rows
constexpr unsigned kRowGroups = 8;    // of A
constexpr int kWarpgroupWarps = 4;

}  // namespace

void KernelRun::step_asynchronous(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  switch (in.op) {
    case Op::kProxyFence:  // under a condition that is not known, it is not certain to happen
      if (in.space == Space::kShared && context_ == nullptr)
        state.clocks.fence_proxy(threads_of(warp, evaluate_guard(state, warp, lanes, in).certain));
      return;
    case Op::kCopy:
      return step_copy(state, warp, in, evaluate_guard(state, warp, lanes, in));
    case Op::kCopyCommit:
    case Op::kCopyWait:
      return step_copy_wait(state, warp, evaluate_guard(state, warp, lanes, in).certain, in);
    default:
      return step_wgmma(state, warp, lanes, in);
  }
}

uint32_t KernelRun::epoch_of(const BlockState& state, const AccessRecord& record, int lane,
                             uint32_t epoch) const {
  if (record.flight == Flight::kNone) return epoch;
  const Warp& warp = state.warps[record.warp];
  return (record.flight == Flight::kCopy ? warp.copies : warp.products).completed(epoch, lane);
}

uint32_t KernelRun::epoch_now(const BlockState& state, const Warp& warp, const AccessRecord& record,
                              int lane) const {
  return record.flight == Flight::kNone   ? state.clocks.epoch(warp.thread(lane))
         : record.flight == Flight::kCopy ? warp.copies.current()
                                          : warp.products.current();
}

// The bytes that a copy of `size` bytes reads. Whether it reads at all may not be known: then the guard of
// the lane becomes that condition.
unsigned KernelRun::copied_bytes(BlockState& state, Warp& warp, const Instruction& in, int lane,
                                 unsigned size, Guarded* guard) {
  const bool has_policy = in.text.find("L2::cache_hint") != std::string::npos;
  if (in.operands.size() <= (has_policy ? 2u : 1u)) return size;
  const PtxOperand& limit = in.operands[1];
  const Value value = operand(state, warp, limit, lane);
  if (limit.kind != OperandKind::kRegister || kernel_.registers[limit.index].type != Type::kPred) {
    if (!value.known()) return size;
    const uint64_t bytes = mask_bits(value.constant, 32);
    if (bytes <= size) return static_cast<unsigned>(bytes);
    find(FindingKind::kBounds, !under_conditions(state, warp) && (guard->certain >> lane & 1) != 0, in,
         nullptr,
         "thread " + std::to_string(warp.thread(lane)) + " copies " + std::to_string(bytes) + " bytes to " +
             std::to_string(size),
         &state);
    end_path();
    return size;
  }
  const auto ignores = value.known() ? std::optional<bool>(value.constant != 0)
                                     : Reasoner(table_, position(state, warp, lane)).truth(value);
  if (ignores) return *ignores ? 0 : size;
  const Lanes bit = 1u << lane;
  if ((guard->certain & bit) != 0) {
    guard->certain &= ~bit;
    guard->possible |= bit;
    guard->condition[static_cast<size_t>(lane)] = value.form ^ 1;
  }
  return size;
}

void KernelRun::step_copy(BlockState& state, Warp& warp, const Instruction& in, const Guarded& guard) {
  const bool sized = in.source.kind != OperandKind::kNone && !in.operands.empty() &&
                     in.operands[0].kind == OperandKind::kImmediate;
  const uint64_t size = sized ? in.operands[0].immediate : 0;
  if (size != 4 && size != 8 && size != 16)
    return unsupported(in, "a copy that is not one of 4, 8 or 16 bytes");
  const auto bytes = static_cast<unsigned>(size);
  Instruction whole = in, word = in, source = in;
  whole.type = size == 4 ? Type::kB32 : size == 8 ? Type::kB64 : Type::kB128;
  word.type = Type::kB32;
  source.space = Space::kGlobal;
  std::array<Place, 32> to, from;
  std::array<Lanes, 17> reads{};  // by the number of bytes
  Guarded source_guard = guard;
  Lanes inside = 0;
  each_lane(guard.certain | guard.possible, [&](int lane) {
    if (ended()) return;
    const auto at = static_cast<size_t>(lane);
    const Lanes bit = 1u << lane;
    to[at] = place_of(state, warp, whole, operand(state, warp, in.address, lane), lane);
    from[at] = place_of(state, warp, source, operand(state, warp, in.source, lane), lane);
    if (!check_bounds(state, warp, whole, to[at], lane,
                      (guard.certain & bit) != 0 && !under_conditions(state, warp)))
      return;
    inside |= bit;
    reads[copied_bytes(state, warp, in, lane, bytes, &source_guard)] |= bit;
  });
  if (ended() || inside == 0) return;
  warp.copies.begin(inside);
  for (unsigned count = 1; count < reads.size(); ++count)
    if (reads[count] != 0)
      access(state, warp, in, AccessKind::kRead, count, reads[count], from, source_guard, Flight::kCopy);
  access(state, warp, in, AccessKind::kWrite, bytes, inside, to, guard, Flight::kCopy);
  each_lane(inside, [&](int lane) {
    if (ended()) return;
    Place place = to[static_cast<size_t>(lane)];
    forget_location(state, warp, place, lane, bytes);
    const PredicateId condition = guard.condition[static_cast<size_t>(lane)];
    if (place.kind != Place::kNumber)
      return store_value(state, warp, whole, place, lane, {}, false, condition);
    for (unsigned i = 0; i < bytes; i += 4, place.address.constant += 4)
      store_value(state, warp, word, place, lane, {}, false, condition);
  });
}

// lanes: that are certain to commit or to wait; others are taken not to.
void KernelRun::step_copy_wait(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  if (in.op == Op::kCopyCommit) return warp.copies.commit(lanes);
  const bool numbered = !in.operands.empty() && in.operands[0].kind == OperandKind::kImmediate;
  if (!in.wide && !numbered) return unsupported(in, "the number of groups is not a constant");
  each_lane(lanes, [&](int lane) {
    const uint32_t epoch = state.clocks.epoch(warp.thread(lane));
    if (in.wide)
      warp.copies.wait_all(lane, epoch);
    else
      warp.copies.wait(lane, static_cast<uint32_t>(in.operands[0].immediate), epoch);
  });
}

// Reads `groups` times eight rows of an operand whose rows are not interleaved (PTX ISA, 9.7.15.5: matrix
// descriptor without swizzling, components first).
void KernelRun::read_matrix(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in,
                            uint64_t descriptor, unsigned groups) {
  if (descriptor >> 62 != 0) return unsupported(in, "operands with swizzling are not modelled");
  const uint64_t start = (descriptor & 0x3fff) << 4, next_depth = (descriptor >> 16 & 0x3fff) << 4,
                 next_rows = (descriptor >> 32 & 0x3fff) << 4;
  Guarded guard;
  guard.certain = lanes;
  for (unsigned i = 0; i < groups * kDepthCores; ++i) {
    const uint64_t at = start + i / kDepthCores * next_rows + i % kDepthCores * next_depth;
    const std::string where = "the warp of thread " + std::to_string(warp.thread(0)) +
                              " reads shared memory at " + std::to_string(at);
    if (at + kCoreBytes > shared_end()) {
      find(FindingKind::kBounds, !under_conditions(state, warp), in, nullptr,
           where + ", which ends at " + std::to_string(shared_end()), &state);
      return end_path();
    }
    for (uint64_t part = at; part < at + kCoreBytes && !options_.allow_undefined; part += 4)
      if (state.shared.at(part).known == Known::kNothingWritten) {
        find(FindingKind::kUndefinedRead, !under_conditions(state, warp), in, nullptr,
             where + ", where nothing has been written", &state);
        break;
      }
    Place place;
    place.space = Space::kShared;
    place.address = {at, 0};
    std::array<Place, 32> places;
    places.fill(place);
    access(state, warp, in, AccessKind::kRead, kCoreBytes, lanes, places, guard, Flight::kProduct);
    if (ended()) return;
  }
}

// Each warp of a warpgroup reads both operands. A lane stands for all that know the same.
void KernelRun::step_wgmma(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  if (in.op == Op::kWgmmaFence) return;
  if (context_ != nullptr || (in.has_guard && evaluate_guard(state, warp, lanes, in).certain != lanes))
    return unproved(in, "'" + in.text + "' stands under a condition that is not known", &state);
  if (in.op == Op::kWgmmaCommit) return warp.products.commit(lanes);
  if (in.op == Op::kWgmmaWait) {
    if (in.operands.empty() || in.operands[0].kind != OperandKind::kImmediate)
      return unsupported(in, "the number of groups is not a constant");
    return each_lane(lanes, [&](int lane) {
      warp.products.wait(lane, static_cast<uint32_t>(in.operands[0].immediate),
                         state.clocks.epoch(warp.thread(lane)));
    });
  }
  const bool a_in_memory = !in.operands.empty() && register_bits(in.operands[0]) == 64;
  const size_t b = a_in_memory ? 1 : 4, transposed = a_in_memory ? 5 : 8;
  if (in.operands.size() <= b) return unsupported(in, "operands that are not understood");
  for (size_t i = transposed; i < in.operands.size(); ++i)
    if (in.operands[i].kind != OperandKind::kImmediate || in.operands[i].immediate != 0)
      return unsupported(in, "transposed operands are not modelled");
  const int first = std::countr_zero(lanes);
  Lanes readers = 1u << first;
  each_lane(lanes, [&](int lane) {
    if (!state.clocks.alike(warp.thread(first), warp.thread(lane))) readers = lanes;
  });
  warp.products.begin(readers);
  ++warp.product_count;
  warp.last_product = static_cast<uint32_t>(&in - kernel_.code.data());
  for (size_t i = a_in_memory ? 0 : b; i <= b; i += b) {
    const Value descriptor = operand(state, warp, in.operands[i], first);
    if (!descriptor.known()) return unproved(in, "the place of an operand is not known", &state);
    each_lane(lanes, [&](int lane) {
      if (!(operand(state, warp, in.operands[i], lane) == descriptor))
        unproved(in, "the lanes of a warp name different operands", &state);
    });
    if (ended()) return;
    read_matrix(state, warp, readers, in, descriptor.constant, i == 0 ? kRowGroups : in.vector);
    if (ended()) return;
  }
}

// At the end of a path: the four warps of a warpgroup multiply together.
void KernelRun::check_warpgroups(BlockState& state) {
  for (const Warp& warp : state.warps) {
    const size_t leader = warp.index / kWarpgroupWarps * kWarpgroupWarps;
    const Warp& other = state.warps[leader];
    const bool whole = leader + kWarpgroupWarps <= state.warps.size();
    if (warp.product_count == other.product_count && (whole || warp.product_count == 0)) continue;
    const Warp& one = warp.product_count != 0 ? warp : other;
    find(FindingKind::kDivergence, state.path == nullptr, kernel_.code[one.last_product], nullptr,
         whole ? "the warps of a warpgroup multiply together, but that of thread " +
                     std::to_string(warp.thread(0)) + " does so " + std::to_string(warp.product_count) +
                     " times and that of thread " + std::to_string(other.thread(0)) + " " +
                     std::to_string(other.product_count) + " times"
               : "the last warpgroup of the block has fewer than four warps",
         &state);
  }
}

// What outlasts a phase, as far as later rounds of a loop can tell it apart.
std::vector<uint64_t> KernelRun::flights(const BlockState& state) const {
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

// All threads have met: of the accesses before, what is in flight is left, and what was written to shared
// memory and not fenced for the asynchronous proxy. Their way there does not matter any more, and must not: a
// general state stands for later rounds, which came another way.
void KernelRun::begin_phase(BlockState& state) {
  const bool last = blocks_ < 2 && forks_.empty();  // states that wait refer to their records
  const size_t first = last ? 0 : records_.size();
  std::vector<AccessRecord> kept;
  std::map<std::pair<uint32_t, bool>, uint32_t> moved;
  const auto reader =
      std::find_if(state.warps.begin(), state.warps.end(), [](const Warp& warp) { return warp.alive != 0; });
  const auto keep = [&](uint32_t& record, Lanes lanes, uint32_t* epochs, bool by_lane) {
    const AccessRecord& access = records_[record];
    const bool outlasts = has_products_ && access.kind != AccessKind::kRead && reader != state.warps.end();
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
  if (last) records_.clear();
  records_.insert(records_.end(), kept.begin(), kept.end());
  recent_records_.clear();
  for (Warp& warp : state.warps) {
    warp.copies.forget_completed();
    warp.products.forget_completed();
  }
}

}  // namespace glove::verify
