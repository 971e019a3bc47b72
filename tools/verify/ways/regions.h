// Branches whose condition is not known, and the loops behind them.
#pragma once

#include "order/places.h"

namespace glove::verify {

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
  bool generalise(Warp& warp, Context& context, LoopState& loop, Lanes lanes, Lanes first, int pc);
};

struct Steps;

// Runs both sides of a branch, as bundles of lanes that may be there, up to the branch's post-dominator;
// bundles that meet are joined, and loops are run until nothing new comes.
class Regions : private OrderPart {
 public:
  Regions(Order& order, Steps& steps) : OrderPart(order), steps_(steps) {}

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

  Steps& steps_;
};

}  // namespace glove::verify
