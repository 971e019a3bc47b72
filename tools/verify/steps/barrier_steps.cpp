#include "steps/steps.h"

#include <algorithm>

namespace glove::verify {

// Whether one side of a branch leads to the kernel's end through no barrier, and the other to barriers that
// do not miss who has left.
bool BarrierSteps::may_leave(const Instruction& in, int pc) const {
  if (setup_.options.strict_exits) return false;
  const int join = setup_.flow.region(pc).join;
  if (join < setup_.flow.end() && (setup_.kernel.code[join].guard || !kEnds.has(setup_.kernel.code[join].op)))
    return false;  // whoever goes past the barrier does more than leave
  const Flow::Ahead taken =
      in.op == Op::kBranch ? setup_.flow.barriers_ahead(in.targets[0]) : Flow::Ahead::kNone;
  const Flow::Ahead fall = setup_.flow.barriers_ahead(pc + 1);
  return std::min(taken, fall) == Flow::Ahead::kNone && std::max(taken, fall) != Flow::Ahead::kCounted;
}

void BarrierSteps::unknown_barrier_condition(BlockState& state, Warp& warp, Lanes lanes, int pc,
                                             PredicateId condition) {
  const Instruction& in = setup_.kernel.code[pc];
  const bool differs =
      table_.predicate(condition).data || table_.scope_of_predicate(condition) == Scope::kGrid;
  std::map<uint64_t, unsigned> parameters;
  add_parameters({0, condition}, true, parameters);
  const bool leaves = in.op != Op::kBarrier && in.op != Op::kClusterBarrier && may_leave(in, pc);
  const std::string who = setup_.name_of_thread(state, warp, std::countr_zero(lanes)) + " and others";
  std::string message = "a barrier stands behind this condition, ";
  if (!parameters.empty())
    message += depends_on(parameters);
  else if (differs && leaves)
    message += "and which threads leave the kernel before it is not known";
  else if (differs)
    message += "and the data may decide it differently for " + who;
  else
    message += "which is not known to be the same for " + who;
  report_.find(differs && !leaves && parameters.empty() ? FindingKind::kDivergence : FindingKind::kUnproved,
               false, in, nullptr, message, &state);
  report_.end_path();
}

void BarrierSteps::step_barrier(BlockState& state, Warp& warp, Lanes lanes, int pc) {
  const Instruction& in = setup_.kernel.code[pc];
  const Guarded guard = guard_of(state, warp, lanes, in);
  if (guard.possible != 0) {
    const PredicateId condition = guard.condition[static_cast<size_t>(std::countr_zero(guard.possible))];
    if (open_.innermost == nullptr && table_.scope_of_predicate(condition) <= Scope::kBlock)
      return steps_.explorer.fork(state, condition, static_cast<uint32_t>(pc));
    return unknown_barrier_condition(state, warp, guard.possible, pc, condition);
  }
  if (open_.innermost != nullptr)
    return report_.unproved(in, "a barrier under a condition that is not known", &state);
  if (in.collective.aligned && guard.certain != lanes && guard.certain != 0) {
    return defect(FindingKind::kDivergence, state, warp, in,
                  "only some lanes of a warp come to '" + in.text +
                      "': " + setup_.name_of_thread(state, warp, std::countr_zero(lanes & ~guard.certain)) +
                      " does not");
  }
  each_lane(lanes & ~guard.certain, [&](int lane) { ++warp.pc[lane]; });
  const size_t numbers = barrier_numbers(in);
  std::map<std::pair<uint32_t, uint32_t>, Lanes> groups;
  each_lane(guard.certain, [&](int lane) {
    if (report_.ended()) return;
    uint64_t number[2] = {0, (uint64_t{setup_.threads} + 31) / 32 * 32};
    for (size_t i = 0; i < std::min<size_t>(numbers, 2); ++i) {
      const Value value = read(state, warp, in.operands[i], lane);
      if (!value.known())
        return report_.unproved(
            in,
            i == 0 ? "the number of the barrier is not known" : "the barrier's count of threads is not known",
            &state);
      number[i] = value.constant;
    }
    if (number[0] >= Clocks::kBarriers || number[1] == 0 || number[1] % 32 != 0 ||
        number[1] > (setup_.threads + 31) / 32 * 32) {
      return defect(
          FindingKind::kCount, state, warp, in,
          "barrier " + std::to_string(number[0]) + " with " + std::to_string(number[1]) +
              " threads: there are barriers 0 to 15, and a count must be a multiple of 32 and at most the "
              "block's " +
              std::to_string(setup_.threads));
    }
    const uint32_t first = setup_.cluster.rank_of(warp.index) * Clocks::kBarriers;  // of the block
    groups[{first + static_cast<uint32_t>(number[0]), static_cast<uint32_t>(number[1])}] |= 1u << lane;
  });
  if (report_.ended()) return;
  if (in.collective.aligned && groups.size() > 1) {
    return defect(FindingKind::kDivergence, state, warp, in,
                  "the lanes of a warp come to different barriers");
  }
  for (const auto& [which, group] : groups)
    if (!report_.ended()) arrive(state, warp, group, in, pc, which.first, which.second);
}

void BarrierSteps::arrive(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, int pc,
                          uint32_t barrier, uint32_t count) {
  order_.grid.acquire_seen(state, warp, lanes);
  // A warp counts as a whole, also the last one that is not full.
  const bool whole = in.collective.aligned || lanes == warp.lanes;
  Arrival arrival = {.barrier = barrier,
                     .count = count,
                     .weight = whole ? 32 : static_cast<uint32_t>(std::popcount(lanes)),
                     .waits = in.collective.barrier != BarrierOp::kArrive,
                     .instruction = static_cast<uint32_t>(pc),
                     .whole_block = barrier_numbers(in) < 2};
  if (!in.collective.aligned && lanes != warp.lanes && warp.lanes != ~Lanes{0}) {
    const Lanes rest = warp.alive & ~lanes;
    if (rest == 0) arrival.weight += static_cast<uint32_t>(32 - std::popcount(warp.lanes));
  }
  const bool whole_exits =
      !setup_.options.strict_exits && (arrival.whole_block || setup_.options.strict_barriers);
  if (in.collective.aligned && lanes != warp.lanes && !whole_exits) {
    // Lanes that left the kernel before never arrive.
    return defect(FindingKind::kDivergence, state, warp, in,
                  setup_.name_of_thread(state, warp, std::countr_zero(warp.lanes & ~lanes)) +
                      " has left the kernel before a barrier at which " +
                      setup_.name_of_thread(state, warp, std::countr_zero(lanes)) + " arrives");
  }
  if (setup_.options.strict_barriers && !state.barriers[barrier].instructions.empty() &&
      in.operands.size() < 2 && state.barriers[barrier].instructions[0] != arrival.instruction) {
    return defect(FindingKind::kDivergence, state, warp, in,
                  "the threads of the block come to different barriers of the program",
                  &setup_.kernel.code[state.barriers[barrier].instructions[0]]);
  }
  if (const auto problem = state.barriers.arrive(arrival, threads_of(warp, lanes), state.clocks)) {
    const FindingKind kind = problem->fault == BarrierFault::kCount       ? FindingKind::kCount
                             : problem->fault == BarrierFault::kRecycling ? FindingKind::kRecycling
                                                                          : FindingKind::kArriveOnly;
    return defect(kind, state, warp, in, problem->detail, &setup_.kernel.code[problem->other_instruction]);
  }
  if (arrival.waits)
    warp.waiting |= lanes;
  else
    each_lane(lanes, [&](int lane) { ++warp.pc[lane]; });
  if (state.barriers.complete(barrier)) release(state, barrier);
}

void BarrierSteps::release(BlockState& state, uint32_t barrier) {
  uint32_t alive = 0;
  for (const Warp& warp : state.warps) alive += static_cast<uint32_t>(std::popcount(warp.alive));
  const bool only_waiters = state.barriers[barrier].passed_by.empty();
  const std::vector<uint32_t> released = state.barriers.release(barrier, state.clocks);
  const Value reduced = table_.fresh(32, Scope::kBlock);
  const Value agreed = table_.fresh_predicate(Scope::kBlock, false);
  for (const uint32_t thread : released) {
    Warp& warp = state.warps[thread / 32];
    const int lane = static_cast<int>(thread % 32);
    const Instruction& in = setup_.kernel.code[warp.pc[lane]];
    if (in.collective.barrier == BarrierOp::kReduce && !in.results.empty() &&
        in.results[0].kind == OperandKind::kRegister)
      write(state, warp, in.results[0], lane,
            setup_.kernel.registers[in.results[0].index].type == Type::kPred ? agreed : reduced, 0);
  }
  go_on(state, released);
  if (only_waiters && released.size() == alive && state.barriers.idle() &&
      (!setup_.cluster.used || state.cluster.barrier.idle(released)))
    steps_.clusters.meet(state);
}

void BarrierSteps::go_on(BlockState& state, const std::vector<uint32_t>& released) {
  const bool locked = std::ranges::any_of(released, [&](uint32_t thread) {
    return (state.warps[thread / 32].exchanged >> thread % 32 & 1) != 0;
  });
  uint64_t seen = 0;  // before the barrier, by some thread
  for (const uint32_t thread : released) {
    const uint64_t observed = state.warps[thread / 32].observed[thread % 32];
    seen |= (observed | observed / Observed::kElsewhere) & Observed::kAll;
  }
  for (const uint32_t thread : released) {
    Warp& warp = state.warps[thread / 32];
    const int lane = static_cast<int>(thread % 32);
    warp.waiting &= ~(1u << lane);
    warp.observed[lane] |= seen * Observed::kElsewhere;
    warp.exchanged |= Lanes{locked} << lane;
    warp.last_barrier[lane] = warp.pc[lane] + 1;
    ++warp.pc[lane];
  }
}

std::optional<uint32_t> BarrierSteps::gone_past(const BlockState& state, uint32_t rank, int barrier) const {
  const std::vector<bool> behind = setup_.flow.blocks_behind(barrier);
  for (const Warp& warp : state.warps) {
    if (setup_.cluster.rank_of(warp.index) != rank) continue;
    Lanes past = 0;
    each_lane(warp.lanes & ~warp.alive, [&](int lane) {
      past |= Lanes{warp.trails[lane].left_in > 0 && behind[warp.trails[lane].left_in - 1]} << lane;
    });
    if (past != 0) return warp.thread(std::countr_zero(past));
  }
  return std::nullopt;
}

bool BarrierSteps::release_after_exits(BlockState& state) {
  std::vector<size_t> alive(setup_.cluster.blocks, 0);
  for (const Warp& warp : state.warps)
    alive[setup_.cluster.rank_of(warp.index)] += static_cast<size_t>(std::popcount(warp.alive));
  for (uint32_t barrier = 0; barrier < state.barriers.count() && !setup_.options.strict_exits; ++barrier) {
    const NamedBarrier& here = state.barriers[barrier];
    const uint32_t rank = barrier / Clocks::kBarriers;
    if (!here.whole_block || here.waiting.empty() || here.waiting.size() != alive[rank]) continue;
    const uint32_t waiter = here.waiting[0], at = here.instructions[0];
    if (const auto past = gone_past(state, rank, static_cast<int>(at))) {
      const int lane = static_cast<int>(waiter % 32);
      defect_on_ways(
          FindingKind::kDivergence, state, state.warps[waiter / 32], {lane}, setup_.kernel.code[at],
          setup_.name_of_thread(state, waiter) + " waits here, and " + setup_.name_of_thread(state, *past) +
              " has gone past the barrier and left the kernel");
      return false;
    }
    release(state, barrier);
    return true;
  }
  return false;
}

void BarrierSteps::report_stuck(BlockState& state) {
  for (const auto& [thread, text] : state.mbarriers.stuck(state.clocks))
    report_.find(FindingKind::kDeadlock, !state.path,
                 setup_.kernel.code[state.warps[thread / 32].pc[thread % 32]], nullptr, text, &state);
  for (uint32_t barrier = 0; barrier < state.barriers.count(); ++barrier) {
    const NamedBarrier& stuck = state.barriers[barrier];
    if (stuck.waiting.empty()) continue;
    const Instruction& in = setup_.kernel.code[stuck.instructions[0]];
    std::string message = setup_.name_of_thread(state, stuck.waiting[0]) + " waits for ever at barrier " +
                          std::to_string(barrier % Clocks::kBarriers) + ": " + std::to_string(stuck.arrived) +
                          " of " + std::to_string(stuck.expected) + " threads arrive";
    uint32_t gone = 0;
    for (const Warp& warp : state.warps)
      if (setup_.cluster.rank_of(warp.index) == barrier / Clocks::kBarriers)
        gone += static_cast<uint32_t>(std::popcount(warp.lanes & ~warp.alive));
    if (gone > 0) message += "; " + std::to_string(gone) + " have left the kernel";
    report_.find(gone > 0 && stuck.whole_block ? FindingKind::kDivergence : FindingKind::kDeadlock,
                 !state.path, in, nullptr, message, &state);
  }
}

}  // namespace glove::verify
