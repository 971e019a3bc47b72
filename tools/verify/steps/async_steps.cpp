#include "steps/steps.h"

#include <algorithm>

namespace glove::verify {

constexpr unsigned kCoreBytes = 128;  // eight rows of 16 bytes
constexpr unsigned kDepthCores = 2;   // core matrices that one product takes of each eight rows
constexpr unsigned kRowGroups = 8;    // of A
constexpr uint32_t kWarpgroupWarps = 4;

void AsyncSteps::step_asynchronous(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  switch (in.op) {
    case Op::kProxyFence:  // under a condition that is not known, it is not certain to happen
      if (in.space == Space::kShared && open_.innermost == nullptr)
        fence_proxy(state, threads_of(warp, guard_of(state, warp, lanes, in).certain), in.wide);
      return;
    case Op::kCopy:
      return step_copy(state, warp, in, guard_of(state, warp, lanes, in));
    case Op::kCopyCommit:
    case Op::kCopyWait:
      return step_copy_wait(state, warp, guard_of(state, warp, lanes, in).certain, in);
    default:
      return step_wgmma(state, warp, lanes, in);
  }
}

void AsyncSteps::fence_proxy(BlockState& state, const std::vector<uint32_t>& threads, bool mbarriers_alone) {
  for (const uint32_t thread : threads) state.mbarriers.show(thread, state.clocks);
  if (!mbarriers_alone) state.clocks.fence_proxy(threads);
}

// The bytes that a copy of `size` bytes reads. Whether it reads at all may not be known: then the guard of
// the lane becomes that condition.
unsigned AsyncSteps::copied_bytes(BlockState& state, Warp& warp, const Instruction& in, int lane,
                                  unsigned size, Guarded* guard) {
  const bool has_policy = in.text.find("L2::cache_hint") != std::string::npos;
  if (in.operands.size() <= (has_policy ? 2u : 1u)) return size;
  const PtxOperand& limit = in.operands[1];
  const Value value = read(state, warp, limit, lane);
  if (limit.kind != OperandKind::kRegister || setup_.kernel.registers[limit.index].type != Type::kPred) {
    if (!value.known()) return size;
    const uint64_t bytes = mask_bits(value.constant, 32);
    if (bytes <= size) return static_cast<unsigned>(bytes);
    report_.find(FindingKind::kBounds, !open_.under_conditions(state, warp) && has(guard->certain, lane), in,
                 nullptr,
                 setup_.name_of_thread(state, warp, lane) + " copies " + std::to_string(bytes) +
                     " bytes to " + std::to_string(size),
                 &state);
    report_.end_path();
    return size;
  }
  const auto ignores = Reasoner(table_, position(state, warp, lane)).truth(value);
  if (ignores) return *ignores ? 0 : size;
  const Lanes bit = 1u << lane;
  if ((guard->certain & bit) != 0) {
    guard->certain &= ~bit;
    guard->possible |= bit;
    guard->condition[lane] = value.form ^ 1;
  }
  return size;
}

void AsyncSteps::step_copy(BlockState& state, Warp& warp, const Instruction& in, const Guarded& guard) {
  const bool sized = in.source.kind != OperandKind::kNone && !in.operands.empty() &&
                     in.operands[0].kind == OperandKind::kImmediate;
  const uint64_t size = sized ? in.operands[0].immediate : 0;
  if (size != 4 && size != 8 && size != 16)
    return report_.unsupported(in, "a copy that is not one of 4, 8 or 16 bytes");
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
    if (report_.ended()) return;
    const auto at = static_cast<size_t>(lane);
    const Lanes bit = 1u << lane;
    to[at] = place_of(state, warp, whole, read(state, warp, in.address, lane), lane);
    from[at] = place_of(state, warp, source, read(state, warp, in.source, lane), lane);
    if (!check_bounds(state, warp, whole, to[at], lane,
                      (guard.certain & bit) != 0 && !open_.under_conditions(state, warp)))
      return;
    inside |= bit;
    reads[copied_bytes(state, warp, in, lane, bytes, &source_guard)] |= bit;
  });
  if (report_.ended() || inside == 0) return;
  warp.copies.begin(inside);
  for (unsigned count = 1; count < reads.size(); ++count)
    if (reads[count] != 0)
      order_.block_races.access(state, warp, in, AccessKind::kRead, count, reads[count], from, source_guard,
                                Flight::kCopy);
  order_.block_races.access(state, warp, in, AccessKind::kWrite, bytes, inside, to, guard, Flight::kCopy);
  each_lane(inside, [&](int lane) {
    if (report_.ended()) return;
    Place place = to[lane];
    steps_.memory.forget_location(state, warp, place, lane, bytes);
    const PredicateId condition = guard.condition[lane];
    if (place.kind != Place::kNumber)
      return steps_.memory.store_value(state, warp, whole, place, lane, {}, false, condition);
    for (unsigned i = 0; i < bytes; i += 4, place.address.constant += 4)
      steps_.memory.store_value(state, warp, word, place, lane, {}, false, condition);
  });
}

// lanes: that are certain to commit or to wait; others are taken not to.
void AsyncSteps::step_copy_wait(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  if (in.op == Op::kCopyCommit) return warp.copies.commit(lanes);
  const bool numbered = !in.operands.empty() && in.operands[0].kind == OperandKind::kImmediate;
  if (!in.wide && !numbered) return report_.unsupported(in, "the number of groups is not a constant");
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
void AsyncSteps::read_matrix(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in,
                             uint64_t descriptor, unsigned groups) {
  if (descriptor >> 62 != 0) return report_.unsupported(in, "operands with swizzling are not modelled");
  const uint64_t start = (descriptor & 0x3fff) << 4, next_depth = (descriptor >> 16 & 0x3fff) << 4,
                 next_rows = (descriptor >> 32 & 0x3fff) << 4;
  for (unsigned i = 0; i < groups * kDepthCores; ++i) {
    const uint64_t window = setup_.cluster.rank_of(warp.index) * Windows::kSize;
    const uint64_t at = window + start + i / kDepthCores * next_rows + i % kDepthCores * next_depth;
    const std::string where =
        "the warp of " + setup_.name_of_thread(state, warp, 0) + " reads " + setup_.shared_at(state, at);
    if (at + kCoreBytes > window + setup_.shared_end()) {
      return defect(FindingKind::kBounds, state, warp, in,
                    where + ", which ends at " + std::to_string(setup_.shared_end()));
    }
    for (uint64_t part = at; part < at + kCoreBytes; part += 4)
      if (undefined(state, in, part)) {
        undefined_read(state, warp, in, true, std::countr_zero(lanes), where);
        break;
      }
    std::array<Place, 32> places;
    places.fill({.space = Space::kShared, .address = {at, 0}});
    order_.block_races.access(state, warp, in, AccessKind::kRead, kCoreBytes, lanes, places,
                              {.certain = lanes}, Flight::kProduct);
    if (report_.ended()) return;
  }
}

// Each warp of a warpgroup reads both operands. A lane stands for all that know the same.
void AsyncSteps::step_wgmma(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in) {
  if (in.op == Op::kWgmmaFence) return;
  if (open_.innermost != nullptr || (in.guard && guard_of(state, warp, lanes, in).certain != lanes))
    return report_.unproved(in, "'" + in.text + "' stands under a condition that is not known", &state);
  if (in.op == Op::kWgmmaCommit) return warp.products.commit(lanes);
  if (in.op == Op::kWgmmaWait) {
    if (in.operands.empty() || in.operands[0].kind != OperandKind::kImmediate)
      return report_.unsupported(in, "the number of groups is not a constant");
    return each_lane(lanes, [&](int lane) {
      warp.products.wait(lane, static_cast<uint32_t>(in.operands[0].immediate),
                         state.clocks.epoch(warp.thread(lane)));
    });
  }
  const bool a_in_memory = !in.operands.empty() && setup_.register_bits(in.operands[0]) == 64;
  const size_t b = a_in_memory ? 1 : 4, transposed = a_in_memory ? 5 : 8;
  if (in.operands.size() <= b) return report_.unsupported(in, "operands that are not understood");
  for (size_t i = transposed; i < in.operands.size(); ++i)
    if (in.operands[i].kind != OperandKind::kImmediate || in.operands[i].immediate != 0)
      return report_.unsupported(in, "transposed operands are not modelled");
  const int first = std::countr_zero(lanes);
  Lanes readers = 1u << first;
  each_lane(lanes, [&](int lane) {
    if (!state.clocks.alike(warp.thread(first), warp.thread(lane))) readers = lanes;
  });
  warp.products.begin(readers);
  ++warp.product_count;
  warp.last_product = setup_.number_of(in);
  for (size_t i = a_in_memory ? 0 : b; i <= b; i += b) {
    const Value descriptor = read(state, warp, in.operands[i], first);
    if (!descriptor.known()) return report_.unproved(in, "the place of an operand is not known", &state);
    each_lane(lanes, [&](int lane) {
      if (!(read(state, warp, in.operands[i], lane) == descriptor))
        report_.unproved(in, "the lanes of a warp name different operands", &state);
    });
    if (report_.ended()) return;
    read_matrix(state, warp, readers, in, descriptor.constant, i == 0 ? kRowGroups : in.vector);
    if (report_.ended()) return;
  }
}

void AsyncSteps::check_warpgroups(BlockState& state) {
  for (const Warp& warp : state.warps) {
    const uint32_t warps = setup_.cluster.warps, first = warp.index / warps * warps;  // of the block
    const uint32_t leader = (warp.index - first) / kWarpgroupWarps * kWarpgroupWarps;
    const Warp& other = state.warps[first + leader];
    const bool whole = leader + kWarpgroupWarps <= warps;
    if (warp.product_count == other.product_count && (whole || warp.product_count == 0)) continue;
    const Warp& one = warp.product_count != 0 ? warp : other;
    report_.find(
        FindingKind::kDivergence, state.path == nullptr, setup_.kernel.code[one.last_product], nullptr,
        whole ? "the warps of a warpgroup multiply together, but that of " +
                    setup_.name_of_thread(state, warp, 0) + " does so " + std::to_string(warp.product_count) +
                    " times and that of " + setup_.name_of_thread(state, other, 0) + " " +
                    std::to_string(other.product_count) + " times"
              : "the last warpgroup of the block has fewer than four warps",
        &state);
  }
}

}  // namespace glove::verify
