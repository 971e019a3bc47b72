// What goes on beside the threads: copies to shared memory (cp.async) and products of matrices that are read
// from there (wgmma).
//
// The PTX ISA (9.7.9, cp.async) calls cp.async a weak memory operation performed in the generic proxy, whose
// writes its own thread sees once it has waited for the group; nothing else orders it, not even another copy
// of the same group. wgmma.mma_async is performed in the asynchronous proxy (9.7.15): what was written in the
// generic one, by a copy too, needs fence.proxy.async before it is read there. The completion of a product
// has such a fence. No rule asks for a wait before the kernel ends: a copy that nobody reads may still be in
// flight then.
#pragma once

#include "steps/memory_steps.h"

namespace glove::verify {

// Executes copies, products, and their fences and waits.
class AsyncSteps : private Part {
 public:
  AsyncSteps(const Part& run, Operands& operands, Places& places, BlockRaces& races, MemorySteps& memory)
      : Part(run), operands_(operands), places_(places), races_(races), memory_(memory) {}

  void step_asynchronous(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  // At the end of a path: the four warps of a warpgroup multiply together.
  void check_warpgroups(BlockState& state);

 private:
  void step_copy(BlockState& state, Warp& warp, const Instruction& in, const Guarded& guard);
  unsigned copied_bytes(BlockState& state, Warp& warp, const Instruction& in, int lane, unsigned size,
                        Guarded* guard);
  void step_copy_wait(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);
  void read_matrix(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in, uint64_t descriptor,
                   unsigned groups);
  void step_wgmma(BlockState& state, Warp& warp, Lanes lanes, const Instruction& in);

  Operands& operands_;
  Places& places_;
  BlockRaces& races_;
  MemorySteps& memory_;
};

}  // namespace glove::verify
