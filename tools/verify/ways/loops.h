// Loops that the data end: after some rounds the state at the branch is generalised, until it covers all
// later rounds.
#pragma once

#include "state/part.h"

namespace glove::verify {

// Makes loops under a condition that is not known come to an end.
class Loops : private Part {
 public:
  explicit Loops(const Part& run) : Part(run) {}

  // Lanes come to a branch once more. Returns false if all that follows was seen.
  bool visit_loop(BlockState& state, Warp& warp, Context& context, Lanes lanes, int pc);

 private:
  void begin_iterations(const Context& context, LoopState& loop, Lanes lanes);
  bool goes_on(Value now, Value general, SymbolId iteration, unsigned bits);
  bool left_behind(const LoopState& loop, Value general, bool predicate, int lane) const;
  Value general_value(LoopState& loop, Value now, Value start, Value general, bool first, int lane,
                      unsigned bits, bool integer);
  Value general_predicate(LoopState& loop, Value now, Value start, Value general, bool first, int lane);
  bool generalise(Warp& warp, Context& context, LoopState& loop, Lanes lanes, Lanes first, int pc);
};

}  // namespace glove::verify
