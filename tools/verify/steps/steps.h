// The parts of a run that execute instructions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ways/ways.h"

namespace glove::verify {

// The result of an instruction on numbers; nullopt for operations that are not computed.
std::optional<uint64_t> compute(const Instruction& in, const uint64_t* arguments);

// The result for one thread of which some argument is unknown. REQUIRES: in.op is arithmetic, kMove to kPure.
Value evaluate(const Instruction& in, const Value* arguments, size_t count, SymbolTable& table,
               const Reasoner& reasoner);

// Executes loads, stores and atomics; each may end the path.
class MemorySteps : private StepsPart {
 public:
  using StepsPart::StepsPart;

  void step_load(BlockState& state, Warp& warp, const Instruction& in, const Guarded& guard);
  void step_store(BlockState& state, Warp& warp, const Instruction& in, const Guarded& guard);
  void step_atomic(BlockState& state, Warp& warp, const Instruction& in, const Guarded& guard);
  void step_matrix_memory(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in,
                          const Guarded& guard);
  // wmma: each lane may read or write each byte of the tile.
  void step_tile(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  // Writes what a lane stores at a place; known: the value is.
  void store_value(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                   Value value, bool known, PredicateId condition);
  void store_local(const BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                   Value value, bool known, PredicateId condition);
  bool store_if(Contents& contents, Value condition, uint64_t address, Type type, Value value, Scope scope);
  // After a plain store. One that other threads' additions are not ordered with is a race, and reported as
  // such; with named barriers warps may be phases apart, so that a new name does not tell the phases apart.
  void forget_location(const BlockState& state, const Warp& warp, const Place& place, int lane,
                       unsigned bytes, bool strong = false);

 private:
  void define(BlockState& state, const Instruction& in, uint64_t address, unsigned bytes);
  Lanes find_places(BlockState& state, Warp& warp, const Instruction& in, const Guarded& guard,
                    std::array<Place, 32>& places);
  Value atomic_result(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                      Value amount);
  void store_atomically(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                        const Value& amount, bool certain, const Guarded& guard);
  // The value that a lane loads from a place.
  Value load_value(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane);
  // What the launch declares about the data of a line.
  void apply_range(const Instruction& in, Value value);
  uint64_t random_number(Type type, SymbolId object, uint64_t offset);
  Value sampled(Type type, unsigned bits, SymbolId object, uint64_t offset);
  std::optional<uint64_t> given_number(uint64_t offset, unsigned bytes) const;
  void declare_numbers(const ParameterValue& buffer, Value base);
  Value load_parameter(const Place& place, Type type, unsigned bits);
  Value load_constant(const Instruction& in, const Place& place, unsigned bits);
  Value load_shared(BlockState& state, const Instruction& in, const Place& place);
};

// What goes on beside the threads: copies to shared memory (cp.async) and products of matrices that are read
// from there (wgmma).
//
// The PTX ISA (9.7.9, cp.async) calls cp.async a weak memory operation performed in the generic proxy, whose
// writes its own thread sees once it has waited for the group; nothing else orders it, not even another copy
// of the same group. wgmma.mma_async is performed in the asynchronous proxy (9.7.15): what was written in the
// generic one, by a copy too, needs fence.proxy.async before it is read there. The completion of a product
// has such a fence. No rule asks for a wait before the kernel ends: a copy that nobody reads may still be in
// flight then.
// Executes copies, products, and their fences and waits.
class AsyncSteps : private StepsPart {
 public:
  using StepsPart::StepsPart;

  void step_asynchronous(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  // At the end of a path: the four warps of a warpgroup multiply together.
  void check_warpgroups(BlockState& state);

 private:
  static void fence_proxy(BlockState& state, const std::vector<uint32_t>& threads, bool mbarriers_alone);
  void step_copy(BlockState& state, Warp& warp, const Instruction& in, const Guarded& guard);
  unsigned copied_bytes(BlockState& state, Warp& warp, const Instruction& in, int lane, unsigned size,
                        Guarded* guard);
  void step_copy_wait(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  void read_matrix(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, uint64_t descriptor,
                   unsigned groups);
  void step_wgmma(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
};

// Votes and shuffles of a warp, and what its lanes do on behalf of each other: one adds for all to a counter
// and hands the result round.
class ExchangeSteps : private OrderPart {
 public:
  using OrderPart::OrderPart;

  void step_exchange(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  // Whether a mask that is not known names those that come: they are in the branch that their votes decide,
  // and the mask is the ballot.
  bool voters_come(const BlockState& state, const Warp& warp, Lanes lanes, const Instruction& in);

 private:
  void step_shuffle(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  void step_vote(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  bool is_voter(Value lane, SymbolId ballot) const;
  bool may_be_ticket(Value value) const;
  std::optional<Value> from_one(const BlockState& state, const Warp& warp, Lanes lanes, const Instruction& in,
                                const std::array<Value, 32>& data);
  std::optional<Value> shuffled_from(const BlockState& state, const Warp& warp, Lanes lanes,
                                     const Instruction& in, int lane, const std::array<Value, 32>& data);
  std::optional<Value> handed_round(Value by, const std::vector<Value>& values);

  // By the ticket that a lane got from another, which is not known: that lane, and what it may have drawn.
  std::unordered_map<SymbolId, std::pair<Value, std::vector<Value>>> drawings_;
};

// Executes the barriers of a block.
class BarrierSteps : private StepsPart {
 public:
  using StepsPart::StepsPart;

  void step_barrier(BlockState& state, Warp& warp, Lanes lanes, int pc);
  // A barrier stands behind a condition that may differ between the threads: ends the path.
  void unknown_barrier_condition(BlockState& state, Warp& warp, Lanes lanes, int pc, PredicateId condition);
  // Nobody runs: ends the wait at a barrier that all threads which have not left the kernel have come to.
  // Returns whether there was one.
  bool release_after_exits(BlockState& state);
  // Threads wait, and nobody runs.
  void report_stuck(BlockState& state);
  // Threads go on behind a barrier at which they have waited.
  void go_on(BlockState& state, const std::vector<uint32_t>& released);

 private:
  bool may_leave(const Instruction& in, int pc) const;
  // A thread that has gone past a barrier, at which others wait, and left the kernel then; else none.
  std::optional<uint32_t> gone_past(const BlockState& state, uint32_t rank, int barrier) const;
  void arrive(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, int pc, uint32_t barrier,
              uint32_t count);
  void release(BlockState& state, uint32_t barrier);
};

// Executes what blocks of a cluster do together: its barrier, and addresses of each other's shared memory.
class ClusterSteps : private StepsPart {
 public:
  using StepsPart::StepsPart;

  // Before the first block: what is not modelled where there are clusters.
  void refuse_unmodelled();
  void step_barrier(BlockState& state, Warp& warp, Lanes lanes, int pc);
  // Nobody runs: ends the wait at the barrier of the cluster if all have arrived there. Returns whether it
  // did.
  bool release(BlockState& state);
  // Threads wait, and nobody runs.
  void report_stuck(const BlockState& state);
  // What mapa or getctarank returns. x: the operands.
  Value address(const BlockState& state, const Warp& warp, const Instruction& in, int lane, const Value* x);
  // Lanes access shared memory: that of another block must have begun, and must not end before.
  void note_access(BlockState& state, const Warp& warp, const Instruction& in, const Guarded& guard,
                   Lanes lanes, const std::array<Place, 32>& places);
  // All threads of the cluster meet: what they did is over before any of them leaves.
  void meet(BlockState& state);
  // The path ends: whether each block stayed until others had made their accesses to its shared memory.
  void check_end(const BlockState& state);

 private:
  void arrive(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, int pc);
  ClockPointer published(const BlockState& state, const Warp& warp, Lanes lanes, bool relaxed) const;
  std::vector<uint32_t> threads_of_block(const BlockState& state, uint32_t rank) const;
  bool stays(const BlockState& state, uint32_t rank, uint32_t thread, const RemoteUse& use) const;

  // By instruction: the parameter that decides whether some thread makes its access to another block; empty
  // if something else does.
  std::map<uint32_t, std::string> decided_by_;
};

// Executes mbarriers and bulk copies. A wait that does nothing but try again until the phase has ended is a
// wait for that; any other is not modelled. A copy into shared memory arrives at once, as far as its mbarrier
// counts bytes, and lasts until the phase has ended.
class MbarrierSteps : private StepsPart {
 public:
  using StepsPart::StepsPart;

  void step(BlockState& state, Warp& warp, Lanes lanes, int pc);
  void step_bulk(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  // The block ends: no copy may need its shared memory any more.
  void check_end(const BlockState& state);

 private:
  // What a token stands for.
  struct Token {
    Mbarriers::Index at = 0;
    uint32_t phase = 0;
  };
  // What a thread does at a wait before it looks again: registers that it changes, and those of the wait's
  // operands that it sets, and to what.
  struct WayBack {
    std::vector<PtxOperand> changed = {};
    std::vector<std::pair<PtxOperand, PtxOperand>> set = {};
  };

  const std::optional<WayBack>& way_back(int pc);
  bool waits_again(const BlockState& state, const Warp& warp, Lanes lanes, int pc);
  void pass(BlockState& state, Warp& warp, int lane);
  std::optional<uint32_t> awaited(BlockState& state, Warp& warp, const Instruction& in, Mbarriers::Index at,
                                  int lane);
  std::optional<std::vector<int>> ways_on(int at, std::map<uint32_t, uint64_t>& known) const;
  void init(BlockState& state, Warp& warp, const Instruction& in, uint64_t address, int lane);
  void step_lane(BlockState& state, Warp& warp, const Instruction& in, uint64_t address, int lane);
  std::optional<uint64_t> number(BlockState& state, Warp& warp, const Instruction& in,
                                 const PtxOperand& operand, int lane, const std::string& what);
  void end_phase(BlockState& state, const Warp& warp, const Instruction& in, Mbarriers::Index at);
  Mbarriers::Index mbarrier_of_copy(BlockState& state, Warp& warp, const Instruction& in, int lane,
                                    const Guarded& guard);
  void copy(BlockState& state, Warp& warp, const Instruction& in, int lane, const Guarded& guard);
  bool inside(BlockState& state, Warp& warp, const Instruction& in, Place place, uint64_t bytes, int lane);

  std::map<int, std::optional<WayBack>> ways_back_;  // by instruction; nullopt: it has an effect
  std::map<FormId, Token> tokens_;
};

// Executes one instruction of some lanes: arithmetic and branches here, the others by their parts.
class Interpreter : private StepsPart {
 public:
  using StepsPart::StepsPart;

  void step(BlockState& state, Warp& warp, Lanes lanes, int pc);

 private:
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
  void note_exit(Warp& warp, int lane, int pc) const;
  void step_indexed_branch(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
};

// Runs the lanes of a warp: decides which are next, and where they wait for each other.
class Scheduler : private StepsPart {
 public:
  using StepsPart::StepsPart;

  // Until all lanes wait for other warps or have left the kernel, or the path has ended. Whether any has
  // moved.
  bool run_warp(BlockState& state, Warp& warp);
  // One instruction of the lanes that are furthest behind; false if none of `scope` can run before `stop`.
  bool run_group(BlockState& state, Warp& warp, Lanes scope, int stop);

 private:
  bool run_complete_group(BlockState& state, Warp& warp, Lanes ready, int stop);
  void lanes_apart(BlockState& state, Warp& warp, Lanes group, int pc);
  bool warp_complete(BlockState& state, Warp& warp, Lanes lanes, int pc, Lanes* members);
  void step_warp_barrier(BlockState& state, Warp& warp, Lanes members);
};

// The parts that run instructions, and those that follow the ways through the kernel. They refer to each
// other.
struct Steps {
  explicit Steps(Order& parts) : order(parts) {}
  Steps(const Steps&) = delete;

  Order& order;
  Explorer explorer{order};
  BundleJoin joins{order};
  Loops loops{order};
  MemorySteps memory{*this};
  AsyncSteps async{*this};
  BarrierSteps barriers{*this};
  ClusterSteps clusters{*this};
  MbarrierSteps mbarriers{*this};
  ExchangeSteps exchange{order};
  Regions regions{*this};
  Interpreter interpreter{*this};
  Scheduler scheduler{*this};
};
inline StepsPart::StepsPart(Steps& steps) : OrderPart(steps.order), steps_(steps) {}

}  // namespace glove::verify
