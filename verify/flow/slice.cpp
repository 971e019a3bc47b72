#include "verify/flow/slice.h"

#include <algorithm>

namespace glove::verify {
namespace {

bool has_effect(const Instruction& in) {
  switch (in.op) {
    case Op::kLoad:
      return in.space != Space::kParam && in.space != Space::kConst && in.space != Space::kLocal;
    case Op::kStore:
    case Op::kAtomic:
    case Op::kBranch:
    case Op::kBranchIndexed:
    case Op::kReturn:
    case Op::kTrap:
    case Op::kBarrier:
    case Op::kWarpBarrier:
    case Op::kShuffle:
    case Op::kVote:
    case Op::kMatch:
    case Op::kReduce:
    case Op::kElect:
    case Op::kMatrix:
    case Op::kMatrixLoad:
    case Op::kMatrixStore:
    case Op::kFence:
    case Op::kProxyFence:
    case Op::kWgmma:
    case Op::kWgmmaFence:
    case Op::kWgmmaCommit:
    case Op::kWgmmaWait:
    case Op::kAssertFail:
    case Op::kUnsupported:
      return true;
    default:
      return false;
  }
}

// A branch on a number that a long computation yields may go either way: the computation need not be
// followed.
constexpr int kFloatDepth = 6;

class Slicer {
 public:
  Slicer(const Kernel& kernel, bool keep_data) : kernel_(kernel), keep_data_(keep_data) {
    needed_.assign(kernel.registers.size(), false);
    depth_.assign(kernel.registers.size(), 0);
    writers_.resize(kernel.registers.size());
    for (size_t i = 0; i < kernel.code.size(); ++i)
      for (const PtxOperand& result : kernel.code[i].results)
        if (result.kind == OperandKind::kRegister) writers_[result.index].push_back(i);
  }

  Kernel run(SliceStatistics* statistics) {
    for (size_t i = 0; i < kernel_.code.size(); ++i)
      if (has_effect(kernel_.code[i])) visit(i);
    drain();
    // Stored data are needed when a load of the same size is, whose value is needed in turn.
    unsigned done = 0;
    do {
      done = loaded_sizes_;
      for (const Instruction& in : kernel_.code)
        if (in.op == Op::kStore && needs_data(in))
          for (const PtxOperand& operand : in.operands) need(operand);
      drain();
    } while (done != loaded_sizes_);
    if (statistics != nullptr) {
      statistics->registers = needed_.size();
      statistics->kept = static_cast<size_t>(std::count(needed_.begin(), needed_.end(), true));
      statistics->instructions = kernel_.code.size();
    }
    return rebuild();
  }

 private:
  bool needs_data(const Instruction& in) const {
    return keep_data_ || (in.space != Space::kGlobal && (loaded_sizes_ & bits_of(in.type)) != 0);
  }

  // `depth`: how many float operations lie between the value and what needs it.
  void need(const PtxOperand& operand, int depth = 0) {
    if (operand.kind != OperandKind::kRegister) return;
    if (kernel_.registers[operand.index].type == Type::kPred) depth = 0;
    if (depth > kFloatDepth) return;
    if (needed_[operand.index] && depth_[operand.index] <= depth) return;
    needed_[operand.index] = true;
    depth_[operand.index] = depth;
    work_.push_back(operand.index);
  }

  // Everything that the instruction reads, but for data that it only moves.
  void visit(size_t index) {
    const Instruction& in = kernel_.code[index];
    if (in.has_guard) need(in.guard);
    need(in.address);
    const bool moves_data = in.op == Op::kStore || in.op == Op::kMatrix || in.op == Op::kMatrixStore;
    const bool collective = in.op == Op::kShuffle || in.op == Op::kReduce;
    if (moves_data) return;
    for (size_t i = 0; i < in.operands.size(); ++i)
      if (!(collective && i == 0)) need(in.operands[i]);  // the data only if the result is read
  }

  void drain() {
    while (!work_.empty()) {
      const uint32_t reg = work_.back();
      work_.pop_back();
      for (const size_t writer : writers_[reg]) {
        const Instruction& in = kernel_.code[writer];
        const bool loads = in.op == Op::kLoad && in.space != Space::kParam && in.space != Space::kConst;
        const bool floats = is_float(in.type) && is_float(kernel_.registers[reg].type);
        const int depth = floats ? depth_[reg] + 1 : 0;
        if (loads && depth <= kFloatDepth) loaded_sizes_ |= bits_of(in.type);
        if (in.has_guard) need(in.guard);
        need(in.address);
        if (in.op != Op::kMatrix)
          for (const PtxOperand& operand : in.operands) need(operand, depth);
      }
    }
  }

  Kernel rebuild() {
    Kernel out = kernel_;
    std::vector<uint32_t> number(needed_.size(), 0);
    out.registers.clear();
    for (size_t r = 0; r < needed_.size(); ++r)
      if (needed_[r]) {
        number[r] = static_cast<uint32_t>(out.registers.size());
        out.registers.push_back(kernel_.registers[r]);
      }
    const auto renumber = [&](PtxOperand& operand) {
      if (operand.kind != OperandKind::kRegister) return;
      if (needed_[operand.index])
        operand.index = number[operand.index];
      else
        operand = PtxOperand{};
    };
    std::vector<int> moved(out.code.size() + 1, 0);
    size_t kept = 0;
    for (size_t i = 0; i < out.code.size(); ++i) {
      moved[i] = static_cast<int>(kept);
      Instruction& in = out.code[i];
      bool read = false;
      for (const PtxOperand& result : in.results)
        read |= result.kind == OperandKind::kRegister && needed_[result.index];
      if (!has_effect(in) && !read) continue;
      if (in.op == Op::kStore && !needs_data(in))
        for (PtxOperand& operand : in.operands) operand = PtxOperand{};
      for (PtxOperand& operand : in.results) renumber(operand);
      for (PtxOperand& operand : in.operands) renumber(operand);
      if (in.has_guard) renumber(in.guard);
      renumber(in.address);
      if (kept != i) out.code[kept] = std::move(in);
      ++kept;
    }
    moved[out.code.size()] = static_cast<int>(kept);
    out.code.resize(kept);
    for (Instruction& in : out.code)
      for (int& target : in.targets) target = moved[static_cast<size_t>(target)];
    return out;
  }

  const Kernel& kernel_;
  bool keep_data_;
  std::vector<bool> needed_;
  std::vector<int> depth_;
  std::vector<std::vector<size_t>> writers_;
  std::vector<uint32_t> work_;
  unsigned loaded_sizes_ = 0;
};

}  // namespace

Kernel slice(const Kernel& kernel, bool keep_data, SliceStatistics* statistics) {
  return Slicer(kernel, keep_data).run(statistics);
}

}  // namespace glove::verify
