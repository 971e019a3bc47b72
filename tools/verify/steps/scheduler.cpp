#include "steps/steps.h"

#include <algorithm>

namespace glove::verify {
namespace {

// Which operand names the lanes that take part; -1: none does.
int mask_operand(const Instruction& in) {
  constexpr OpSet kMasked = {Op::kVote, Op::kMatch, Op::kElect, Op::kReduce};
  if (in.op == Op::kWarpBarrier) return 0;
  if (!in.collective.names_lanes && in.op != Op::kElect) return -1;
  return in.op == Op::kShuffle ? 3 : kMasked.has(in.op) ? static_cast<int>(in.operands.size()) - 1 : -1;
}

}  // namespace

bool Scheduler::run_warp(BlockState& state, Warp& warp) {
  bool moves = false;
  while ((warp.alive & ~warp.waiting) != 0 && !state.at_full_barrier && !report_.ended() &&
         run_group(state, warp, ~Lanes{0}, -1))
    moves = true;
  return moves;
}

bool Scheduler::run_group(BlockState& state, Warp& warp, Lanes scope, int stop) {
  const Lanes ready = warp.alive & ~warp.waiting & scope;
  int best = -1, best_order = 0;
  int waiting_pc = -1, waiting_order = 0;
  Lanes group = 0;
  const auto synchronises = [&](int pc) {
    const Instruction& in = setup_.kernel.code[pc];
    return kWarpSynchronisation.has(in.op) || in.op == Op::kClusterBarrier ||
           (in.op == Op::kBarrier && in.collective.aligned);
  };
  each_lane(ready, [&](int lane) {
    const int pc = warp.pc[lane];
    if (pc == stop) return;
    const int order = setup_.flow.order(pc);
    int& chosen = synchronises(pc) ? waiting_pc : best;
    int& chosen_order = synchronises(pc) ? waiting_order : best_order;
    if (chosen < 0 || order < chosen_order) chosen = pc, chosen_order = order;
  });
  // Lanes at a synchronising instruction wait until no other lane can still come to it.
  const int pc = best >= 0 ? best : waiting_pc;
  if (pc < 0) return false;
  each_lane(ready, [&](int lane) { group |= Lanes{warp.pc[lane] == pc} << lane; });
  if (!report_.tick()) return false;
  if (best < 0) {
    if (run_complete_group(state, warp, ready, stop) || report_.ended()) return true;
    if (state.mbarriers.waits(warp.index)) return false;  // the others come when a phase has ended
    lanes_apart(state, warp, group, pc);
    return false;
  }
  report_.reach(pc);
  steps_.interpreter.step(state, warp, group, pc);
  return true;
}

// All of `ready` wait at synchronising instructions: the first group that is complete goes on.
bool Scheduler::run_complete_group(BlockState& state, Warp& warp, Lanes ready, int stop) {
  std::vector<int> places;
  each_lane(ready, [&](int lane) {
    const int at = warp.pc[lane];
    if (at != stop && std::ranges::find(places, at) == places.end()) places.push_back(at);
  });
  std::ranges::sort(places, [&](int a, int b) { return setup_.flow.order(a) < setup_.flow.order(b); });
  for (const int place : places) {
    Lanes there = 0, members = 0;
    each_lane(ready, [&](int lane) { there |= Lanes{warp.pc[lane] == place} << lane; });
    const bool complete = warp_complete(state, warp, there, place, &members);
    if (report_.ended()) return false;
    if (!complete) continue;
    report_.reach(place);
    if (setup_.kernel.code[place].op == Op::kWarpBarrier)
      step_warp_barrier(state, warp, members);
    else
      steps_.interpreter.step(state, warp, members, place);
    return true;
  }
  // Instructions of one name and one mask meet wherever they stand, as when a compiler has copied a loop for
  // one lane. What they return is not followed.
  constexpr OpSet kExchanges = {Op::kShuffle, Op::kVote, Op::kMatch, Op::kReduce};
  if (places.size() < 2 || open_.innermost != nullptr) return false;
  const auto mask_at = [&](int place, int lane) {
    const Instruction& in = setup_.kernel.code[place];
    const int index = kExchanges.has(in.op) && !in.guard ? mask_operand(in) : -1;
    return index < 0 ? Value{} : read(state, warp, in.operands[index], lane);
  };
  Lanes together = 0, named = 0;
  each_lane(ready, [&](int lane) {
    const int at = warp.pc[lane];
    if (at == stop || setup_.kernel.code[at].text != setup_.kernel.code[places[0]].text) return;
    const Value mask = mask_at(at, lane);
    if (!mask.known() || (together != 0 && named != mask.constant)) return;
    named = static_cast<Lanes>(mask.constant);
    together |= Lanes{1} << lane;
  });
  if (named == 0 || together != (named & warp.alive)) return false;
  each_lane(together, [&](int lane) {
    report_.reach(warp.pc[lane]);
    write_unknown(state, warp, setup_.kernel.code[warp.pc[lane]++], lane);
  });
  return true;
}

// The lanes of `group` wait for others that cannot come.
void Scheduler::lanes_apart(BlockState& state, Warp& warp, Lanes group, int pc) {
  const Instruction& in = setup_.kernel.code[pc];
  const int lane = std::countr_zero(group);
  std::string message = "the lanes of a warp do not come to '" + in.text +
                        "' together: " + setup_.name_of_thread(state, warp, lane) + " waits here";
  const Instruction* other = nullptr;
  const Lanes missing = warp.lanes & ~group;
  const int far = missing == 0 ? lane : std::countr_zero(missing);
  if (missing != 0) {
    message += ", " + setup_.name_of_thread(state, warp, far);
    if (!has(warp.alive, far))
      message += " has left the kernel";
    else if (has(warp.waiting, far))
      message += " waits at a barrier";
    else
      other = &setup_.kernel.code[static_cast<size_t>(
          std::min<int>(warp.pc[far], static_cast<int>(setup_.kernel.code.size()) - 1))],
      message += " is elsewhere";
  }
  if (in.op == Op::kClusterBarrier && !in.collective.aligned && other != nullptr &&
      other->op == Op::kClusterBarrier)
    return report_.unproved(in, message, &state);  // they may meet there
  defect_on_ways(FindingKind::kDivergence, state, warp, {lane, far}, in, message, other);
}

// Whether all lanes that a synchronising instruction names have come to it. `members`: those that go on.
bool Scheduler::warp_complete(BlockState& state, Warp& warp, Lanes lanes, int pc, Lanes* members) {
  const Instruction& in = setup_.kernel.code[pc];
  *members = lanes;
  constexpr OpSet kWholeWarp = {Op::kBarrier,    Op::kClusterBarrier, Op::kMatrix,
                                Op::kMatrixLoad, Op::kMatrixStore,    Op::kWgmma,
                                Op::kWgmmaFence, Op::kWgmmaCommit,    Op::kWgmmaWait};
  const bool may_leave = in.op == Op::kBarrier || in.op == Op::kClusterBarrier;
  if (kWholeWarp.has(in.op)) return lanes == warp.lanes || (lanes == warp.alive && may_leave);
  const int index = mask_operand(in);
  if (index < 0 || static_cast<size_t>(index) >= in.operands.size()) return true;  // whoever is there
  const int first = std::countr_zero(lanes);
  const Value mask = read(state, warp, in.operands[index], first);
  const bool voters = in.op == Op::kShuffle && steps_.exchange.voters_come(state, warp, lanes, in);
  if (!mask.known() && !voters) {
    report_.unproved(in, "the lanes that '" + in.text + "' names are not known", &state);
    return false;
  }
  const Lanes named = voters ? lanes : static_cast<Lanes>(mask.constant);
  if (!has(named, first)) {
    defect(FindingKind::kDivergence, state, warp, in,
           setup_.name_of_thread(state, warp, first) + " executes '" + in.text + "', which does not name it");
    return false;
  }
  Lanes come = lanes;
  if (in.op == Op::kWarpBarrier)  // lanes may come to different ones
    each_lane(warp.alive & ~warp.waiting & named, [&](int lane) {
      const int at = warp.pc[lane];
      if (at < setup_.flow.end() && setup_.kernel.code[at].op == Op::kWarpBarrier) come |= 1u << lane;
    });
  const Lanes needed = named & warp.alive;
  if ((come & needed) != needed) return false;
  *members = needed & come;
  if (open_.innermost != nullptr && !voters &&
      (!open_.innermost->running->uniform || (needed & ~open_.innermost->running->lanes) != 0) &&
      std::popcount(needed) > 1) {
    bool data = false;
    Reasoner(table_, position(state, warp, first)).any_fact([&](PredicateId fact) {
      return data = data || table_.predicate(fact).data;
    });
    report_.find(data ? FindingKind::kDivergence : FindingKind::kUnproved, false, in, nullptr,
                 "'" + in.text + "' stands under a condition that may differ between the lanes it names",
                 &state);
    report_.end_path();
    return false;
  }
  for (Context* context = open_.innermost; context != nullptr; context = context->outer)
    context->synchronises = true;
  return true;
}

void Scheduler::step_warp_barrier(BlockState& state, Warp& warp, Lanes members) {
  order_.grid.acquire_seen(state, warp, members);
  state.clocks.synchronise(threads_of(warp, members));
  for (Context* context = open_.innermost; context != nullptr; context = context->outer)
    context->synchronises = true;
  each_lane(members, [&](int lane) { warp.last_barrier[lane] = ++warp.pc[lane]; });
}

}  // namespace glove::verify
