// What a run is about: one kernel, one launch, and what is asked. Nothing of it changes.
#pragma once

#include <chrono>
#include <string>

#include "flow/flow.h"
#include "glove_verify/launch.h"
#include "state/state.h"

namespace glove::verify {

struct Setup {
  // REQUIRES: the kernel outlives it; it may be sliced.
  Setup(const Kernel& code, const Launch& how, const Options& asked,
        std::chrono::steady_clock::time_point until);

  // "file.cu:12", or the PTX line where there is no source.
  std::string source_line(const Instruction& in) const;
  // Whether a line of the source, the innermost or one that it was inlined into, is that of the instruction.
  bool comes_from(const Instruction& in, const std::string& file, int line) const;
  // Where shared memory ends; if the launch does not say, as far as it can end at all.
  uint64_t shared_end() const;
  // The number of a thread in the grid, from 1 on.
  uint32_t owner_of(const BlockState& state, const Warp& warp, int lane) const {
    return state.block * threads + warp.thread(lane) + 1;
  }
  unsigned register_bits(const PtxOperand& operand) const;
  bool is_predicate(const PtxOperand& operand) const;
  uint32_t number_of(const Instruction& in) const { return static_cast<uint32_t>(&in - kernel.code.data()); }

  const Kernel& kernel;
  const Launch launch;
  const Options options;
  const Flow flow;
  const Waits waits{kernel, flow};
  const std::chrono::steady_clock::time_point deadline;
  uint32_t threads = 0;  // of a block
  uint32_t blocks = 1;
  unsigned granule = 4;  // bytes of a cell
  bool check_global = true;
  bool has_named_barriers = false;
  bool acquires = false;      // has fences or the like, and blocks that may acquire something
  bool has_products = false;  // of matrices, by wgmma
};

}  // namespace glove::verify
