#include <algorithm>

#include "steps/steps.h"

namespace glove::verify {
namespace {

// The threads that have not left the kernel.
std::vector<uint32_t> threads_alive(const BlockState& state) {
  std::vector<uint32_t> threads;
  for (const Warp& warp : state.warps)
    each_lane(warp.alive, [&](int lane) { threads.push_back(warp.thread(lane)); });
  return threads;
}

std::string if_parameter(const std::string& parameter) {
  return parameter.empty() ? "" : ", which depends on " + parameter;
}

}  // namespace

void ClusterSteps::refuse_unmodelled() {
  const auto& code = setup_.kernel.code;
  for (int i = 0; setup_.cluster.several() && i < setup_.flow.end(); ++i)
    if (setup_.waits.undecided(i) || !setup_.waits.at(i).empty())
      return report_.unsupported(code[i], "a loop that waits for other threads, in a launch with clusters");
}

void ClusterSteps::step_barrier(BlockState& state, Warp& warp, Lanes lanes, int pc) {
  const Instruction& in = setup_.kernel.code[pc];
  const Guarded guard = guard_of(state, warp, lanes, in);
  if (guard.possible != 0) {
    const PredicateId condition = guard.condition[static_cast<size_t>(std::countr_zero(guard.possible))];
    if (open_.innermost == nullptr && table_.scope_of_predicate(condition) != Scope::kThread)
      return steps_.explorer.fork(state, condition, static_cast<uint32_t>(pc));
    return steps_.barriers.unknown_barrier_condition(state, warp, guard.possible, pc, condition);
  }
  if (open_.innermost != nullptr)
    return report_.unproved(in, "a barrier under a condition that is not known", &state);
  if (guard.certain != lanes && guard.certain != 0) {
    const std::string message =
        "only some lanes of a warp come to '" + in.text +
        "': " + setup_.name_of_thread(state, warp, std::countr_zero(lanes & ~guard.certain)) + " does not";
    if (in.collective.aligned) return defect(FindingKind::kDivergence, state, warp, in, message);
    return report_.unproved(in, message, &state);
  }
  if (guard.certain == 0) return each_lane(lanes, [&](int lane) { ++warp.pc[lane]; });
  if (setup_.launch.cluster[0] == 0) report_.assume("the launch has no clusters");
  order_.grid.acquire_seen(state, warp, lanes);
  if (in.collective.barrier == BarrierOp::kArrive) return arrive(state, warp, lanes, in, pc);
  if (const auto early = state.cluster.barrier.wait(threads_of(warp, lanes), static_cast<uint32_t>(pc)))
    return defect(FindingKind::kDeadlock, state, warp, in,
                  setup_.name_of_thread(state, *early) +
                      " waits at the barrier of the cluster without having arrived there");
  warp.waiting |= lanes;
}

void ClusterSteps::arrive(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, int pc) {
  const bool relaxed = in.collective.relaxed;
  const std::vector<uint32_t> members = threads_of(warp, lanes);
  if (const auto again = state.cluster.barrier.arrive(members, static_cast<uint32_t>(pc),
                                                      published(state, warp, lanes, relaxed), relaxed))
    return defect(FindingKind::kRecycling, state, warp, in,
                  setup_.name_of_thread(state, *again) +
                      " arrives again at the barrier of the cluster without having waited there");
  state.clocks.advance(members);
  each_lane(lanes, [&](int lane) { ++warp.pc[lane]; });
}

// What an arrival lets others know: all that the threads know or, if it is relaxed, what they knew at their
// last fences.
ClockPointer ClusterSteps::published(const BlockState& state, const Warp& warp, Lanes lanes,
                                     bool relaxed) const {
  if (!relaxed) return state.clocks.join(threads_of(warp, lanes));
  std::shared_ptr<Clock> known;
  each_lane(lanes, [&](int lane) {
    const FenceMark& mark = warp.fence[lane];
    if (mark.clock == nullptr || !mark.acquires) return;  // what only releases is no fence
    if (known == nullptr) known = std::make_shared<Clock>(*mark.clock);
    for (size_t k = 0; k < known->size(); ++k) (*known)[k] = std::max((*known)[k], (*mark.clock)[k]);
    uint32_t& own = (*known)[warp.thread(lane)];
    own = std::max(own, mark.epoch);
  });
  return known;
}

bool ClusterSteps::release(BlockState& state) {
  if (!setup_.cluster.used) return false;
  const ClusterBarrier::End end = state.cluster.barrier.end_phase(threads_alive(state), state.clocks);
  if (end.released.empty()) return false;
  steps_.barriers.go_on(state, end.released);
  if (end.orders_all && state.barriers.idle()) meet(state);
  return true;
}

void ClusterSteps::report_stuck(const BlockState& state) {
  if (!setup_.cluster.used) return;
  const auto stuck = state.cluster.barrier.stuck(threads_alive(state));
  if (!stuck) return;
  const auto& [waits, missing] = *stuck;
  report_.find(FindingKind::kDeadlock, !state.path,
               setup_.kernel.code[state.warps[waits / 32].pc[waits % 32]], nullptr,
               setup_.name_of_thread(state, waits) + " waits for ever at the barrier of the cluster: " +
                   setup_.name_of_thread(state, missing) + " does not arrive there",
               &state);
}

Value ClusterSteps::address(const BlockState& state, const Warp& warp, const Instruction& in, int lane,
                            const Value* x) {
  constexpr uint64_t kGeneric = uint64_t{1} << 60;
  const bool generic = in.space != Space::kShared;
  const unsigned bits = in.op == Op::kMapAddress && in.type == Type::kU32 ? 32 : 64;
  if (setup_.launch.cluster[0] == 0) report_.assume("the launch has no clusters");
  Value raw = generic ? table_.subtract(x[0], {kGeneric, 0}, 64) : x[0];
  if (!generic) {
    if (raw.known())
      raw.constant = mask_bits(raw.constant, 32);
    else
      raw = table_.sign_extended(raw, 32);
  }
  const auto window = window_of(position(state, warp, lane), raw, 1);
  if (!window || *window == Window::kAny) {
    report_.unproved(in, "it is not known to which block's shared memory the address belongs", &state);
    return {};
  }
  if (in.op == Op::kRankOfAddress)
    return {*window == Window::kOwn ? setup_.cluster.rank_of(warp.index) : *window, 0};
  if (*window != Window::kOwn)
    raw = table_.subtract(raw, {Window::kMapped + *window * Windows::kSize, 0}, 64);
  const Value rank = x[1].known() ? Value{mask_bits(x[1].constant, 32), 0} : table_.zero_extended(x[1], 32);
  // A rank that no cluster has leads to the window of one that this cluster does not have.
  const Value begin = rank.known()
                          ? Value{std::min<uint64_t>(rank.constant, kMostClusterBlocks) * Windows::kSize, 0}
                          : table_.scale(rank, Windows::kSize, 64);
  Value mapped = table_.add(table_.add(raw, begin, 64), {Window::kMapped + (generic ? kGeneric : 0), 0}, 64);
  if (bits == 32 && mapped.known()) mapped.constant = mask_bits(mapped.constant, 32);
  return mapped;
}

std::vector<uint32_t> ClusterSteps::threads_of_block(const BlockState& state, uint32_t rank) const {
  std::vector<uint32_t> threads;
  for (const Warp& warp : state.warps)
    if (setup_.cluster.rank_of(warp.index) == rank)
      each_lane(warp.lanes, [&](int lane) { threads.push_back(warp.thread(lane)); });
  return threads;
}

void ClusterSteps::note_access(BlockState& state, const Warp& warp, const Instruction& in,
                               const Guarded& guard, Lanes lanes, const std::array<Place, 32>& places) {
  const uint32_t own = setup_.cluster.rank_of(warp.index);
  std::map<uint32_t, Lanes> others;  // by block
  each_lane(lanes, [&](int lane) {
    const Place& place = places[lane];
    if (place.space != Space::kShared) return;
    for (uint32_t rank = 0; rank < setup_.cluster.blocks; ++rank)
      if (rank != own && (place.window == rank || place.window == Window::kAny))
        others[rank] |= Lanes{1} << lane;
  });
  for (const auto& [rank, members] : others) {
    const std::vector<uint32_t> there = threads_of_block(state, rank);
    each_lane(members, [&, at = rank](int lane) {
      const uint32_t thread = warp.thread(lane);
      state.cluster.remote[{at, thread}] = {state.clocks.epoch(thread), setup_.number_of(in)};
      std::map<uint64_t, unsigned> parameters;
      add_parameters_on_way(position(state, warp, lane), parameters);
      if (has(guard.possible, lane)) add_parameters({0, guard.condition[lane]}, true, parameters);
      const std::string parameter = setup_.open_parameters(parameters);
      const bool certain = has(guard.certain, lane) && !open_.under_conditions(state, warp);
      if (!certain && decided_by_[setup_.number_of(in)].empty())
        decided_by_[setup_.number_of(in)] = parameter;
      const bool begun =
          state.clocks.cluster_phases(thread) > 0 ||
          std::ranges::any_of(there, [&](uint32_t other) { return state.clocks.before(other, 1, thread); });
      if (begun || report_.ended()) return;
      report_.find(parameter.empty() ? FindingKind::kBounds : FindingKind::kUnproved, certain, in, nullptr,
                   setup_.name_of_thread(state, thread) + " accesses " +
                       setup_.shared_at(state, at * Windows::kSize, false) + ", which may not have begun" +
                       if_parameter(parameter) + "; a barrier of the cluster must come before",
                   &state);
      report_.end_path();
    });
  }
}

// Whether some thread of the block leaves the kernel behind the access.
bool ClusterSteps::stays(const BlockState& state, uint32_t rank, uint32_t thread,
                         const RemoteUse& use) const {
  const std::vector<uint32_t> there = threads_of_block(state, rank);
  return std::ranges::any_of(there,
                             [&](uint32_t other) { return state.clocks.before(thread, use.epoch, other); });
}

void ClusterSteps::meet(BlockState& state) {
  state.at_full_barrier = true;
  std::erase_if(state.cluster.remote, [&](const auto& entry) {
    return stays(state, entry.first.first, entry.first.second, entry.second);
  });
}

void ClusterSteps::check_end(const BlockState& state) {
  for (const auto& [place, use] : state.cluster.remote) {
    const auto& [rank, thread] = place;
    if (report_.ended()) return;
    if (stays(state, rank, thread, use)) continue;
    const auto decided = decided_by_.find(use.instruction);
    const std::string parameter = decided == decided_by_.end() ? "" : decided->second;
    report_.find(parameter.empty() ? FindingKind::kBounds : FindingKind::kUnproved,
                 decided == decided_by_.end() && state.path == nullptr, setup_.kernel.code[use.instruction],
                 nullptr,
                 setup_.name_of_thread(state, thread) + " accesses " +
                     setup_.shared_at(state, rank * Windows::kSize, false) +
                     ", which may have left the kernel by then" + if_parameter(parameter) +
                     "; a barrier of the cluster must come behind",
                 &state);
  }
}

}  // namespace glove::verify
