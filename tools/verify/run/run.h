// One attempt to run a kernel: all threads with concrete indices, all data unknown.
#pragma once

#include "steps/steps.h"

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
  void leave_unwritten(Warp& warp);
  BlockState initial_state(uint32_t block);
  void run_block(uint32_t block);
  void run_path(BlockState& state);

  const Setup& setup_;
  Learned& learned_;
  Reporter report_;
  OpenBranches open_;
  const Part part_;
  Order order_;
  Steps steps_;
};

}  // namespace glove::verify
