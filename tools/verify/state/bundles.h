// What a warp's lanes have done under a condition that is not known, until both sides of the branch meet
// again.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "state/event_log.h"
#include "state/state.h"

namespace glove::verify {

// What the lanes of a warp know of others, and their last fences.
struct Knowledge {
  std::array<ClockPointer, 32> clocks;
  std::array<FenceMark, 32> fence;
};

// A set of lanes that runs under a condition which is not known.
struct Bundle {
  Lanes lanes = 0;
  std::array<int, 32> pc{};
  std::array<uint64_t, 32> observed{};
  std::shared_ptr<const Knowledge> knows;  // null: as at the branch
  std::vector<WarpRegister> registers;     // of Context::written
  AsyncGroups copies;
  PathPointer path;
  uint32_t trips = 0;  // backward jumps so far
  Lanes exited = 0;
  bool uniform = true;  // its lanes have gone the same way so far
  int side = 0;         // 1: only the first branch's taken side, 2: only the other one
};

// A loop that lanes run under such a condition.
struct LoopState {
  uint32_t visits = 0;
  Bundle start;    // the state from which the body was entered last
  Bundle general;  // that all later iterations are instances of
  Lanes seen = 0;
  Lanes widened = 0;
  std::array<SymbolId, 32> iteration{};
  std::unordered_set<SymbolId> goes_on;  // the iterations of which the present state is the next round
  std::unordered_set<SymbolId> anything;
  uint32_t blurred = 0;
  int rounds_left = 0;         // once the general state covers the present one
  std::vector<uint32_t> ages;  // of copies in flight at the last visit
};

// A lane in a loop in which it waits for others.
struct PendingWait {
  uint32_t branch = 0;
  std::vector<WaitCause> causes;
};

// A branch with such a condition, and what its sides have come to so far.
struct Context {
  Context* outer = nullptr;
  int depth = 1;
  Lanes scope = 0;
  PathPointer before;  // what the lanes knew at the branch
  int branch = 0;
  int stop = 0;
  bool loops = false;
  bool learns = false;  // its lanes may come to know more
  const std::vector<uint32_t>* written = nullptr;
  PredicateId condition = 0;  // of all lanes, if it is the same
  bool synchronises = false;
  std::vector<Bundle> pending;
  std::map<int, LoopState> loop_states;
  std::optional<Bundle> split_off;
  bool dropped = false;  // the running bundle is an instance of what was seen
  Bundle* running = nullptr;
  std::map<std::pair<int, int>, PendingWait> waits;  // by loop and lane
};

// The branches inside which the running lanes are.
struct OpenBranches {
  Context* innermost = nullptr;

  // Whether an instruction may run more often than it is stepped.
  bool in_loop() const;
  // Whether what happens now depends on something that is not known.
  bool under_conditions(const BlockState& state, const Warp& warp) const {
    return innermost != nullptr || state.path != nullptr || warp.path != nullptr;
  }
};

// What the lanes have come to.
Bundle capture(const BlockState& state, const Warp& warp, const Context& context, Lanes lanes);
// The lanes go on from there. One side must not profit from what another has synchronised.
void restore(BlockState& state, Warp& warp, const Context& context, const Bundle& bundle);
// What the lanes know whichever of the two ways they came.
void meet_knowledge(Bundle& into, const Bundle& other);
// The path behind a branch at `site`, under a condition for each lane or its negation.
PathPointer lane_path(PathPointer parent, Lanes lanes, const std::array<PredicateId, 32>& conditions,
                      bool negate, uint32_t site);
// What both paths begin with.
PathPointer common_path(PathPointer a, PathPointer b);

}  // namespace glove::verify
