// Lanes under a condition that is not known, until both sides of the branch meet again; and the log of what
// the paths of the blocks did at places in global memory that some thread may wait for.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "state/state.h"

namespace glove::verify {

// Bytes in a buffer of global memory.
struct MemorySpan {
  SymbolId object = 0;  // 0: shared memory, or not known
  Interval bytes;
  bool somewhere = false;  // in these bytes, and not all of them
  bool operator==(const MemorySpan&) const = default;
  auto key() const { return std::tuple(object, bytes.lo, bytes.hi, somewhere); }
};

// What lets a thread out of a loop in which it waits.
struct WaitCause {
  enum Kind : uint8_t {
    kNumber,   // the span holds at least so much, or exactly so much
    kAlways,   // the loop itself brings it
    kUnclear,  // something that depends on the span
  } kind = kUnclear;
  MemorySpan span;  // object 0: not known
  uint64_t number = 0;
  bool exactly = false;
  bool operator==(const WaitCause&) const = default;
};

// A change that is certain to happen on its path, or a wait.
struct ProgressEvent {
  enum Kind : uint8_t { kAdd, kStore, kOther, kWait } kind = kOther;
  bool certain = true;       // of a wait
  bool whole_block = false;  // of a wait: all threads of the block wait
  uint32_t before = 0;       // the path's event before it; 0: none
  uint32_t wait_before = 0;  // the path's last wait before it
  uint32_t block = 0;
  uint32_t thread = 0;
  uint32_t epoch = 0;
  uint32_t instruction = 0;
  MemorySpan span = {};
  uint64_t number = 0;            // that is added or stored
  uint64_t limit = ~uint64_t{0};  // a counter begins anew behind this number
  std::vector<WaitCause> causes = {};
  std::vector<uint32_t> after = {};  // the path's waits that have ended before
};

// A change that may or may not happen.
struct PossibleChange {
  MemorySpan span;
  bool adds = false;
  bool operator<(const PossibleChange& other) const {
    return std::pair(span.key(), adds) < std::pair(other.span.key(), other.adds);
  }
};

// The events of a run. Event 0 stands for none.
struct EventLog {
  struct End {
    uint32_t last;                // event of a path
    std::set<PredicateId> facts;  // that hold on it and are the same for all blocks
  };
  std::vector<ProgressEvent> events = std::vector<ProgressEvent>(1);
  std::set<PossibleChange> possible;
  std::map<uint32_t, std::vector<End>> ends;             // by block
  std::vector<std::pair<uint32_t, uint32_t>> instances;  // (a, b): path b goes on exactly as path a did
  bool complete = true;                                  // no path has ended with a defect
};

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
  std::shared_ptr<const Knowledge> knows = nullptr;  // null: as at the branch
  std::vector<WarpRegister> registers = {};          // of Context::written
  AsyncGroups copies = {};
  PathPointer path = nullptr;
  uint32_t trips = 0;  // backward jumps so far
  Lanes exited = 0;
  bool uniform = true;  // its lanes have gone the same way so far
  int side = 0;         // 1: only the first branch's taken side, 2: only the other one
  bool exact = true;    // its lanes are here if, and only if, all holds that its path says
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
  std::unordered_set<SymbolId> common;  // of these, each the same for all lanes, which go on together
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
  PathPointer before = nullptr;  // what the lanes knew at the branch
  int branch = 0;
  int stop = 0;
  bool loops = false;
  bool learns = false;  // its lanes may come to know more
  const std::vector<uint32_t>* written = nullptr;
  PredicateId condition = 0;  // of all lanes, if it is the same
  bool synchronises = false;
  std::vector<Bundle> pending = {};
  std::map<int, LoopState> loop_states = {};
  std::optional<Bundle> split_off = {};
  bool dropped = false;  // the running bundle is an instance of what was seen
  Bundle* running = nullptr;
  std::map<std::pair<int, int>, PendingWait> waits = {};  // by loop and lane
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
