// General states: one that stands for all later rounds of a loop with a full barrier.
#pragma once

#include "order/access_log.h"

namespace glove::verify {

// Makes states general, and finds the states that are instances of general ones.
class Generaliser : private Part {
 public:
  Generaliser(const Part& run, AccessLog& records) : Part(run), records_(records) {}

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
  Value common_unknown(std::map<std::array<uint64_t, 4>, Value>& common, Value before, Value now, Type type,
                       BlockSnapshot& result);

  AccessLog& records_;
};

}  // namespace glove::verify
