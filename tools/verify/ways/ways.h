// Which ways through the kernel there are: branches whose condition is not known, the loops behind them, and
// the states of a block that are to be run.
#pragma once

#include "order/order.h"

namespace glove::verify {

struct Steps;

// A base of the parts that run instructions, or follow the ways through the kernel. REQUIRES: `steps`
// outlives it.
class StepsPart : protected OrderPart {
 public:
  explicit StepsPart(Steps& steps);

 protected:
  Steps& steps_;
};

// Makes states general, and finds the states that are instances of general ones.
class Generaliser : private OrderPart {
 public:
  using OrderPart::OrderPart;

  // A copy of what later states are compared with.
  std::shared_ptr<BlockSnapshot> snapshot(const BlockState& state);
  // How many registers of one lane per warp differ.
  size_t differences(const BlockSnapshot& a, const BlockState& b);
  // What holds in both.
  PathPointer common_facts(const BlockSnapshot& general, const BlockState& state);
  // The state at a later round of a loop, as the start plus so many steps as the loop has run.
  void widen(const BlockSnapshot& start, BlockState& state, BlockSnapshot& result);
  // A general state did not cover this one: what differs from its next round may be anything, and what has
  // not changed too, if other values have gone one round on.
  void weaken(const BlockSnapshot& general, BlockState& state, BlockSnapshot& result);
  // Whether the state is an instance of a general one. facts_differ: but for what the blocks know.
  bool subsumed(const BlockSnapshot& general, const BlockState& state, bool* facts_differ);

 private:
  void forget_dead(Warp& warp);
  std::optional<Value> general_ticket(const BlockSnapshot& start, const BlockState& state, Value before,
                                      Value now, BlockSnapshot& result);
  // By the values before and now.
  using Unknowns = std::map<std::array<uint64_t, 4>, Value>;
  Value common_unknown(Unknowns& common, Value before, Value now, Type type, BlockSnapshot& result);
  template <class Visit>
  void each_register(const BlockSnapshot& start, const BlockState& state, BlockSnapshot& result, Visit visit);
  template <class Visit>
  void each_contents(const BlockSnapshot& start, BlockSnapshot& result, Visit visit);
  template <class Next>
  void replace(const Contents& before, Contents& contents, bool all, Next next);
};

// The states of a block that are still to be run, and those that were. A condition that is the same for the
// whole block and has a barrier behind it forks the block's state. States that meet again at a full barrier
// are compared, so that loops of unknown length come to an end.
class Explorer : private OrderPart {
 public:
  using OrderPart::OrderPart;

  // A new block begins in this state.
  void begin(BlockState state);
  std::optional<BlockState> next();
  // The state stays, and is freed with the run.
  void put_back(BlockState state) { forks_.push_back(std::move(state)); }
  // The block goes on under the condition, and later without it.
  void fork(BlockState& state, PredicateId condition, uint32_t site);
  // All threads of the block have met. The path may end, because another goes on as it would.
  void at_full_barrier(BlockState& state);

 private:
  void begin_phase(BlockState& state);
  uint64_t place_of_state(const BlockState& state) const;
  static void go_on_from(const BlockSnapshot& general, BlockState& state);

  Generaliser generaliser_{order_};
  std::vector<BlockState> forks_;
  std::map<uint64_t, std::vector<std::shared_ptr<BlockSnapshot>>> snapshots_;  // by place
};

// Joins what the sides of a branch have come to: where bundles of lanes meet, what their registers hold.
class BundleJoin : private Part {
 public:
  explicit BundleJoin(const Part& run) : Part(run) {}

  // All bundles at the join: what the lanes hold and know from here on.
  void join_bundles(BlockState& state, Warp& warp, Context& context, const std::vector<Bundle>& finished,
                    Lanes before);
  // Two bundles of the same lanes on the way, if they are at the same place.
  bool merge_into(Context& context, Bundle& into, const Bundle& other, const BlockState& state);

 private:
  // Two of a lane's bundles, by their places among those that are left, and what the first of them knows and
  // the second one denies.
  struct Meeting {
    size_t into, from;
    PredicateId condition;
  };
  static std::vector<Meeting> meetings_of(const std::vector<const Bundle*>& bundles, int lane);
  Value joined(const std::vector<const Bundle*>& bundles, size_t i, const std::vector<Meeting>& meetings,
               PredicateId condition, Type type, int lane, const BlockState& state);
  Value join_values(const std::vector<std::pair<const Bundle*, Value>>& values, Type type,
                    PredicateId condition, int lane, const BlockState& state);
  Value join_integers(const std::vector<std::pair<const Bundle*, Value>>& values, unsigned bits, int lane,
                      const BlockState& state);
};

// Makes loops that the data end come to an end: after some rounds the state at the branch is generalised,
// until it covers all later rounds.
class Loops : private Part {
 public:
  explicit Loops(const Part& run) : Part(run) {}

  // Lanes come to a branch once more. Returns false if all that follows was seen.
  bool visit_loop(BlockState& state, Warp& warp, Context& context, Lanes lanes, int pc);

 private:
  void begin_iterations(const Context& context, LoopState& loop, Lanes lanes);
  bool left_behind(const LoopState& loop, Value general, bool predicate, int lane) const;
  Value general_value(LoopState& loop, Value now, Value start, Value general, bool first, int lane,
                      unsigned bits, bool integer);
  Value general_predicate(LoopState& loop, Value now, Value start, Value general, bool first, int lane);
  bool decides_branches_only(uint32_t predicate) const;
  bool generalise_together(Warp& warp, LoopState& loop, size_t slot, uint32_t predicate, Lanes lanes,
                           Lanes first);
  void renew_common(Warp& warp, const Context& context, const LoopState& loop, Lanes lanes);
  bool keep_common(Warp& warp, const Context& context, LoopState& loop, size_t slot, Lanes lanes,
                   bool all_new);
  bool generalise(Warp& warp, Context& context, LoopState& loop, Lanes lanes, Lanes first, int pc);
};

// Runs both sides of a branch, as bundles of lanes that may be there, up to the branch's post-dominator;
// bundles that meet are joined, and loops are run until nothing new comes.
class Regions : private StepsPart {
 public:
  using StepsPart::StepsPart;

  // Lanes come to a branch; taken: the condition under which each goes to `target`, else to `fall`.
  void unknown_branch(BlockState& state, Warp& warp, Lanes lanes, int pc,
                      const std::array<PredicateId, 32>& taken, int target, int fall);

 private:
  void run_region(BlockState& state, Warp& warp, Lanes lanes, int pc, const Region& region,
                  const std::array<PredicateId, 32>& taken, int target, int fall);
  void split(BlockState& state, Warp& warp, Lanes lanes, int pc, const std::array<PredicateId, 32>& taken,
             int target, int fall);
  void run_bundles(BlockState& state, Warp& warp, Context& context, std::vector<Bundle>& finished);
  bool run_bundle(BlockState& state, Warp& warp, Context& context, Bundle& bundle);
};

}  // namespace glove::verify
