// What memory there is, what is done to it, and what orders that.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>

#include "order/order_part.h"
#include "order/sync_place.h"
#include "state/part.h"

namespace glove::verify {

// Numbers the places in memory that atomics change; a plain store to one makes the next number name it.
class Locations : private OrderPart {
 public:
  using OrderPart::OrderPart;

  uint32_t number(const Place& place);
  // The number of a place that has one.
  std::optional<uint32_t> known_number(const Place& place) const;
  // The bytes that a number has named; none where it has named nothing.
  MemorySpan span(uint32_t number) const;
  // After a plain store of some bytes; range: where in shared memory, if the place is not known.
  void forget(const Place& place, unsigned bytes, const BlockState& state, const Warp& warp, int lane);

 private:
  std::unordered_map<GlobalPlace, uint32_t, GlobalPlaceHash> numbers_;
  std::unordered_map<uint32_t, MemorySpan> spans_;  // by number
  std::unordered_set<SymbolId> objects_;            // with such places; 0: shared memory
  std::unordered_set<SymbolId> ranged_;             // whose place is not known, of some name
};

// Memory that nobody writes: two loads from one place return the same.
// Takes every buffer for read-only until a thread writes there; then the run begins again.
class ReadOnlyMemory : private Part {
 public:
  explicit ReadOnlyMemory(const Part& run) : Part(run) {}

  // Whether nobody writes to a place in a buffer, as far as the run has seen.
  bool is_constant(const Place& place, unsigned bytes) const;
  // Remembers what was read as if nobody wrote there.
  void note_read(const Place& place, unsigned bytes);
  // Returns whether something was read there as if nobody wrote; from then on, everything in the buffer is
  // taken for written, so that the run does not begin again for each word.
  bool note_written(const Place& place, unsigned bytes);
  // The buffers that were read or written.
  std::set<SymbolId> buffers() const;

 private:
  std::unordered_set<SymbolId> read_objects_;
  std::unordered_set<SymbolId> read_anywhere_;
  PlaceSet read_words_;
};

// Buffers that may be the same: those to which pointers in memory point, and those of addresses that are not
// understood; and reads that must not see a write at all (ld.global.nc).
class Aliases : private OrderPart {
 public:
  using OrderPart::OrderPart;

  // An access to a buffer.
  void note_use(SymbolId object, const Instruction& in);
  // A read at an address whose buffer is not known, or one that is only for what nobody writes.
  void note_odd_read(const Place& place, unsigned bytes, const Instruction& in);
  // At the end of the run, when all that is written is known.
  void check();

 private:
  // The buffer that holds the pointer, if the pointer was loaded; else 0.
  SymbolId loaded_from(SymbolId object) const;
  bool declared_distinct(SymbolId object) const;
  // Adds the buffers to which an address may belong, whatever conditions hold; returns false if they are not
  // known.
  bool add_candidates(FormId form, std::set<SymbolId>* seen, std::set<SymbolId>* objects) const;

  struct OddRead {
    std::set<SymbolId> objects;  // empty: any
    std::set<FormId> addresses;  // of a buffer that is not known
    bool somewhere = false;      // at a place that is not known
    std::vector<GlobalPlace> words;
  };
  std::map<SymbolId, uint32_t> loaded_;                   // pointers from memory, and the first instruction
  std::map<std::pair<uint32_t, SymbolId>, OddRead> odd_;  // by instruction and buffer
};

// Results of atomic additions that differ from each other.
// Takes additions to a place to return different numbers until something else changes the place; then the run
// begins again.
class Tickets : private OrderPart {
 public:
  using OrderPart::OrderPart;

  // Something that races with nothing, but is no addition of a positive number, changes a place: what
  // additions return there may repeat.
  void spoil(const Place& place, unsigned bytes);
  // Whether additions to a place return different numbers, as far as the run has seen; remembers that they
  // must.
  bool draw(const Place& place, unsigned bytes);
  // The address of a lane as a ticket of its own and the rest; location 0 if it is none.
  TicketShape shape_of(const BlockState& state, const Warp& warp, int lane, Value address);

 private:
  // Where they were taken to differ: the address and the bytes of the addition.
  std::unordered_map<GlobalPlace, std::pair<uint64_t, unsigned>, GlobalPlaceHash> ticketed_;
  std::unordered_set<SymbolId> ranged_;  // objects with additions at places that are not known
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
  // A load acquires what the thread has seen at the place before by other loads.
  void acquire_again(BlockState& state, const Warp& warp, const Instruction& in, const Place& place,
                     int lane);
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
  // The block's releases that come before who has the sights. Once all blocks have run.
  uint32_t releases_before(uint32_t seen, uint32_t block) const;
  // Whether what some of the sights order is not understood.
  bool unclear(uint32_t seen) const;
  // Something that is not followed writes the place, and may release.
  void note_unclear(const Place& place);
  // All blocks have run.
  void settle();
  // Whether the top bit of the place ends a round.
  bool reverses(uint32_t location) const { return reversing_.count(location) > 0; }
  bool any_reverses() const { return !reversing_.empty(); }
  // All such places.
  std::vector<MemorySpan> reversing_places() const;
  void add_assumptions();

 private:
  // Whether blocks may synchronise; two that stand for any others never do, and clusters are not followed.
  bool follows() const { return setup_.blocks > 1 && !learned_.pair && !setup_.cluster.several(); }
  FenceMark release_of(const BlockState& state, const Warp& warp, const Instruction& in, int lane);
  void note_change(BlockState& state, const Warp& warp, const Instruction& in, int lane, const Place& place,
                   uint64_t key, Change change);
  void spoil_counter(const Place& place);
  uint32_t rounds(const BlockState& state, uint32_t at) const;
  SyncPlace& sync_at(const Place& place);
  uint64_t least_seen(uint32_t seen, uint32_t at) const;
  bool sound(uint32_t at) const;
  static bool reached_without(const SyncPlace& sync, const Change& without, uint64_t least);
  std::vector<uint32_t> releases_of(uint32_t sight) const;
  uint32_t sight(const Sight& seen);
  SymbolId observed_in(PredicateId fact) const;
  uint64_t standing(const BlockState& state, const Warp& warp, int lane, const Symbol& symbol) const;
  uint32_t numbers_seen(const BlockState& state, PredicateId fact, SymbolId* by);
  void see_counters(BlockState& state, const Warp& warp, int lane, uint64_t seen, bool sequential,
                    bool elsewhere);

  static constexpr uint32_t kMostSights = Clocks::kCounters - 1;  // its bit: what is not understood

  std::map<uint32_t, SyncPlace> places_;                        // by location
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> releases_;  // location and round or number -> bit
  std::map<uint32_t, uint32_t> reversing_;     // locations whose top bit ends a round, and the first addition
  std::map<uint32_t, GlobalPlace> places_of_;  // by release
  std::vector<Sight> sights_;                  // by number
  std::unordered_map<PredicateId, SymbolId> observed_;  // observed_in()
  std::vector<std::vector<uint32_t>> before_;  // by sight: the releases of each block, once all have run
  std::set<SymbolId> unclear_;                 // buffers that something else changes
  std::set<uint32_t> used_;                    // sights of somebody
  FenceKinds fences_;
};

// Records of accesses: those of a warp by one instruction share one. A record is named by its place.
class AccessLog : private Part {
 public:
  explicit AccessLog(const Part& run) : Part(run) {}

  uint32_t add(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, AccessKind kind,
               unsigned bytes, PathPointer path, bool certain, Flight flight, uint64_t tile);
  // The same access under counters of grid barriers that do not cover it.
  uint32_t uncovered(uint32_t record, uint32_t counters);
  AccessRecord& operator[](uint32_t record) { return records_[record]; }
  const AccessRecord& operator[](uint32_t record) const { return records_[record]; }
  // When a lane's access is over, if `epoch` is when or in which group it began: see AsyncGroups::completed.
  uint32_t epoch_of(const BlockState& state, const AccessRecord& record, int lane, uint32_t epoch) const;
  // When, or in which group, an access of the lane begins now.
  uint32_t epoch_now(const BlockState& state, const Warp& warp, const AccessRecord& record, int lane) const;
  // What outlasts a phase, as far as later rounds of a loop can tell it apart.
  std::vector<uint64_t> flights(const BlockState& state) const;
  // All threads have met: of the accesses before, what is in flight is left, and what was written to shared
  // memory and not fenced for the asynchronous proxy. alone: no other state refers to records.
  void begin_phase(BlockState& state, bool alone);

 private:
  bool left_unordered(const BlockState& state, const Warp& reader, const AccessRecord& access, int lane,
                      uint32_t epoch) const;
  void keep_cells_of_left(BlockState& state, const Warp& reader) const;

  std::vector<AccessRecord> records_;
  std::unordered_map<uint64_t, uint32_t> recent_;                // by instruction, warp and kind
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> uncovered_;  // by record and counters
};

// Reports pairs of accesses that nothing orders, each pair of instructions once.
class RaceReports : private OrderPart {
 public:
  using OrderPart::OrderPart;

  // One race of two instructions is enough; so are a few attempts to prove that there is none.
  bool already_reported(const AccessRecord& a, const AccessRecord& b) const;
  // Reports a race of two lanes at addresses that are not known, if these can meet.
  void compare(uint32_t record, int lane, Value address, uint32_t other, int other_lane, Value other_address,
               unsigned other_bytes);
  // The first two lanes whose ways do not exclude each other.
  std::optional<std::pair<int, int>> not_excluded(const AccessRecord& a, Lanes lanes_a, const AccessRecord& b,
                                                  Lanes lanes_b) const;
  // Returns the finding, if it is a new one.
  Finding* report(const AccessRecord& a, int lane_a, const AccessRecord& b, int lane_b,
                  const std::string& place, bool exact, Overlap overlap, bool same_value);

 private:
  bool claims(const AccessRecord& record, int lane, bool chosen) const;
  std::string values_that_decide(const Side& a, const Side& b) const;
  void explain(const AccessRecord& a, int lane_a, const AccessRecord& b, int lane_b, Finding& finding) const;
  Access public_access(const AccessRecord& record, int lane) const;
  std::string thread_name(const Access& access) const {
    return setup_.name_of_thread(access.thread,
                                 setup_.blocks > 1 ? std::optional(access.block) : std::nullopt);
  }

  std::map<std::pair<uint32_t, uint32_t>, uint32_t> reported_;  // instructions -> how often
};

// Races inside a block: every access is compared with what is not ordered before it,
// and remembered.
class BlockRaces : private OrderPart {
 public:
  using OrderPart::OrderPart;

  // Lanes of a warp access memory. The path may end, and the run may begin again.
  void access(BlockState& state, Warp& warp, const Instruction& in, AccessKind kind, unsigned bytes,
              Lanes lanes, const std::array<Place, 32>& places, const Guarded& guard,
              Flight flight = Flight::kNone, uint64_t tile = 0);

 private:
  void note_stored(const BlockState& state, const Warp& warp, uint32_t record, const Instruction& in,
                   Lanes lanes);
  // The accesses at unknown addresses that an access of the record may meet.
  using Ranges = std::vector<const RangeAccess*>;
  Ranges ranges_near(const BlockState& state, uint32_t record, SymbolId object, const Interval& bytes);
  void exact_accesses(BlockState& state, Warp& warp, uint32_t record, Lanes lanes,
                      const std::array<Place, 32>& places);
  void exact_access(BlockState& state, Warp& warp, uint32_t record, int lane, const Place& place);
  void range_access(BlockState& state, Warp& warp, uint32_t record, Lanes lanes,
                    const std::array<Place, 32>& places);
  void check_cell(BlockState& state, Warp& warp, uint32_t record, int lane, Cell& cell, const Place& place);
  bool writes_what_is_there(BlockState& state, const Warp& warp, uint32_t id, int lane,
                            const AccessEntry& entry, int other, const Place& place);
  std::vector<RangeAccess> grouped(const BlockState& state, const Warp& warp, uint32_t record, Lanes lanes,
                                   const std::array<Place, 32>& places);
  void compare_lanes(const RangeAccess& a, const RangeAccess& b);
  void compare_with_ranges(const BlockState& state, const Warp& warp, uint32_t record, int lane,
                           Value address, const Extent& mine, const Ranges& ranges);
  void compare_with_cells(BlockState& state, Warp& warp, uint32_t record, int lane, SymbolId object,
                          Value address);
  bool ordered(const BlockState& state, const AccessRecord& other, int other_lane, uint32_t epoch,
               const Warp& warp, int lane, const AccessRecord& mine) const;
  void find_distinct(RangeAccess& group);
  void bound_by_votes(const BlockState& state, const Warp& warp, RangeAccess& group);
};

// Races between blocks. Blocks run one after another, so their accesses are kept and compared at the end; two
// are ordered only through a grid barrier.
class GridRaces : private OrderPart {
 public:
  using OrderPart::OrderPart;

  // What the block did since the last full barrier, at the end of a phase and of a path.
  void keep(BlockState& state);
  // At the end of the run.
  void compare_blocks();
  // Whether a counter or flag orders accesses of two blocks; if_acquired: or would, with a fence behind what
  // was seen.
  bool ordered(const AccessRecord& a, const AccessRecord& b, bool if_acquired = false);

 private:
  void note_unfenced(BlockState& state);
  void keep_range(const RangeAccess& range);
  void compare_at(SymbolId object);

  std::unordered_map<GlobalPlace, std::vector<AccessEntry>, GlobalPlaceHash> cells_;
  std::unordered_map<SymbolId, std::set<FormId>> forms_;
  std::unordered_map<SymbolId, std::vector<RangeAccess>> ranges_;
  std::unordered_multimap<uint64_t, std::pair<SymbolId, size_t>> known_;  // hashes of ranges_
};

// Writes the log of waits and of changes of global memory.
class WaitLog : private OrderPart {
 public:
  using OrderPart::OrderPart;

  // The kernel waits nowhere: nothing is logged.
  bool logs() const { return !setup_.waits.empty() && setup_.check_global; }
  // A thread stores to global memory or changes it by an atomic.
  void log_change(BlockState& state, const Warp& warp, const Instruction& in, const Place& place, int lane,
                  Value amount, bool certain);
  // A lane comes to a branch that may let it out; `taken`: the condition of the branch.
  void note_wait(const BlockState& state, int lane, int pc, const WaitBranch& wait, PredicateId taken);
  // The lanes have left the loops that began with the context.
  void end_waits(BlockState& state, const Warp& warp, const Context& context);
  // All threads of a block leave a loop.
  void log_wait(BlockState& state, uint32_t site, PredicateId leaves);
  // A path of a block has come to its end.
  void log_end(const BlockState& state);
  void undecided_loop(int pc);
  // A path goes on as another did.
  void note_instance(uint32_t general, uint32_t event) { log_.instances.emplace_back(general, event); }
  // A path has ended with a defect.
  void note_defect() { log_.complete = false; }
  const EventLog& log() const { return log_; }

 private:
  void log_event(BlockState& state, ProgressEvent event);
  bool draws_out(PredicateId leaves);
  std::vector<WaitCause> causes_of(const BlockState& state, PredicateId leaves);

  EventLog log_;
};

// The parts of a run that know what memory there is, what was done to it, and what orders that. They refer to
// each other.
struct Order : Part {
  explicit Order(const Part& run) : Part(run) {}
  Order(const Order&) = delete;

  ReadOnlyMemory read_only{*this};
  Aliases aliases{*this};
  Locations locations{*this};
  Tickets tickets{*this};
  GridOrder grid{*this};
  AccessLog records{*this};
  RaceReports reports{*this};
  BlockRaces block_races{*this};
  GridRaces grid_races{*this};
  WaitLog waits{*this};
};
inline OrderPart::OrderPart(Order& order) : Part(order), order_(order) {}

// Whether all blocks go on: at the end of the run, what each block waits for is compared with what the others
// bring, for each way through the kernel that they can take together. Reports the waits that do not end, or
// that are not understood.
void check_progress(Order& order);

}  // namespace glove::verify
