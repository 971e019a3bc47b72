// What orders blocks with each other: counters at which they meet, flags, and fences.
#pragma once

#include <map>
#include <optional>

#include "order/places.h"

namespace glove::verify {

// Kinds of the fences around counters and flags: a bit for each of them.
struct FenceKinds {
  uint32_t needs_sequential = 0;         // whose release is a fence.sc before a barrier
  uint32_t seen_without_sequential = 0;  // behind which some fence is not a fence.sc
  uint32_t light_releases = 0;           // whose release is not a fence.sc
  uint32_t seen_elsewhere = 0;           // behind which another thread has the fence than has seen them
};

// Follows counters and flags in global memory, and who has seen them full or raised.
class GridOrder : private OrderPart {
 public:
  using OrderPart::OrderPart;

  // What a condition says about a number that a strong load or an atomic addition returned: that it is not 0,
  // and that it is at least so much, or exactly.
  struct Seen {
    SymbolId symbol = 0;
    uint64_t least = 0;
    bool exactly = false;
  };
  // A round of a barrier that has ended, as a change of the top bit tells: location and round.
  using Round = std::pair<uint32_t, uint32_t>;

  // Instructions that may move a counter, raise a flag, or see one.
  void counter_addition(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                        Value amount, bool certain);
  void increment(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                 bool certain);
  bool raise_flag(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                  Value value, bool certain);
  // An atomic increment that no block can see wrap if each adds once.
  bool counts_up(const Instruction& in, Value amount) const;
  // Whether the store comes after all blocks have arrived at the counter.
  bool resets_counter(const BlockState& state, const Warp& warp, const Place& place, int lane);
  // The value is what a strong load of the place, or an addition to it, returns.
  void observe(const BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
               Value value);
  void step_fence(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  // Before an access or a barrier: what was acquired before a branch has told what it was.
  void acquire_seen(BlockState& state, Warp& warp, Lanes lanes);
  // Conditions on what was seen may say that a counter is full or a flag raised.
  void note_facts(const BlockState& state, Warp& warp, Lanes lanes);
  // An addition of a block that arrives at a barrier's next round returned the value.
  void note_turn(BlockState& state, uint32_t location, Value value);

  // What a condition says.
  Seen seen_in(PredicateId fact) const;
  std::optional<Round> turn_seen(const BlockState& state, PredicateId fact, SymbolId* by) const;
  // Whether the access is the addition by which the block has arrived.
  bool is_arrival(const BlockState& state, uint32_t counter, const AccessRecord& record, Lanes lanes,
                  const GlobalPlace& place) const;
  // Whether the access of a block came before those who have seen the counter full, or the flag raised.
  bool released_by(uint32_t counter, uint32_t block) const;
  // Whether the top bit of the place ends a round.
  bool reverses(uint32_t location) const { return reversing_.count(location) > 0; }
  bool any_reverses() const { return !reversing_.empty(); }
  // All such places.
  std::vector<MemorySpan> reversing_places() const;
  void add_assumptions();

 private:
  bool released(const BlockState& state, const Warp& warp, int lane);
  std::optional<uint32_t> free_number() const;
  std::optional<uint32_t> flag_number(uint32_t at);
  void spoil_counter(const Place& place);
  uint32_t rounds(const BlockState& state, uint32_t at) const;
  bool begins_round(const BlockState& state, uint32_t thread, const Instruction& in, uint32_t at,
                    uint64_t amount);
  uint64_t standing(const BlockState& state, const Warp& warp, int lane, const Symbol& symbol) const;
  uint32_t numbers_seen(const BlockState& state, PredicateId fact, SymbolId* by);
  void see_counters(BlockState& state, const Warp& warp, int lane, uint64_t seen, bool sequential,
                    bool elsewhere);

  std::map<GridOrder::Round, uint32_t> counters_;  // location and round -> counter of a grid barrier
  std::map<uint32_t, uint32_t> flags_;             // location -> its number among counters and flags
  std::map<uint32_t, uint32_t> raised_;            // flag -> the block that has raised it
  std::map<uint32_t, uint32_t> reversing_;  // locations whose top bit ends a round, and the first addition
  std::map<uint32_t, std::set<uint32_t>> arrivals_;  // counter -> blocks that add to it
  std::map<uint32_t, GlobalPlace> places_of_;        // by counter or flag
  std::set<uint32_t> spoiled_;                       // locations that something else writes
  std::set<uint32_t> incremented_;                   // locations of counters that may wrap
  std::set<uint32_t> reset_;  // locations of counters that were written after they were seen full
  std::set<uint32_t> used_;   // counters and flags that somebody has seen
  FenceKinds fences_;
};

}  // namespace glove::verify
