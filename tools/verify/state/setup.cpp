// What a run is about.
#include <algorithm>

#include "state/part.h"

namespace glove::verify {
namespace {

// Whether the instruction is one of clusters, or reads their registers.
bool concerns_clusters(const Instruction& in) {
  constexpr OpSet kOfClusters = {Op::kClusterBarrier, Op::kMapAddress, Op::kRankOfAddress};
  return kOfClusters.has(in.op) || std::ranges::any_of(in.operands, [](const PtxOperand& operand) {
           return operand.kind == OperandKind::kSpecial && operand.special >= Special::kClusterIdX &&
                  operand.special != Special::kUnknown;
         });
}

}  // namespace

Setup::Setup(const Kernel& code, const Launch& how, const Options& asked)
    : kernel(code), launch(how), options(asked), flow(code) {
  threads = launch.block[0] * launch.block[1] * launch.block[2];
  blocks = launch.grid[0] * launch.grid[1] * launch.grid[2];
  if (launch.cluster[0] != 0) cluster.size = launch.cluster;
  cluster.blocks = cluster.size[0] * cluster.size[1] * cluster.size[2];
  cluster.count = blocks / cluster.blocks;
  cluster.warps = (threads + 31) / 32;
  cluster.used = cluster.several();
  cluster.threads = cluster.several() ? cluster.blocks * cluster.warps * 32 : threads;
  if (cluster.several()) cluster.windows.stride = (shared_end() / 256 + 2) * 256;
  check_global = !options.shared_only;
  bool fences = false, looks = false;
  for (const Instruction& in : kernel.code) {
    has_named_barriers |= kOfMbarriers.has(in.op);  // which do not order all threads either
    has_named_barriers |= in.op == Op::kBarrier &&
                          (in.collective.barrier == BarrierOp::kArrive || in.operands.empty() ||
                           in.operands[0].kind != OperandKind::kImmediate || in.operands[0].immediate != 0);
    acquires |= (in.op == Op::kFence || in.order.acquire) && blocks > 1 && check_global && !cluster.several();
    fences |= (in.op == Op::kFence && in.order.scope != FenceScope::kBlock) || in.order.acquire;
    looks |= (in.op == Op::kLoad && (in.order.strong || in.order.acquire || in.order.is_volatile)) ||
             (in.op == Op::kAtomic && !in.results.empty());
    cluster.used |= concerns_clusters(in);
    arrives_relaxed |= in.op == Op::kClusterBarrier && in.collective.relaxed;
    has_products |= in.op == Op::kWgmma || in.op == Op::kBulkCopy;
    has_mbarriers |= kOfMbarriers.has(in.op);
    fences_shared_alone |= in.op == Op::kProxyFence && in.text.find(".shared") != std::string::npos;
    if (in.op == Op::kLoad || in.op == Op::kStore || in.op == Op::kAtomic)
      if (in.space != Space::kParam && in.space != Space::kConst && in.space != Space::kLocal)
        granule = std::min(granule, bytes_of(in.type));
  }
  uses_flags = fences && looks;
}

std::string Setup::parameter_at(uint64_t offset) const {
  size_t index = 0;
  while (index + 1 < kernel.parameters.size() && kernel.parameters[index + 1].offset <= offset) ++index;
  const uint64_t inside = kernel.parameters.empty() ? 0 : offset - kernel.parameters[index].offset;
  const bool field = !kernel.parameters.empty() && kernel.parameters[index].size > 8;
  return "parameter " + std::to_string(index) + (field ? "+" + std::to_string(inside) : "") + " (offset " +
         std::to_string(offset) + ")";
}

std::string Setup::open_parameters(const std::map<uint64_t, unsigned>& parameters) const {
  std::string text;
  for (const auto& [offset, bits] : parameters) {
    text += (text.empty() ? "" : " and ") + parameter_at(offset);
    text.insert(text.size() - 1, ", u" + std::to_string(bits));
  }
  return text;
}

std::array<uint32_t, 3> Setup::block_index(uint32_t unit, uint32_t rank) const {
  std::array<uint32_t, 3> index = {};
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint32_t along = launch.grid[axis] / cluster.size[axis];
    index[axis] = unit % along * cluster.size[axis] + rank % cluster.size[axis];
    unit /= along, rank /= cluster.size[axis];
  }
  return index;
}

std::string Setup::name_of_thread(uint32_t thread, std::optional<uint32_t> in) const {
  const auto place = [](uint32_t number, const std::array<uint32_t, 3>& size) {
    if (size[1] * size[2] == 1) return std::to_string(number);
    std::string text =
        "(" + std::to_string(number % size[0]) + ", " + std::to_string(number / size[0] % size[1]);
    if (size[2] > 1) text += ", " + std::to_string(number / size[0] / size[1]);
    return text + ")";
  };
  return "thread " + place(thread, launch.block) + (in ? " of block " + place(*in, launch.grid) : "");
}

std::string Setup::name_of_thread(const BlockState& state, uint32_t thread) const {
  std::optional<uint32_t> in;
  if (cluster.several()) in = block_number(block_index(state.block, cluster.rank_of(thread / 32)));
  return name_of_thread(cluster.in_block(thread), in);
}

std::string Setup::shared_at(const BlockState& state, uint64_t address, bool with_place) const {
  if (!cluster.several()) return "shared memory at " + std::to_string(address);
  const uint32_t rank = static_cast<uint32_t>(address / Windows::kSize);
  const std::string text =
      "shared memory of block " + std::to_string(block_number(block_index(state.block, rank)));
  return with_place ? text + " at " + std::to_string(address % Windows::kSize) : text;
}

// Without --dynamic-shared, as far as it can end at all.
uint64_t Setup::shared_end() const {
  uint64_t end = kernel.shared_bytes;
  for (const Variable& variable : kernel.variables) {
    if (variable.space != Space::kShared || !variable.is_extern) continue;
    end = std::max(end, launch.dynamic_shared ? variable.offset + *launch.dynamic_shared : kMostShared);
  }
  return end;
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
