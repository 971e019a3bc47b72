#include "ways/ways.h"

#include <algorithm>

#include "steps/steps.h"

namespace glove::verify {

constexpr int kMostNested = 256;  // regions inside each other, each with a frame of its own

void Regions::unknown_branch(BlockState& state, Warp& warp, Lanes lanes, int pc,
                             const std::array<PredicateId, 32>& taken, int target, int fall) {
  const Region& region = setup_.flow.region(pc);
  if (open_.innermost != nullptr && region.join == open_.innermost->stop)
    return split(state, warp, lanes, pc, taken, target, fall);
  if (region.block_barrier) {
    const PredicateId condition = taken[static_cast<size_t>(std::countr_zero(lanes))];
    bool same = true;
    each_lane(lanes, [&](int lane) { same &= taken[lane] == condition; });
    const bool may_differ =
        !same && table_.predicate(condition).data;  // the data decide for each lane by itself
    if (open_.innermost == nullptr && !may_differ && table_.scope_of_predicate(condition) <= Scope::kBlock) {
      each_lane(lanes, [&](int lane) { warp.pc[lane] = pc; });
      return steps_.explorer.fork(state, condition, static_cast<uint32_t>(pc));
    }
    if (region.mbarriers)
      return report_.unproved(
          setup_.kernel.code[pc],
          "an mbarrier or a bulk copy stands behind this condition, which is not known to be "
          "the same for all threads",
          &state);
    return steps_.barriers.unknown_barrier_condition(state, warp, lanes, pc, condition);
  }
  run_region(state, warp, lanes, pc, region, taken, target, fall);
}

void Regions::run_region(BlockState& state, Warp& warp, Lanes lanes, int pc, const Region& region,
                         const std::array<PredicateId, 32>& taken, int target, int fall) {
  const int depth = open_.innermost == nullptr ? 1 : open_.innermost->depth + 1;
  if (depth > kMostNested)
    return report_.unproved(setup_.kernel.code[pc], "too many branches inside each other", &state);
  Context context = {.outer = open_.innermost,
                     .depth = depth,
                     .scope = lanes,
                     .before = warp.path,
                     .branch = pc,
                     .stop = region.join,
                     .loops = region.loops,
                     .learns = region.orders || setup_.acquires,
                     .written = &region.written,
                     .condition = taken[static_cast<size_t>(std::countr_zero(lanes))]};
  each_lane(lanes, [&](int lane) {
    if (taken[lane] != context.condition) context.condition = 0;
  });
  const bool uniform =
      context.condition != 0 && (open_.innermost == nullptr ||
                                 (open_.innermost->running != nullptr && open_.innermost->running->uniform));
  std::vector<ClockPointer> before_clocks;
  each_lane(lanes, [&](int lane) { before_clocks.push_back(state.clocks.known(warp.thread(lane))); });
  const auto before_fence = warp.fence;

  std::vector<Bundle> finished;
  Bundle start = capture(state, warp, context, lanes);
  start.uniform = uniform;
  open_.innermost = &context;
  context.running = &start;
  split(state, warp, lanes, pc, taken, target, fall);
  Bundle first = capture(state, warp, context, start.lanes);
  first.trips = setup_.flow.order(std::min(target, setup_.flow.end() - 1)) <= setup_.flow.order(pc) ? 1 : 0;
  first.side = 1;
  first.exact = start.exact;
  first.uniform = start.uniform;
  context.running = nullptr;
  if (context.split_off) {
    context.split_off->side = 2;
    context.pending.push_back(std::move(*context.split_off));
    context.split_off.reset();
  }
  if (first.lanes != 0) context.pending.push_back(std::move(first));
  if (!report_.ended()) run_bundles(state, warp, context, finished);
  open_.innermost = context.outer;
  if (report_.ended()) return;

  warp.path = context.before;
  order_.waits.end_waits(state, warp, context);
  steps_.joins.join_bundles(state, warp, context, finished, lanes);
  // What a side learned from others holds only if it was taken.
  size_t i = 0;
  each_lane(lanes, [&](int lane) { state.clocks.forget(warp.thread(lane), before_clocks[i++]); });
  warp.fence = before_fence;
  if (open_.innermost == nullptr && warp.alive == 0) warp.path = nullptr;
}

// The running bundle goes the taken way, a new one the other.
void Regions::split(BlockState& state, Warp& warp, Lanes lanes, int pc,
                    const std::array<PredicateId, 32>& taken, int target, int fall) {
  Context& context = *open_.innermost;
  const bool goes_on = steps_.loops.visit_loop(state, warp, context, lanes, pc);
  if (report_.ended()) return;
  if (!goes_on) {
    context.dropped = true;
    return;
  }
  // Generalised registers may have changed the condition.
  std::array<PredicateId, 32> condition = taken;
  const Instruction& in = setup_.kernel.code[pc];
  const bool leaves = in.op != Op::kBranch;
  Lanes taken_lanes = lanes, fall_lanes = lanes;
  each_lane(lanes, [&](int lane) {
    const Value value = read(state, warp, *in.guard, lane);
    const auto truth = Reasoner(table_, position(state, warp, lane)).truth(value);
    condition[lane] = value.known() ? 0 : value.form;
    if (truth && *truth) fall_lanes &= ~(1u << lane);
    if (truth && !*truth) taken_lanes &= ~(1u << lane);
  });
  for (const WaitBranch& wait : setup_.waits.at(pc))
    each_lane(taken_lanes & fall_lanes,
              [&](int lane) { order_.waits.note_wait(state, lane, pc, wait, condition[lane]); });
  const PredicateId first = condition[static_cast<size_t>(std::countr_zero(lanes))];
  each_lane(lanes, [&](int lane) { context.running->uniform &= condition[lane] == first; });
  const PathPointer before = warp.path;
  Bundle other = capture(state, warp, context, fall_lanes);
  other.path = lane_path(before, fall_lanes, condition, true, static_cast<uint32_t>(pc));
  each_lane(fall_lanes, [&](int lane) { other.pc[lane] = fall; });
  other.trips = context.running->trips;
  other.side = context.running->side;
  other.exact = context.running->exact;
  other.uniform = context.running->uniform;
  warp.path = lane_path(before, taken_lanes, condition, false, static_cast<uint32_t>(pc));
  each_lane(taken_lanes, [&](int lane) { warp.pc[lane] = target; });
  if (leaves) warp.alive &= ~taken_lanes;
  // Lanes that certainly go the other way leave the running bundle.
  const Lanes gone = lanes & ~taken_lanes;
  if (gone != 0) context.running->lanes &= ~gone;
  if (fall_lanes != 0) context.split_off = std::move(other);
  if (target < setup_.flow.end() && setup_.flow.order(target) <= setup_.flow.order(pc))
    ++context.running->trips;
}

void Regions::run_bundles(BlockState& state, Warp& warp, Context& context, std::vector<Bundle>& finished) {
  while (!context.pending.empty()) {
    // The bundle that is furthest behind: fewest rounds, then program order.
    const auto rank = [&](const Bundle& bundle) {
      int least = setup_.flow.end() * 2;
      each_lane(bundle.lanes & ~bundle.exited, [&](int lane) {
        const int at = bundle.pc[lane];
        least = std::min(least, at >= setup_.flow.end() ? setup_.flow.end() : setup_.flow.order(at));
      });
      return std::pair<uint32_t, int>(bundle.trips, least);
    };
    auto next = std::ranges::min_element(context.pending,
                                         [&](const Bundle& a, const Bundle& b) { return rank(a) < rank(b); });
    Bundle bundle = std::move(*next);
    context.pending.erase(next);
    for (size_t i = 0; i < context.pending.size();) {
      if (steps_.joins.merge_into(context, bundle, context.pending[i], state))
        context.pending.erase(context.pending.begin() + static_cast<long>(i));
      else
        ++i;
    }
    restore(state, warp, context, bundle);
    context.running = &bundle;
    const bool done = run_bundle(state, warp, context, bundle);
    context.running = nullptr;
    if (report_.ended()) return;
    if (context.split_off) {
      context.pending.push_back(std::move(*context.split_off));
      context.split_off.reset();
    }
    if (context.dropped) {
      context.dropped = false;
      continue;
    }
    if (done) order_.grid.note_facts(state, warp, bundle.lanes & warp.alive);
    Bundle after = capture(state, warp, context, bundle.lanes);
    after.trips = bundle.trips;
    after.side = bundle.side;
    after.exact = bundle.exact;
    after.uniform = bundle.uniform;
    if (after.lanes == 0) continue;
    (done ? finished : context.pending).push_back(std::move(after));
  }
}

// Runs until all lanes are at the join, or a branch has split the bundle, or it may meet another one.
bool Regions::run_bundle(BlockState& state, Warp& warp, Context& context, Bundle& bundle) {
  bool moved = false;
  while (true) {
    int at = -1;
    bool together = true, all_done = true;
    each_lane(bundle.lanes & warp.alive, [&](int lane) {
      const int pc = warp.pc[lane];
      all_done &= pc == context.stop;
      if (at < 0) at = pc;
      together &= at == pc;
    });
    if (all_done) return true;
    if (moved && together && !context.pending.empty() && at < setup_.flow.end()) {
      const BasicBlock& block = setup_.flow.blocks()[setup_.flow.block_of(at)];
      if (block.first == at && block.predecessors.size() > 1) return false;
    }
    const std::array<int, 32> before = warp.pc;
    if (!steps_.scheduler.run_group(state, warp, bundle.lanes, context.stop) || report_.ended()) return true;
    moved = true;
    if (context.split_off || context.dropped) return false;
    each_lane(bundle.lanes & warp.alive, [&](int lane) {
      const int now = warp.pc[lane], then = before[lane];
      if (now != then && now < setup_.flow.end() && setup_.flow.order(now) <= setup_.flow.order(then) &&
          lane == std::countr_zero(bundle.lanes & warp.alive))
        ++bundle.trips;
    });
  }
}

}  // namespace glove::verify
