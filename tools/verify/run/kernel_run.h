// Runs a kernel for one launch: all threads with concrete indices, all data unknown, and looks for defects of
// synchronisation on the way. run/*.cpp hold its parts: kernel_run (blocks and scheduling), step
// (instructions), memory_step, warp_step, barrier_step, wait_step, regions (unknown branches), explore
// (forks), races, grid_progress.
#pragma once

#include <chrono>
#include <set>
#include <unordered_set>

#include "flow/flow.h"
#include "flow/waits.h"
#include "glove_verify/finding.h"
#include "glove_verify/launch.h"
#include "run/bundles.h"
#include "run/state.h"

namespace glove::verify {

class KernelRun {
 public:
  // REQUIRES: `kernel` outlives the engine; it may be sliced.
  KernelRun(const Kernel& kernel, const Launch& launch, const Options& options,
            std::chrono::steady_clock::time_point deadline);

  Verdict run();

 private:
  static constexpr uint32_t kMostAttempts = 100;  // of two instructions that could not be told apart

  static constexpr uint32_t kWorkspace = 0x7fffffffu;  // stands for the offset of a parameter

  // Why no more instructions are run. Whoever calls what may end looks at it first.
  enum class Ended : uint8_t {
    kNot,
    kPath,     // with a defect, or unproved
    kCovered,  // the path goes on as another one did
    kRun,      // nothing more can be said about the kernel
    kAgain,    // what was taken to be so turned out not to be: the run begins again
  };

  struct Guarded {
    Lanes certain = 0;
    Lanes possible = 0;  // the guard is not known
    std::array<PredicateId, 32> condition{};
  };

  // kernel_run.cpp
  void leave_unwritten(Warp& warp);
  BlockState initial_state(uint32_t block);
  void list_uncovered();
  void run_block(uint32_t block);
  void run_path(BlockState& state);
  void run_warp(BlockState& state, Warp& warp);
  bool run_group(BlockState& state, Warp& warp, Lanes scope, int stop);
  bool run_complete_group(BlockState& state, Warp& warp, Lanes ready, int stop);
  void lanes_apart(BlockState& state, Warp& warp, Lanes group, int pc);
  void report_stuck(BlockState& state);
  bool ended() const { return ended_ != Ended::kNot; }
  void end_path(bool goes_on = false);
  void begin_again();
  void assume(const std::string& what);
  void forget();
  void run_once();
  bool tick();
  std::vector<uint32_t> threads_of(const Warp& warp, Lanes lanes) const;

  // step.cpp
  void step(BlockState& state, Warp& warp, Lanes lanes, int pc);
  void step_arithmetic(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  bool leaves_unnamed(const Warp& warp, Lanes lanes, const Instruction& in) const;
  void step_pack(const BlockState& state, Warp& warp, const Instruction& in, int lane, const Value* x,
                 PredicateId condition);
  void step_opaque(const BlockState& state, Warp& warp, const Instruction& in, int lane, const Value* x,
                   PredicateId condition);
  Value convert_address(const Instruction& in, Value address);
  void write_predicates(const BlockState& state, Warp& warp, const Instruction& in, int lane, const Value* x,
                        Value result, PredicateId condition);
  void step_branch(BlockState& state, Warp& warp, Lanes lanes, int pc);
  void step_indexed_branch(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  Guarded evaluate_guard(const BlockState& state, const Warp& warp, Lanes lanes, const Instruction& in);
  Value workspace();
  Value operand(const BlockState& state, const Warp& warp, const PtxOperand& operand, int lane);
  uint64_t special(const BlockState& state, const Warp& warp, Special special, int lane) const;
  void write_result(const BlockState& state, Warp& warp, const PtxOperand& result, int lane, Value value,
                    PredicateId condition);
  unsigned register_bits(const PtxOperand& operand) const;
  bool is_predicate(const PtxOperand& operand) const;
  Position position(const BlockState& state, const Warp& warp, int lane) const {
    return {warp.path.get(), state.path.get(), lane};
  }

  // memory_step.cpp and load_step.cpp
  struct Place {
    enum Kind { kNumber, kRange } kind = kNumber;
    Space space = Space::kGlobal;
    SymbolId object = 0;  // of global memory
    Value address;        // an offset into the window, or the whole address of global memory
  };
  void step_load(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, const Guarded& guard);
  void step_store(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, const Guarded& guard);
  void step_atomic(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, const Guarded& guard);
  void step_matrix_memory(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in,
                          const Guarded& guard);
  Place place_of(const BlockState& state, const Warp& warp, const Instruction& in, Value address, int lane);
  SymbolId object_of(Value address);
  Value load_value(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                   unsigned element);
  Value load_shared(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane);
  Value load_parameter(const Place& place, Type type, unsigned bits);
  Value sampled(Type type, unsigned bits, SymbolId object, uint64_t offset);
  bool is_constant(const Place& place, unsigned bytes) const;
  void note_read(const Place& place, unsigned bytes);
  bool note_written(const Place& place, unsigned bytes);
  Value load_constant(const Instruction& in, const Place& place, unsigned bits);
  void store_value(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                   Value value, bool known, PredicateId condition);
  Value atomic_result(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                      Value amount);
  static GlobalPlace key_of(const Place& place);
  uint32_t location(const Place& place);
  void forget_location(const BlockState& state, const Warp& warp, const Place& place, int lane,
                       unsigned bytes);
  void spoil_tickets(const Place& place, unsigned bytes);
  bool draws_tickets(const Place& place, unsigned bytes);
  void store_atomically(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                        const Value& amount, bool certain, const Guarded& guard);
  void counter_addition(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                        Value amount, bool certain);
  bool in_loop() const;
  void note_facts(const BlockState& state, Warp& warp, Lanes lanes);
  bool released(const BlockState& state, const Warp& warp, int lane);
  bool counts_up(const Instruction& in, Value amount) const;
  void increment(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                 bool certain);
  std::optional<uint32_t> free_number() const;
  std::optional<uint32_t> flag_number(uint32_t at);
  uint32_t rounds(const BlockState& state, uint32_t at) const;
  bool begins_round(const BlockState& state, uint32_t thread, const Instruction& in, uint32_t at,
                    uint64_t amount);
  uint32_t numbers_seen(const BlockState& state, PredicateId fact, SymbolId* by);
  bool raise_flag(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                  Value value, bool certain);
  void observe(const BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
               Value value);
  // What a condition says about a number that a strong load or an atomic addition returned: that it is not 0,
  // and that it is at least so much, or exactly.
  struct Seen {
    SymbolId symbol = 0;
    uint64_t least = 0;
    bool exactly = false;
  };
  // A round of a barrier that has ended, as a change of the top bit tells: location and round.
  using Round = std::pair<uint32_t, uint32_t>;
  std::optional<Round> turn_seen(const BlockState& state, PredicateId fact, SymbolId* by) const;
  Seen seen_in(PredicateId fact) const;
  uint64_t standing(const BlockState& state, const Warp& warp, int lane, const Symbol& symbol) const;
  void see_counters(BlockState& state, const Warp& warp, int lane, uint64_t seen, bool sequential,
                    bool elsewhere);
  void acquire_seen(BlockState& state, Warp& warp, Lanes lanes);
  bool resets_counter(const BlockState& state, const Warp& warp, const Place& place, int lane);
  void spoil_counter(const Place& place);
  void step_fence(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  uint64_t shared_end() const;
  std::string outside(const Instruction& in, const Place& place) const;
  std::string source_line(const Instruction& in) const;
  bool comes_from(const Instruction& in, const std::string& file, int line) const;
  void apply_range(const Instruction& in, Value value);
  bool check_bounds(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                    bool certain);

  // races.cpp
  uint32_t add_record(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, AccessKind kind,
                      unsigned bytes, PathPointer path, bool certain, Flight flight);
  void access(BlockState& state, Warp& warp, const Instruction& in, AccessKind kind, unsigned bytes,
              Lanes lanes, const std::array<Place, 32>& places, const Guarded& guard,
              Flight flight = Flight::kNone);
  void exact_access(BlockState& state, Warp& warp, uint32_t record, int lane, const Place& place);
  void range_access(BlockState& state, Warp& warp, uint32_t record, Lanes lanes,
                    const std::array<Place, 32>& places);
  void check_cell(BlockState& state, Warp& warp, uint32_t record, int lane, Cell& cell, const Place& place);
  bool writes_what_is_there(BlockState& state, const Warp& warp, uint32_t id, int lane,
                            const AccessEntry& entry, const Place& place);
  TicketShape ticket_shape(const BlockState& state, const Warp& warp, int lane, Value address);
  std::vector<RangeAccess> grouped(const BlockState& state, const Warp& warp, uint32_t record, Lanes lanes,
                                   const std::array<Place, 32>& places);
  void compare_lanes(const RangeAccess& a, const RangeAccess& b);
  uint32_t owner_of(const BlockState& state, const Warp& warp, int lane) const {
    return state.block * threads_ + warp.thread(lane) + 1;
  }
  void compare_with_ranges(BlockState& state, Warp& warp, uint32_t record, int lane, Value address,
                           const Extent& mine);
  Interval touched_bytes(const BlockState& state, const Warp& warp, int lane, SymbolId object, Value address,
                         unsigned bytes);
  void compare_with_cells(BlockState& state, Warp& warp, uint32_t record, int lane, SymbolId object,
                          Value address);
  void compare_one(uint32_t record, int lane, Value address, uint32_t other, int other_lane,
                   Value other_address, unsigned other_bytes);
  bool ordered(const BlockState& state, const AccessRecord& other, int other_lane, uint32_t epoch,
               const Warp& warp, int lane, const AccessRecord& mine) const;
  bool already_reported(const AccessRecord& a, const AccessRecord& b) const;
  void report_race(const AccessRecord& a, int lane_a, const AccessRecord& b, int lane_b,
                   const std::string& place, bool exact, Overlap overlap, bool same_value);
  void explain_race(const AccessRecord& a, int lane_a, const AccessRecord& b, int lane_b,
                    Finding& finding) const;
  void keep_for_grid(BlockState& state);
  void note_unfenced(BlockState& state);
  bool is_arrival(const BlockState& state, uint32_t counter, const AccessRecord& record, Lanes lanes,
                  const GlobalPlace& place) const;
  void keep_range_for_grid(const RangeAccess& range);
  void compare_blocks();
  void compare_blocks_at(SymbolId object);
  bool blocks_ordered(const AccessRecord& a, const AccessRecord& b);
  void validate_counters();

  // wait_step.cpp
  bool logs() const { return !waits_.empty() && check_global_; }
  void log_change(BlockState& state, const Warp& warp, const Instruction& in, const Place& place, int lane,
                  Value amount, bool certain);
  void log_event(BlockState& state, ProgressEvent event);
  MemorySpan span_of(const Place& place, unsigned bytes) const;
  void note_wait(const BlockState& state, int lane, int pc, const WaitBranch& wait, PredicateId taken);
  void end_waits(BlockState& state, const Warp& warp, const Context& context);
  void log_wait(BlockState& state, uint32_t site, PredicateId leaves);
  std::vector<WaitCause> causes_of(const BlockState& state, PredicateId leaves);
  bool draws_out(PredicateId leaves);
  void log_end(const BlockState& state);
  void undecided_loop(int pc);

  // grid_progress.cpp
  class GridProgress;
  void check_progress();

  // warp_step.cpp
  bool warp_complete(BlockState& state, Warp& warp, Lanes lanes, int pc, Lanes* members);
  void step_warp_barrier(BlockState& state, Warp& warp, Lanes members);
  void step_exchange(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  void step_shuffle(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);

  // async_step.cpp
  void step_asynchronous(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  void step_copy(BlockState& state, Warp& warp, const Instruction& in, const Guarded& guard);
  unsigned copied_bytes(BlockState& state, Warp& warp, const Instruction& in, int lane, unsigned size,
                        Guarded* guard);
  void step_copy_wait(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  void step_wgmma(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  void read_matrix(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, uint64_t descriptor,
                   unsigned groups);
  uint32_t epoch_of(const BlockState& state, const AccessRecord& record, int lane, uint32_t epoch) const;
  uint32_t epoch_now(const BlockState& state, const Warp& warp, const AccessRecord& record, int lane) const;
  std::vector<uint64_t> flights(const BlockState& state) const;
  void begin_phase(BlockState& state);
  void check_warpgroups(BlockState& state);

  // vote_step.cpp
  void step_vote(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  bool may_be_ticket(Value value) const;
  bool is_voter(Value lane, SymbolId ballot) const;
  std::optional<Value> shuffled_from(const BlockState& state, const Warp& warp, Lanes lanes,
                                     const Instruction& in, int lane, const std::array<Value, 32>& data);
  std::optional<Value> handed_round(Value by, const std::vector<Value>& values);
  void find_distinct(RangeAccess& group);
  void bound_by_votes(const BlockState& state, const Warp& warp, RangeAccess& group);
  bool voters_come(const BlockState& state, const Warp& warp, Lanes lanes, const Instruction& in);

  // barrier_step.cpp
  void step_barrier(BlockState& state, Warp& warp, Lanes lanes, int pc);
  void arrive(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, int pc, uint32_t barrier,
              uint32_t count);
  void release(BlockState& state, uint32_t barrier);
  void unknown_barrier_condition(BlockState& state, Warp& warp, Lanes lanes, int pc, PredicateId condition);

  // regions.cpp and join.cpp
  void unknown_branch(BlockState& state, Warp& warp, Lanes lanes, int pc,
                      const std::array<PredicateId, 32>& taken, int target, int fall);
  void run_region(BlockState& state, Warp& warp, Lanes lanes, int pc, const Region& region,
                  const std::array<PredicateId, 32>& taken, int target, int fall);
  void run_bundles(BlockState& state, Warp& warp, Context& context, std::vector<Bundle>& finished);
  bool run_bundle(BlockState& state, Warp& warp, Context& context, Bundle& bundle);
  void split(BlockState& state, Warp& warp, Lanes lanes, int pc, const std::array<PredicateId, 32>& taken,
             int target, int fall);
  bool visit_loop(BlockState& state, Warp& warp, Context& context, Lanes lanes, int pc);
  void begin_iterations(const Context& context, LoopState& loop, Lanes lanes);
  bool goes_on(Value now, Value general, SymbolId iteration, unsigned bits);
  bool left_behind(const LoopState& loop, Value general, bool predicate, int lane) const;
  Value general_value(LoopState& loop, Value now, Value start, Value general, bool first, int lane,
                      unsigned bits, bool integer);
  Value general_predicate(LoopState& loop, Value now, Value start, Value general, bool first, int lane);
  bool generalise(Warp& warp, Context& context, LoopState& loop, Lanes lanes, Lanes first, int pc);
  bool merge_into(Context& context, Bundle& into, const Bundle& other, const BlockState& state);
  PathPointer lane_path(PathPointer parent, Lanes lanes, const std::array<PredicateId, 32>& conditions,
                        bool negate, uint32_t site) const;

  // bundles.cpp
  Bundle capture(const BlockState& state, const Warp& warp, const Context& context, Lanes lanes) const;
  void restore(BlockState& state, Warp& warp, const Context& context, const Bundle& bundle) const;
  static void meet_knowledge(Bundle& into, const Bundle& other);

  // join.cpp
  void join_bundles(BlockState& state, Warp& warp, Context& context, const std::vector<Bundle>& finished,
                    Lanes before);
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

  // explore.cpp
  uint64_t place_of_state(const BlockState& state) const;
  void fork(BlockState& state, PredicateId condition, uint32_t site);
  static void go_on_from(const BlockSnapshot& general, BlockState& state);
  void at_full_barrier(BlockState& state);
  bool subsumed(const BlockSnapshot& general, const BlockState& state, bool* facts_differ);
  std::shared_ptr<BlockSnapshot> snapshot(const BlockState& state);
  void forget_dead(Warp& warp);
  std::optional<Value> general_ticket(const BlockSnapshot& start, const BlockState& state, Value before,
                                      Value now, BlockSnapshot& result);
  void widen(const BlockSnapshot& start, BlockState& state, BlockSnapshot& result);
  Value common_unknown(std::map<std::array<uint64_t, 4>, Value>& common, Value before, Value now, Type type,
                       BlockSnapshot& result);
  void weaken(const BlockSnapshot& general, BlockState& state, BlockSnapshot& result);
  PathPointer common_facts(const BlockSnapshot& general, const BlockState& state);
  size_t differences(const BlockSnapshot& a, const BlockState& b);
  void drop_thread_facts(BlockState& state);

  // findings
  void find(FindingKind kind, bool definite, const Instruction& in, const Instruction* other,
            std::string message, const BlockState* state);
  bool under_conditions(const BlockState& state, const Warp& warp) const;
  void unsupported(const Instruction& in, const std::string& reason);
  void unproved(const Instruction& in, const std::string& reason, const BlockState* state);
  Access public_access(const AccessRecord& record, int lane) const;

  const Kernel& kernel_;
  Launch launch_;
  Options options_;
  Flow flow_;
  Waits waits_{kernel_, flow_};
  EventLog log_;
  std::unordered_map<uint32_t, MemorySpan> located_;  // what locations_ has named
  SymbolTable table_;
  Verdict verdict_;
  Ended ended_ = Ended::kNot;
  std::chrono::steady_clock::time_point deadline_;
  uint32_t threads_ = 0;
  uint32_t blocks_ = 1;
  unsigned granule_ = 4;  // bytes of a cell
  bool check_global_ = true;
  std::vector<bool> executed_;
  std::vector<AccessRecord> records_;
  std::unordered_map<uint64_t, uint32_t> recent_records_;
  std::vector<BlockState> forks_;
  std::map<uint64_t, std::vector<std::shared_ptr<BlockSnapshot>>> snapshots_;
  Context* context_ = nullptr;
  uint32_t blurred_ = 0;         // how often a slot of shared memory began to vary
  std::set<std::string> found_;  // to say each thing once
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> reported_races_;  // instructions -> how often
  std::unordered_set<SymbolId> written_objects_;
  std::unordered_set<SymbolId> read_objects_;
  // Parts of these: at addresses that are not known, and words of four bytes.
  std::unordered_set<SymbolId> written_anywhere_, read_anywhere_;
  std::unordered_set<GlobalPlace, GlobalPlaceHash> written_words_, read_words_;
  std::map<std::pair<SymbolId, uint64_t>, uint64_t> distinct_samples_;  // by object and offset
  std::unordered_set<SymbolId> pointers_;
  bool writes_unknown_ = false;
  std::unordered_map<GlobalPlace, uint32_t, GlobalPlaceHash>
      locations_;  // granule: the address and its space
  uint32_t next_location_ = 1;
  std::unordered_set<SymbolId> located_objects_;  // 0: shared memory
  bool has_named_barriers_ = false;
  bool acquires_ = false;      // has fences or the like, and blocks that may acquire something
  bool has_products_ = false;  // of matrices, by wgmma
  // Where additions were taken to return different numbers: the address and the bytes of the addition.
  std::unordered_map<GlobalPlace, std::pair<uint64_t, unsigned>, GlobalPlaceHash> ticketed_;
  std::unordered_set<GlobalPlace, GlobalPlaceHash> tickets_spoiled_;  // where they may repeat
  std::unordered_set<SymbolId> ticket_objects_spoiled_;               // 0: shared memory
  std::unordered_set<GlobalPlace, GlobalPlaceHash> plainly_written_;
  std::unordered_set<SymbolId> somewhere_written_;  // objects, at places that are not known
  std::map<uint32_t, GlobalPlace> counter_places_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t>
      counters_;                            // location and round -> counter of a grid barrier
  std::map<uint32_t, uint32_t> reversing_;  // locations whose top bit ends a round, and the first addition
  std::map<uint32_t, std::map<uint32_t, uint32_t>> arrivals_;  // counter -> block -> additions on a path
  std::set<uint32_t> spoiled_;                                 // locations that something else writes
  std::set<uint32_t> used_counters_;
  std::map<uint32_t, uint32_t> flags_;    // location -> its number among counters and flags
  std::map<uint32_t, uint32_t> raised_;   // flag -> the block that has raised it
  std::set<uint32_t> incremented_;        // locations of counters that may wrap
  std::set<uint32_t> reset_;              // locations of counters that were written after they were seen full
  uint32_t needs_sequential_ = 0;         // counters whose release is a fence.sc before a barrier
  uint32_t seen_without_sequential_ = 0;  // counters behind which some fence is not a fence.sc
  uint32_t light_releases_ = 0;           // counters whose release is not a fence.sc
  uint32_t seen_elsewhere_ = 0;  // counters behind which another thread has the fence than has seen them
  std::unordered_map<GlobalPlace, std::vector<AccessEntry>, GlobalPlaceHash> grid_cells_;
  std::unordered_map<SymbolId, std::set<FormId>> grid_forms_;
  std::unordered_map<SymbolId, std::vector<RangeAccess>> grid_ranges_;
  std::unordered_multimap<uint64_t, std::pair<SymbolId, size_t>> grid_known_;  // hashes of grid_ranges_
  std::map<std::pair<uint32_t, uint32_t>, uint32_t>
      grid_adjusted_;  // record and counters that do not cover it
  // By the ticket that a lane got from another, which is not known: that lane, and what it may have drawn.
  std::unordered_map<SymbolId, std::pair<Value, std::vector<Value>>> drawings_;
  std::set<std::string> assumptions_;
};

}  // namespace glove::verify
