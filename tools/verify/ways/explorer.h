// The states of a block that are to be run, and the general ones that stand for all later rounds of a loop
// with a full barrier.
#pragma once

#include "order/races.h"
#include "order/wait_log.h"

namespace glove::verify {

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
  Value common_unknown(std::map<std::array<uint64_t, 4>, Value>& common, Value before, Value now, Type type,
                       BlockSnapshot& result);
};

// Conditions that are the same for the whole block and have a barrier behind them: the block's state is
// forked. States that meet again at a full barrier are compared, so that loops of unknown length come to an
// end.
// The states of a block that are still to be run, and those that were.
class Explorer : private OrderPart {
 public:
  Explorer(Order& order, Generaliser& generaliser) : OrderPart(order), generaliser_(generaliser) {}

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
  uint64_t place_of_state(const BlockState& state) const;
  void drop_thread_facts(BlockState& state);
  static void go_on_from(const BlockSnapshot& general, BlockState& state);

  Generaliser& generaliser_;
  std::vector<BlockState> forks_;
  std::map<uint64_t, std::vector<std::shared_ptr<BlockSnapshot>>> snapshots_;  // by place
};

}  // namespace glove::verify
