// Loops in which a thread waits for others: what lets it out, and what else happens at such places. Progress
// of all blocks is checked at the end (grid_progress.cpp).
#pragma once

#include "order/grid_order.h"
#include "state/bundles.h"
#include "state/part.h"

namespace glove::verify {

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

// Whether all blocks go on: at the end of the run, what each block waits for is compared with what the others
// bring, for each way through the kernel that they can take together. Reports the waits that do not end, or
// that are not understood.
void check_progress(const Part& run, const EventLog& log, const GridOrder& grid);

}  // namespace glove::verify
