#include "state/setup.h"

#include <algorithm>

#include "memory/contents.h"

namespace glove::verify {

Setup::Setup(const Kernel& code, const Launch& how, const Options& asked,
             std::chrono::steady_clock::time_point until)
    : kernel(code), launch(how), options(asked), flow(code), deadline(until) {
  threads = launch.block[0] * launch.block[1] * launch.block[2];
  blocks = launch.grid[0] * launch.grid[1] * launch.grid[2];
  check_global = !options.shared_only;
  for (const Instruction& in : kernel.code) {
    has_named_barriers |= in.op == Op::kBarrier &&
                          (in.barrier == BarrierOp::kArrive || in.operands.empty() ||
                           in.operands[0].kind != OperandKind::kImmediate || in.operands[0].immediate != 0);
    acquires |= (in.op == Op::kFence || in.acquire) && blocks > 1 && check_global;
    has_products |= in.op == Op::kWgmma;
    if (in.op == Op::kLoad || in.op == Op::kStore || in.op == Op::kAtomic)
      if (in.space != Space::kParam && in.space != Space::kConst && in.space != Space::kLocal)
        granule = std::min(granule, std::max(1u, bits_of(in.type) / 8));
  }
}

// Where shared memory ends; without --dynamic-shared, as far as it can end at all.
uint64_t Setup::shared_end() const {
  uint64_t end = kernel.shared_bytes;
  for (const Variable& variable : kernel.variables) {
    if (variable.space != Space::kShared || !variable.is_extern) continue;
    end = std::max(end, launch.dynamic_shared ? variable.offset + *launch.dynamic_shared : kMostShared);
  }
  return end;
}

std::string Setup::source_line(const Instruction& in) const {
  const Site& site = kernel.sites[in.site];
  if (site.chain.empty()) return "PTX line " + std::to_string(site.ptx_line);
  const std::string& file = site.chain[0].file;
  return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(site.chain[0].line);
}

bool Setup::comes_from(const Instruction& in, const std::string& file, int line) const {
  for (const SourceLine& at : kernel.sites[in.site].chain)
    if (at.line == line && at.file.ends_with(file)) return true;
  return false;
}

unsigned Setup::register_bits(const PtxOperand& operand) const {
  return operand.kind == OperandKind::kRegister ? bits_of(kernel.registers[operand.index].type) : 64;
}

bool Setup::is_predicate(const PtxOperand& operand) const {
  return operand.kind == OperandKind::kRegister ? kernel.registers[operand.index].type == Type::kPred
                                                : operand.is_predicate;
}

}  // namespace glove::verify
