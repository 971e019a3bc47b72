// Votes and shuffles of a warp, and what its lanes do on behalf of each other: one adds for all to a counter
// and hands the result round.
#pragma once

#include <unordered_map>

#include "state/operands.h"

namespace glove::verify {

// Executes instructions by which lanes exchange values.
class ExchangeSteps : private Part {
 public:
  ExchangeSteps(const Part& run, Operands& operands) : Part(run), operands_(operands) {}

  void step_exchange(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  // Whether a mask that is not known names those that come: they are in the branch that their votes decide,
  // and the mask is the ballot.
  bool voters_come(const BlockState& state, const Warp& warp, Lanes lanes, const Instruction& in);

 private:
  void step_shuffle(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  void step_vote(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  bool is_voter(Value lane, SymbolId ballot) const;
  bool may_be_ticket(Value value) const;
  std::optional<Value> shuffled_from(const BlockState& state, const Warp& warp, Lanes lanes,
                                     const Instruction& in, int lane, const std::array<Value, 32>& data);
  std::optional<Value> handed_round(Value by, const std::vector<Value>& values);

  Operands& operands_;
  // By the ticket that a lane got from another, which is not known: that lane, and what it may have drawn.
  std::unordered_map<SymbolId, std::pair<Value, std::vector<Value>>> drawings_;
};

}  // namespace glove::verify
