// One attempt to run a kernel: all threads with concrete indices, all data unknown.
#pragma once

#include "steps/steps.h"
#include "ways/regions.h"

namespace glove::verify {

// Owns the parts of a run. Whatever is not in Learned is made anew for the next attempt.
class Run {
 public:
  Run(const Setup& setup, Learned& learned);
  Run(const Run&) = delete;

  // Runs all blocks. Returns false if the run has to begin again.
  bool once();
  Verdict verdict();

 private:
  // What memory there is, and what is known of it.
  struct Memory {
    Memory(const Part& run);
    Places places;
    Operands operands;
    ReadOnlyMemory read_only;
    Locations locations;
    Tickets tickets;
  };
  // What orders accesses, and what does not.
  struct Order {
    Order(const Part& run, Memory& memory);
    GridOrder grid;
    AccessLog records;
    RaceReports reports;
    BlockRaces block;
    GridRaces blocks;
    WaitLog waits;
  };
  // Which ways there are.
  struct Ways {
    Ways(const Part& run, Order& order);
    Generaliser generaliser;
    Explorer explorer;
    BundleJoin joins;
    Loops loops;
  };
  // Instructions.
  struct Steps {
    Steps(const Part& run, Memory& memory_parts, Order& order, Ways& ways);
    Loads loads;
    MemorySteps memory;
    AsyncSteps async;
    BarrierSteps barriers;
    ExchangeSteps exchange;
    Regions regions;
    Interpreter interpreter;
    Scheduler scheduler;
  };

  void leave_unwritten(Warp& warp);
  BlockState initial_state(uint32_t block);
  void run_block(uint32_t block);
  void run_path(BlockState& state);

  const Setup& setup_;
  Learned& learned_;
  Reporter report_;
  OpenBranches open_;
  const Part part_;
  Memory memory_;
  Order order_;
  Ways ways_;
  Steps steps_;
};

}  // namespace glove::verify
