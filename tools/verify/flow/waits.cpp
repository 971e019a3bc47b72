#include "flow/flow.h"

#include <algorithm>
#include <set>
#include <utility>

namespace glove::verify {
namespace {

constexpr int kMostNested = 16;  // of a condition inside each other

bool is_load(const Instruction& in) {
  return in.op == Op::kLoad && in.space != Space::kParam && in.space != Space::kConst;
}

bool is_strong_read(const Instruction& in) {
  if (in.op == Op::kAtomic) return !in.results.empty();
  return is_load(in) && in.space != Space::kLocal &&
         (in.order.is_volatile || in.order.strong || in.order.acquire);
}

}  // namespace

// One way back to a loop's head, and what its registers depend on.
class Waits::Loop {
 public:
  Loop(const Waits& waits, int head, int tail)
      : kernel_(waits.kernel_), flow_(waits.flow_), head_(head), tail_(tail) {
    members_ = flow_.loop_members(head, {tail});
    for (size_t b = 0; b < members_.size(); ++b) {
      if (!members_[b]) continue;
      for (int i = block(b).first; i < block(b).last; ++i) {
        code_.push_back(i);
        for (const PtxOperand& result : at(i).results)
          if (result.kind == OperandKind::kRegister) writers_[result.index].push_back(i);
      }
    }
  }

  const std::vector<bool>& members() const { return members_; }
  bool reads_strongly() const {
    return std::ranges::any_of(code_, [&](int i) { return is_strong_read(at(i)); });
  }

  // Finds the registers that depend on what strong loads and atomics return.
  void find_tainted() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const int i : code_) changed |= taint_by(i);
    }
  }

  // Whether what they return decides some way out.
  bool waits() const {
    return std::ranges::any_of(code_, [&](int i) {
      const BasicBlock& of = block(static_cast<size_t>(flow_.block_of(i)));
      return i + 1 == of.last && leaves(of) && depends(at(i));
    });
  }

  // Calls visit(branch, taken_stays) for the branches that decide in each round whether there is another one.
  template <class Visit>
  void each_deciding(Visit visit) const {
    for (size_t b = 0; b < members_.size(); ++b) {
      if (!members_[b] || !flow_.dominates(static_cast<int>(b), tail_)) continue;
      const int last = block(b).last - 1;
      const Instruction& in = at(last);
      const bool returns = kEnds.has(in.op);
      if (!in.guard || (in.op != Op::kBranch && !returns)) continue;
      const int taken = returns ? flow_.exit_block() : flow_.block_of(in.targets[0]);
      const int fall = last + 1 < flow_.end() ? flow_.block_of(last + 1) : flow_.exit_block();
      if (inside(taken) == inside(fall)) continue;
      if (stays(static_cast<int>(b), inside(taken) ? taken : fall)) visit(last, inside(taken));
    }
  }

  bool depends(const Instruction& in) const {
    bool found = false;
    each_read(in, [&](uint32_t r) { found |= tainted_.count(r) > 0; });
    return found;
  }

  // Whether the loop goes on only if a condition holds that changes from round to round by what the thread
  // does itself.
  bool counts(int branch, bool taken_stays) const { return counts(*at(branch).guard, taken_stays, 0); }

 private:
  const Instruction& at(int i) const { return kernel_.code[i]; }
  const BasicBlock& block(size_t b) const { return flow_.blocks()[b]; }
  bool inside(int b) const { return b != flow_.exit_block() && members_[b]; }
  bool leaves(const BasicBlock& of) const {
    return std::ranges::any_of(of.successors, [&](int s) { return !inside(s); });
  }

  // Blocks of the loop that come from `from` in the same round, itself included.
  std::set<int> reached(int from) const {
    std::set<int> found;
    work_off(std::vector{from}, [&](int b, std::vector<int>& work) {
      if (!inside(b) || b == head_ || !found.insert(b).second) return;
      for (const int successor : block(static_cast<size_t>(b)).successors) work.push_back(successor);
    });
    return found;
  }
  bool stays(int from, int successor) const {
    return successor == head_ ? from == tail_ : reached(successor).count(tail_) > 0;
  }

  // A swap whose comparison is with something that the loop has read.
  bool tries_again(const Instruction& in) const {
    if (in.op != Op::kAtomic || in.atomic != AtomicOp::kCas || in.operands.empty()) return false;
    std::set<uint32_t> seen;
    std::vector<uint32_t> work;
    if (in.operands[0].kind == OperandKind::kRegister) work.push_back(in.operands[0].index);
    while (!work.empty()) {
      const uint32_t r = work.back();
      work.pop_back();
      const auto writers = writers_.find(r);
      if (!seen.insert(r).second || writers == writers_.end()) continue;
      for (const int i : writers->second) {
        if (is_load(at(i)) || at(i).op == Op::kAtomic) return true;
        each_read(at(i), [&](uint32_t read) { work.push_back(read); });
      }
    }
    return false;
  }

  bool taint_by(int i) {
    const Instruction& in = at(i);
    const int here = flow_.block_of(i);
    const bool depended = depends(in);
    bool changed = false;
    const auto is_tainted = [&](const PtxOperand& operand) {
      return operand.kind == OperandKind::kRegister && tainted_.count(operand.index) > 0;
    };
    const auto stored = [&] {
      return std::ranges::any_of(in.operands, is_tainted) || (in.guard && is_tainted(*in.guard));
    };
    const bool controlled = controlled_.count(here) > 0;
    if ((in.op == Op::kStore || in.op == Op::kAtomic) && (controlled || stored()))
      changed |= !std::exchange(memory_, true);
    const bool source = is_strong_read(in) ? !tries_again(in) : is_load(in) && memory_;
    if (source || controlled || (depended && !tries_again(in)))
      for (const PtxOperand& result : in.results)
        if (result.kind == OperandKind::kRegister) changed |= tainted_.insert(result.index).second;
    // What does not happen in each round depends on the branch in front of it.
    if (i + 1 == block(static_cast<size_t>(here)).last && depended) {
      const auto& successors = block(static_cast<size_t>(here)).successors;
      if (std::ranges::count_if(successors, [&](int s) { return inside(s); }) > 1)
        for (const int successor : successors)
          for (const int b : reached(successor))
            if (!flow_.dominates(b, tail_)) changed |= controlled_.insert(b).second;
    }
    return changed;
  }

  // The same, if it goes on only if the predicate is `needed`.
  bool counts(const PtxOperand& predicate, bool needed, int depth) const {
    if (predicate.kind != OperandKind::kRegister || depth > kMostNested) return false;
    if (predicate.negated) needed = !needed;
    std::set<uint32_t> open, done;
    if (tainted_.count(predicate.index) == 0) return varies(predicate.index, open, done);
    const auto writers = writers_.find(predicate.index);
    if (writers == writers_.end() || writers->second.size() != 1) return false;
    const Instruction& in = at(writers->second[0]);
    if (in.guard || in.type != Type::kPred || in.operands.empty()) return false;
    if (in.op == Op::kNot) return counts(in.operands[0], !needed, depth + 1);
    if ((in.op != Op::kAnd || !needed) && (in.op != Op::kOr || needed)) return false;
    return std::ranges::any_of(in.operands,
                               [&](const PtxOperand& part) { return counts(part, needed, depth + 1); });
  }

  bool varies(uint32_t r, std::set<uint32_t>& open, std::set<uint32_t>& done) const {
    if (open.count(r) > 0) return true;
    const auto writers = writers_.find(r);
    if (writers == writers_.end() || !done.insert(r).second) return false;
    open.insert(r);
    bool found = false;
    for (const int i : writers->second) {
      found |= is_load(at(i)) || at(i).op == Op::kAtomic;
      for (const PtxOperand& operand : at(i).operands)
        found |= operand.kind == OperandKind::kSpecial && operand.special == Special::kUnknown;
      each_read(at(i), [&](uint32_t read) { found = found || varies(read, open, done); });
    }
    open.erase(r);
    return found;
  }

  const Kernel& kernel_;
  const Flow& flow_;
  int head_, tail_;
  std::vector<bool> members_;
  std::vector<int> code_;
  std::map<uint32_t, std::vector<int>> writers_;
  std::set<uint32_t> tainted_;
  std::set<int> controlled_;  // blocks that a branch on such a register decides
  bool memory_ = false;       // holds what depends on them
};

Waits::Waits(const Kernel& kernel, const Flow& flow) : kernel_(kernel), flow_(flow) {
  if (std::ranges::none_of(kernel.code, is_strong_read)) return;
  for (size_t b = 0; b < flow.blocks().size(); ++b)
    for (const int successor : flow.blocks()[b].successors)
      if (successor != flow.exit_block() && flow.dominates(successor, static_cast<int>(b)))
        add_loop(successor, static_cast<int>(b));
}

void Waits::add_loop(int head, int tail) {
  Loop loop(*this, head, tail);
  if (!loop.reads_strongly()) return;
  loop.find_tainted();
  if (!loop.waits()) return;
  bool ends = false;
  std::vector<std::pair<int, bool>> deciding;
  loop.each_deciding([&](int branch, bool taken_stays) {
    ends |= loop.counts(branch, taken_stays);
    if (loop.depends(kernel_.code[branch])) deciding.emplace_back(branch, taken_stays);
  });
  if (ends) return;
  const int number = static_cast<int>(loops_.size());
  loops_.push_back(loop.members());
  for (const auto& [branch, taken_stays] : deciding) branches_[branch].push_back({number, taken_stays});
  if (deciding.empty()) undecided_[flow_.blocks()[tail].last - 1] = true;
}

const std::vector<WaitBranch>& Waits::at(int branch) const {
  static const std::vector<WaitBranch> kNone;
  const auto found = branches_.find(branch);
  return found == branches_.end() ? kNone : found->second;
}

}  // namespace glove::verify
