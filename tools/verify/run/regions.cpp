// Branches whose condition is not known. Both sides run, as bundles of lanes that may be there, up to the
// branch's post-dominator; bundles that meet are joined, and loops are run until nothing new comes.
#include <algorithm>

#include "run/kernel_run.h"

namespace glove::verify {
namespace {

constexpr int kMostNested = 256;  // regions inside each other, each with a frame of its own

}  // namespace

PathPointer KernelRun::lane_path(PathPointer parent, Lanes lanes,
                                 const std::array<PredicateId, 32>& conditions, bool negate,
                                 uint32_t site) const {
  auto path = std::make_shared<Path>();
  path->parent = std::move(parent);
  path->site = site;
  path->by_lane = std::make_unique<std::array<PredicateId, 32>>();
  path->by_lane->fill(0);
  each_lane(lanes, [&](int lane) {
    (*path->by_lane)[static_cast<size_t>(lane)] = conditions[static_cast<size_t>(lane)] ^ (negate ? 1u : 0u);
  });
  return path;
}

void KernelRun::unknown_branch(BlockState& state, Warp& warp, Lanes lanes, int pc,
                               const std::array<PredicateId, 32>& taken, int target, int fall) {
  const Region& region = flow_.region(pc);
  if (context_ != nullptr && region.join == context_->stop)
    return split(state, warp, lanes, pc, taken, target, fall);
  if (region.block_barrier) {
    const PredicateId condition = taken[static_cast<size_t>(std::countr_zero(lanes))];
    bool same = true;
    each_lane(lanes, [&](int lane) { same &= taken[static_cast<size_t>(lane)] == condition; });
    const bool may_differ =
        !same && table_.predicate(condition).data;  // the data decide for each lane by itself
    if (context_ == nullptr && !may_differ && table_.scope_of_predicate(condition) != Scope::kThread) {
      each_lane(lanes, [&](int lane) { warp.pc[static_cast<size_t>(lane)] = pc; });
      return fork(state, condition, static_cast<uint32_t>(pc));
    }
    return unknown_barrier_condition(state, warp, lanes, pc, condition);
  }
  run_region(state, warp, lanes, pc, region, taken, target, fall);
}

void KernelRun::run_region(BlockState& state, Warp& warp, Lanes lanes, int pc, const Region& region,
                           const std::array<PredicateId, 32>& taken, int target, int fall) {
  Context context;
  context.outer = context_;
  if (context_ != nullptr) context.depth = context_->depth + 1;
  if (context.depth > kMostNested)
    return unproved(kernel_.code[static_cast<size_t>(pc)], "too many branches inside each other", &state);
  context.scope = lanes;
  context.branch = pc;
  context.before = warp.path;
  context.stop = region.join;
  context.loops = region.loops;
  context.learns = region.orders || acquires_;
  context.written = &region.written;
  context.condition = taken[static_cast<size_t>(std::countr_zero(lanes))];
  each_lane(lanes, [&](int lane) {
    if (taken[static_cast<size_t>(lane)] != context.condition) context.condition = 0;
  });
  const bool uniform = context.condition != 0 &&
                       (context_ == nullptr || (context_->running != nullptr && context_->running->uniform));
  const PathPointer before_path = warp.path;
  std::vector<ClockPointer> before_clocks;
  each_lane(lanes, [&](int lane) { before_clocks.push_back(state.clocks.known(warp.thread(lane))); });
  const auto before_fence = warp.fence;

  std::vector<Bundle> finished;
  Context* const outer = context_;
  Bundle start = capture(state, warp, context, lanes);
  start.uniform = uniform;
  context_ = &context;
  context.running = &start;
  split(state, warp, lanes, pc, taken, target, fall);
  Bundle first = capture(state, warp, context, start.lanes);
  first.trips = flow_.order(std::min(target, flow_.end() - 1)) <= flow_.order(pc) ? 1 : 0;
  first.side = 1;
  first.uniform = start.uniform;
  context.running = nullptr;
  if (context.split_off) {
    context.split_off->side = 2;
    context.pending.push_back(std::move(*context.split_off));
    context.split_off.reset();
  }
  if (first.lanes != 0) context.pending.push_back(std::move(first));
  if (!ended()) run_bundles(state, warp, context, finished);
  context_ = outer;
  if (ended()) return;

  warp.path = before_path;
  end_waits(state, warp, context);
  join_bundles(state, warp, context, finished, lanes);
  // What a side learned from others holds only if it was taken.
  size_t i = 0;
  each_lane(lanes, [&](int lane) { state.clocks.forget(warp.thread(lane), before_clocks[i++]); });
  warp.fence = before_fence;
  if (context_ == nullptr && warp.alive == 0) warp.path = nullptr;
}

// The running bundle goes the taken way, a new one the other.
void KernelRun::split(BlockState& state, Warp& warp, Lanes lanes, int pc,
                      const std::array<PredicateId, 32>& taken, int target, int fall) {
  Context& context = *context_;
  const bool goes_on = visit_loop(state, warp, context, lanes, pc);
  if (ended()) return;
  if (!goes_on) {
    context.dropped = true;
    return;
  }
  // Generalised registers may have changed the condition.
  std::array<PredicateId, 32> condition = taken;
  const Instruction& in = kernel_.code[static_cast<size_t>(pc)];
  const bool leaves = in.op != Op::kBranch;
  Lanes taken_lanes = lanes, fall_lanes = lanes;
  each_lane(lanes, [&](int lane) {
    const Value value = operand(state, warp, in.guard, lane);
    const auto truth = value.known() ? std::optional<bool>(value.constant != 0)
                                     : Reasoner(table_, position(state, warp, lane)).truth(value);
    condition[static_cast<size_t>(lane)] = value.known() ? 0 : value.form;
    if (truth && *truth) fall_lanes &= ~(1u << lane);
    if (truth && !*truth) taken_lanes &= ~(1u << lane);
  });
  for (const WaitBranch& wait : waits_.at(pc))
    each_lane(taken_lanes & fall_lanes,
              [&](int lane) { note_wait(state, lane, pc, wait, condition[static_cast<size_t>(lane)]); });
  const PredicateId first = condition[static_cast<size_t>(std::countr_zero(lanes))];
  each_lane(lanes,
            [&](int lane) { context.running->uniform &= condition[static_cast<size_t>(lane)] == first; });
  const PathPointer before = warp.path;
  Bundle other = capture(state, warp, context, fall_lanes);
  other.path = lane_path(before, fall_lanes, condition, true, static_cast<uint32_t>(pc));
  each_lane(fall_lanes, [&](int lane) { other.pc[static_cast<size_t>(lane)] = fall; });
  other.trips = context.running->trips;
  other.side = context.running->side;
  other.uniform = context.running->uniform;
  warp.path = lane_path(before, taken_lanes, condition, false, static_cast<uint32_t>(pc));
  each_lane(taken_lanes, [&](int lane) { warp.pc[static_cast<size_t>(lane)] = target; });
  if (leaves) warp.alive &= ~taken_lanes;
  // Lanes that certainly go the other way leave the running bundle.
  const Lanes gone = lanes & ~taken_lanes;
  if (gone != 0) context.running->lanes &= ~gone;
  if (fall_lanes != 0) context.split_off = std::move(other);
  if (target < flow_.end() && flow_.order(target) <= flow_.order(pc)) ++context.running->trips;
}

void KernelRun::run_bundles(BlockState& state, Warp& warp, Context& context, std::vector<Bundle>& finished) {
  while (!context.pending.empty()) {
    // The bundle that is furthest behind: fewest rounds, then program order.
    const auto rank = [&](const Bundle& bundle) {
      int least = flow_.end() * 2;
      each_lane(bundle.lanes & ~bundle.exited, [&](int lane) {
        const int at = bundle.pc[static_cast<size_t>(lane)];
        least = std::min(least, at >= flow_.end() ? flow_.end() : flow_.order(at));
      });
      return std::pair<uint32_t, int>(bundle.trips, least);
    };
    auto next = std::min_element(context.pending.begin(), context.pending.end(),
                                 [&](const Bundle& a, const Bundle& b) { return rank(a) < rank(b); });
    Bundle bundle = std::move(*next);
    context.pending.erase(next);
    for (size_t i = 0; i < context.pending.size();) {
      if (merge_into(context, bundle, context.pending[i], state))
        context.pending.erase(context.pending.begin() + static_cast<long>(i));
      else
        ++i;
    }
    restore(state, warp, context, bundle);
    context.running = &bundle;
    const bool done = run_bundle(state, warp, context, bundle);
    context.running = nullptr;
    if (ended()) return;
    if (context.split_off) {
      context.pending.push_back(std::move(*context.split_off));
      context.split_off.reset();
    }
    if (context.dropped) {
      context.dropped = false;
      continue;
    }
    if (done) note_facts(state, warp, bundle.lanes & warp.alive);
    Bundle after = capture(state, warp, context, bundle.lanes);
    after.trips = bundle.trips;
    after.side = bundle.side;
    after.uniform = bundle.uniform;
    if (after.lanes == 0) continue;
    (done ? finished : context.pending).push_back(std::move(after));
  }
}

// Runs until all lanes are at the join, or a branch has split the bundle, or it may meet another one.
bool KernelRun::run_bundle(BlockState& state, Warp& warp, Context& context, Bundle& bundle) {
  bool moved = false;
  while (true) {
    int at = -1;
    bool together = true, all_done = true;
    each_lane(bundle.lanes & warp.alive, [&](int lane) {
      const int pc = warp.pc[static_cast<size_t>(lane)];
      all_done &= pc == context.stop;
      if (at < 0) at = pc;
      together &= at == pc;
    });
    if (all_done) return true;
    if (moved && together && !context.pending.empty() && at < flow_.end()) {
      const BasicBlock& block = flow_.blocks()[static_cast<size_t>(flow_.block_of(at))];
      if (block.first == at && block.predecessors.size() > 1) return false;
    }
    const std::array<int, 32> before = warp.pc;
    if (!run_group(state, warp, bundle.lanes, context.stop) || ended()) return true;
    moved = true;
    if (context.split_off || context.dropped) return false;
    each_lane(bundle.lanes & warp.alive, [&](int lane) {
      const int now = warp.pc[static_cast<size_t>(lane)], then = before[static_cast<size_t>(lane)];
      if (now != then && now < flow_.end() && flow_.order(now) <= flow_.order(then) &&
          lane == std::countr_zero(bundle.lanes & warp.alive))
        ++bundle.trips;
    });
  }
}

bool KernelRun::merge_into(Context& context, Bundle& into, const Bundle& other, const BlockState& state) {
  if (into.lanes != other.lanes || into.exited != 0 || other.exited != 0 || into.trips != other.trips)
    return false;
  const int at = into.pc[static_cast<size_t>(std::countr_zero(into.lanes))];
  bool same = true;
  each_lane(into.lanes, [&](int lane) {
    same &= into.pc[static_cast<size_t>(lane)] == at && other.pc[static_cast<size_t>(lane)] == at;
  });
  // Those at the join are joined there, where all are known.
  if (!same || at >= flow_.end() || (at == context.stop && !context.loops)) return false;
  const auto& live = flow_.live_in(at);
  // The condition that tells the two apart, if they split at one branch.
  for (size_t i = 0; i < context.written->size(); ++i) {
    const uint32_t r = (*context.written)[i];
    if (!std::binary_search(live.begin(), live.end(), r)) continue;
    each_lane(into.lanes, [&](int lane) {
      const Value a = into.registers[i].get(lane), b = other.registers[i].get(lane);
      if (a == b) return;
      PredicateId condition = 0;
      if (into.path && other.path && into.path->parent == other.path->parent) {
        const PredicateId p = into.path->of(lane), q = other.path->of(lane);
        if (p != 0 && p == (q ^ 1)) condition = p;
      }
      const std::vector<std::pair<const Bundle*, Value>> values = {{&into, a}, {&other, b}};
      into.registers[i].set(lane, join_values(values, kernel_.registers[r].type, condition, lane, state));
    });
  }
  each_lane(into.lanes, [&](int lane) {
    into.observed[static_cast<size_t>(lane)] &= other.observed[static_cast<size_t>(lane)];
  });
  meet_knowledge(into, other);
  into.copies.merge(into.lanes, other.copies);
  // What both know.
  PathPointer a = into.path, b = other.path;
  const auto depth = [](const PathPointer& path) {
    int count = 0;
    for (const Path* at_path = path.get(); at_path != nullptr; at_path = at_path->parent.get()) ++count;
    return count;
  };
  for (int da = depth(a), db = depth(b); a != b;) {
    if (da >= db)
      a = a->parent, --da;
    else
      b = b->parent, --db;
  }
  into.path = a;
  into.uniform &= other.uniform;
  if (into.side != other.side) into.side = 0;
  return true;
}

}  // namespace glove::verify
