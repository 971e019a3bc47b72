#include "flow/flow.h"

#include <algorithm>

namespace glove::verify {
namespace {

bool has_effect(const Instruction& in, bool shared_only) {
  constexpr OpSet kAlways = {Op::kAtomic,        Op::kBranchIndexed, Op::kReturn,     Op::kTrap,
                             Op::kBarrier,       Op::kCopy,          Op::kCopyCommit, Op::kCopyWait,
                             Op::kFence,         Op::kProxyFence,    Op::kAssertFail, Op::kUnsupported,
                             Op::kClusterBarrier};
  if (in.op == Op::kLoad &&
      (in.space == Space::kParam || in.space == Space::kConst || in.space == Space::kLocal))
    return false;
  if (in.op == Op::kLoad || in.op == Op::kStore) return !(shared_only && in.space == Space::kGlobal);
  return kAlways.has(in.op) || kWarpSynchronisation.has(in.op) || kOfMbarriers.has(in.op);
}

// For each block, the branches that decide whether it runs (Ferrante, Ottenstein and Warren: the program
// dependence graph). Where a block has no way to the end, each branch decides about every block.
std::vector<std::vector<int>> control_dependences(const Flow& flow) {
  const auto& blocks = flow.blocks();
  std::vector<std::vector<int>> deciding(blocks.size());
  const bool ends = flow.every_block_ends();
  for (size_t from = 0; from < blocks.size(); ++from) {
    if (blocks[from].successors.size() < 2) continue;
    const int branch = blocks[from].last - 1;
    if (!ends) {
      for (auto& list : deciding) list.push_back(branch);
      continue;
    }
    for (int block : blocks[from].successors)
      for (; block != blocks[from].post_dominator && block != flow.exit_block();
           block = blocks[block].post_dominator)
        deciding[block].push_back(branch);
  }
  return deciding;
}

// A branch on a number that a long computation yields may go either way: the computation need not be
// followed further than so many operations in floats, and not at all where that would still keep very many.
constexpr int kFloatDepth = 6;
constexpr size_t kMostFloats = 512;
constexpr int kAnyDepth = 1 << 20;  // to see that two stores compute the same

class Slicer {
 public:
  Slicer(const Kernel& kernel, const SliceOptions& options, const Flow& flow, int float_depth)
      : kernel_(kernel),
        options_(options),
        flow_(flow),
        float_depth_(float_depth),
        deciding_(control_dependences(flow_)) {
    block_depth_.assign(flow_.blocks().size(), float_depth_ + 1);
    needed_.assign(kernel.registers.size(), false);
    depth_.assign(kernel.registers.size(), 0);
    writers_.resize(kernel.registers.size());
    for (size_t i = 0; i < kernel.code.size(); ++i)
      for (const PtxOperand& result : kernel.code[i].results)
        if (result.kind == OperandKind::kRegister) writers_[result.index].push_back(i);
  }

  // Finds what is needed.
  void find_needed() {
    for (size_t i = 0; i < kernel_.code.size(); ++i)
      if (has_effect(kernel_.code[i], options_.shared_only)) visit(i);
    drain();
    // Stored data are needed when a load of the same size is, whose value is needed in turn.
    std::map<unsigned, int> done;
    do {
      done = loaded_;
      for (const Instruction& in : kernel_.code)
        if (in.op == Op::kStore && needs_data(in))
          for (const PtxOperand& operand : in.operands) need(operand, depth_of_data(in));
      drain();
    } while (done != loaded_);
  }

  size_t floats() const {
    size_t count = 0;
    for (size_t r = 0; r < needed_.size(); ++r) count += needed_[r] && is_float(kernel_.registers[r].type);
    return count;
  }

  Kernel result() const {
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
        operand = PtxOperand{.is_predicate = kernel_.registers[operand.index].type == Type::kPred};
    };
    std::vector<int> moved(out.code.size() + 1, 0);
    size_t kept = 0;
    for (size_t i = 0; i < out.code.size(); ++i) {
      moved[i] = static_cast<int>(kept);
      Instruction& in = out.code[i];
      bool read = false;
      for (const PtxOperand& result : in.results)
        read |= result.kind == OperandKind::kRegister && needed_[result.index];
      if (in.op == Op::kBranch)
        keep_branch(static_cast<int>(i), in);
      else if (!has_effect(in, options_.shared_only) && !read)
        continue;
      if (in.op == Op::kStore && !needs_data(in))
        for (PtxOperand& operand : in.operands) operand = PtxOperand{};
      for (PtxOperand& operand : in.results) renumber(operand);
      each_operand(in, renumber);
      if (kept != i) out.code[kept] = std::move(in);
      ++kept;
    }
    moved[out.code.size()] = static_cast<int>(kept);
    out.code.resize(kept);
    for (Instruction& in : out.code)
      for (int& target : in.targets) target = moved[target];
    return out;
  }

 private:
  bool needs_data(const Instruction& in) const {
    return keeps_data(in) || may_raise_flag(in) ||
           (in.space != Space::kGlobal && loaded_.count(bits_of(in.type)) > 0);
  }

  bool keeps_data(const Instruction& in) const {
    return options_.keep_data.count(kernel_.sites[in.site].ptx_line) > 0;
  }

  // A strong store of an integer may tell another block that data are ready.
  bool may_raise_flag(const Instruction& in) const {
    return (in.order.is_volatile || in.order.strong) && !options_.shared_only && in.space != Space::kShared &&
           in.space != Space::kLocal && in.vector == 1 && !is_float(in.type);
  }

  int depth_of_data(const Instruction& in) const {
    return keeps_data(in) || may_raise_flag(in) ? 0 : loaded_.at(bits_of(in.type));
  }

  // `depth`: how many float operations lie between the value and what needs it.
  void need(const PtxOperand& operand, int depth = 0) {
    if (operand.kind != OperandKind::kRegister) return;
    if (depth > float_depth_) return;
    if (needed_[operand.index] && depth_[operand.index] <= depth) return;
    needed_[operand.index] = true;
    depth_[operand.index] = depth;
    work_.push_back(operand.index);
  }

  // The branches that decide whether the instruction runs.
  void need_control(size_t index, int depth) {
    work_off(std::vector{flow_.block_of(static_cast<int>(index))}, [&](int block, std::vector<int>& work) {
      if (block_depth_[block] <= depth) return;
      block_depth_[block] = depth;
      for (const int branch : deciding_[block]) {
        const Instruction& in = kernel_.code[branch];
        branches_.insert(branch);
        if (in.guard) need(*in.guard, depth);
        for (const PtxOperand& operand : in.operands) need(operand, depth);
        work.push_back(flow_.block_of(branch));
      }
    });
  }

  // Everything that the instruction reads, but for data that it only moves.
  void visit(size_t index) {
    const Instruction& in = kernel_.code[index];
    need_control(index, 0);
    if (in.guard) need(*in.guard);
    need(in.address);
    need(in.source);
    const bool moves_data = in.op == Op::kStore || in.op == Op::kMatrix || in.op == Op::kMatrixStore;
    const bool collective = in.op == Op::kShuffle || in.op == Op::kReduce;
    if (const PtxOperand* stride = tile_stride(in)) need(*stride);
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
        const int depth = depth_[reg] + (floats ? 1 : 0);
        if (loads && depth <= float_depth_) {
          const auto [known, added] = loaded_.try_emplace(bits_of(in.type), depth);
          known->second = std::min(known->second, depth);
        }
        need_control(writer, depth);
        if (in.guard) need(*in.guard, depth);
        need(in.address, depth);
        if (in.op != Op::kMatrix)
          for (const PtxOperand& operand : in.operands) need(operand, depth);
      }
    }
  }

  // A branch that decides nothing goes straight to where its two ways meet.
  void keep_branch(int index, Instruction& in) const {
    if (!in.guard || branches_.count(index) > 0) return;
    const int join = flow_.blocks()[flow_.block_of(index)].post_dominator;
    in.guard.reset();
    in.targets = {join == flow_.exit_block() ? flow_.end() : flow_.blocks()[join].first};
  }

  const Kernel& kernel_;
  const SliceOptions options_;
  const Flow& flow_;
  const int float_depth_;
  const std::vector<std::vector<int>> deciding_;  // by block
  std::vector<int> block_depth_;
  std::vector<bool> needed_;
  std::vector<int> depth_;
  std::vector<std::vector<size_t>> writers_;
  std::set<int> branches_;  // that decide about something needed
  std::vector<uint32_t> work_;
  std::map<unsigned, int> loaded_;  // sizes in bits of the loads whose value is needed, with their depth
};

}  // namespace

Kernel slice(const Kernel& kernel, const SliceOptions& options) {
  const Flow flow(kernel);
  const bool compares_data = !options.keep_data.empty();
  Slicer exact(kernel, options, flow, compares_data ? kAnyDepth : kFloatDepth);
  exact.find_needed();
  if (compares_data || exact.floats() <= kMostFloats) return exact.result();
  Slicer coarse(kernel, options, flow, 0);
  coarse.find_needed();
  return coarse.result();
}

}  // namespace glove::verify
