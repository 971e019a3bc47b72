// How the thread goes through the kernel. What its instructions compute is in thread_steps.cpp.
#include "solve/thread_model.h"

#include <algorithm>

namespace glove::verify {

constexpr size_t kMostInstructions = 4000;  // terms grow with what is computed from each other

ThreadModel::ThreadModel(const Setup& setup, Formulas& formulas, SharedInputs& inputs, ThreadPlace place)
    : setup_(setup), formulas_(formulas), inputs_(inputs), place_(place) {
  const auto& blocks = setup_.flow.blocks();
  into_.resize(blocks.size());
  on_chain_.resize(blocks.size());
  for (size_t b = 0; b < blocks.size(); ++b) order_.push_back(static_cast<int>(b));
  std::ranges::sort(order_, {}, [&](int b) { return blocks[static_cast<size_t>(b)].order; });
}

bool ThreadModel::run() {
  const Flow& flow = setup_.flow;
  const auto& blocks = flow.blocks();
  if (blocks.empty()) return true;
  if (setup_.kernel.code.size() > kMostInstructions) refuse("the kernel is long");
  if (!flow.every_block_ends()) refuse("a loop has no end");
  for (int b = 0; b != flow.exit_block() && why_.empty(); b = blocks[static_cast<size_t>(b)].post_dominator)
    on_chain_[static_cast<size_t>(b)] = true;
  for (size_t b = 0; b < blocks.size(); ++b)
    for (const int next : blocks[b].successors) {
      if (next == flow.exit_block() || blocks[static_cast<size_t>(next)].order > blocks[b].order) continue;
      loop_heads_.insert(next);
      loops_ = true;
      if (!flow.dominates(next, static_cast<int>(b))) refuse("a loop has several ways in");
      const std::vector<bool> inside = flow.loop_members(next, {static_cast<int>(b)});
      for (size_t i = 0; i < inside.size(); ++i)
        if (inside[i]) on_chain_[i] = false;
    }
  if (!why_.empty()) return false;
  into_[0].push_back({formulas_.truth(true), Registers(setup_.kernel.registers.size())});
  run_blocks(order_, -1);
  return why_.empty();
}

// REQUIRES: the blocks are in order. skip_loop_at: a head whose registers are already those of any round.
void ThreadModel::run_blocks(const std::vector<int>& blocks, int skip_loop_at) {
  for (const int block : blocks) {
    if (!why_.empty()) return;
    if (loop_heads_.count(block) > 0 && block != skip_loop_at && !into_[static_cast<size_t>(block)].empty())
      prepare_loop(block);
    if (enter(block)) run_block(block);
  }
}

// Joins what comes in. Returns false if nothing does.
bool ThreadModel::enter(int block) {
  std::vector<Edge> edges = std::move(into_[static_cast<size_t>(block)]);
  into_[static_cast<size_t>(block)].clear();
  if (edges.empty()) return false;
  condition_ = edges[0].condition;
  registers_ = std::move(edges[0].registers);
  const auto& live = setup_.flow.live_in(setup_.flow.blocks()[static_cast<size_t>(block)].first);
  for (size_t i = 1; i < edges.size(); ++i) {
    for (const uint32_t r : live) {
      const Number& other = edges[i].registers[r];
      if (other.bits == nullptr || registers_[r].bits == nullptr)
        registers_[r] = {};  // nobody has written it on some way: anything
      else
        registers_[r] = chosen(edges[i].condition, true, other, registers_[r]);
    }
    condition_ = formulas_.either(condition_, edges[i].condition);
  }
  block_ = block;
  if (on_chain_[static_cast<size_t>(block)]) condition_ = formulas_.truth(true);
  return !formulas_.is(condition_, false);
}

// Gives the registers that the loop changes the values of any round: what grows by the same number in each
// round is its start plus a multiple of that, the others are unknown. The conditions of earlier rounds are
// forgotten.
void ThreadModel::prepare_loop(int head) {
  const Flow& flow = setup_.flow;
  std::vector<int> tails;
  for (const int from : flow.blocks()[static_cast<size_t>(head)].predecessors)
    if (flow.blocks()[static_cast<size_t>(from)].order >= flow.blocks()[static_cast<size_t>(head)].order)
      tails.push_back(from);
  const std::vector<bool> inside = flow.loop_members(head, tails);
  std::set<uint32_t> written;
  std::vector<int> members;
  for (const int block : order_) {
    if (!inside[static_cast<size_t>(block)]) continue;
    members.push_back(block);
    const BasicBlock& of = flow.blocks()[static_cast<size_t>(block)];
    for (int i = of.first; i < of.last; ++i)
      for (const PtxOperand& result : setup_.kernel.code[static_cast<size_t>(i)].results)
        if (result.kind == OperandKind::kRegister) written.insert(result.index);
  }
  if (!enter(head)) return;
  exact_ = false;
  const Edge start = {condition_, registers_};
  const size_t unknowns = formulas_.count();  // those from here on may be others in each round
  Edge any = any_round(start, head, written);
  const std::vector<Edge> ends = trial(any, head, members);
  if (!why_.empty()) return;
  const Term rounds = formulas_.unknown(32);
  for (const uint32_t r : written) {
    Number& value = any.registers[r];
    const Number& before = start.registers[r];
    if (setup_.kernel.registers[r].type == Type::kPred || before.bits == nullptr || value.bits == nullptr)
      continue;
    value = grown(before, value, ends, r, rounds, unknowns);
  }
  into_[static_cast<size_t>(head)].assign(1, any);
}

// The state at the beginning of a round of which nothing is known.
ThreadModel::Edge ThreadModel::any_round(const Edge& start, int head, const std::set<uint32_t>& written) {
  Edge any = start;
  for (const uint32_t r : written) any.registers[r] = {};
  for (const uint32_t r : setup_.flow.live_in(setup_.flow.blocks()[static_cast<size_t>(head)].first)) {
    if (written.count(r) == 0) continue;
    Number& value = any.registers[r];
    const Number& before = start.registers[r];
    value = unknown(setup_.kernel.registers[r].type);
    if (before.offset != nullptr && before.object > kMixed)
      value = {value.bits, before.object, formulas_.unknown(64), false};
  }
  return any;
}

// Runs one round, of which nothing but what comes back to the head counts.
std::vector<ThreadModel::Edge> ThreadModel::trial(const Edge& any, int head,
                                                  const std::vector<int>& members) {
  const auto outside = into_;
  const size_t accesses = accesses_.size();
  const unsigned phase = phase_;
  const auto objects = objects_;
  into_[static_cast<size_t>(head)].assign(1, any);
  run_blocks(members, head);
  std::vector<Edge> ends = std::move(into_[static_cast<size_t>(head)]);
  into_ = outside;
  accesses_.resize(accesses);
  phase_ = phase;
  objects_ = objects;
  return ends;
}

// What a register that was `before` ahead of the loop is after some rounds, if each adds the same, whatever
// the register was `then`, at its beginning; else what it was then.
Number ThreadModel::grown(const Number& before, const Number& then, const std::vector<Edge>& ends, uint32_t r,
                          Term rounds, size_t unknowns) const {
  const auto step = [&](auto part) -> Term {  // null: it is not the same in all rounds
    Term same = nullptr;
    for (const Edge& end : ends) {
      const Number& now = end.registers[r];
      if (now.bits == nullptr || now.object != then.object || part(now) == nullptr) return nullptr;
      const Term by = formulas_.subtract(part(now), part(then));
      if ((same != nullptr && same != by) || formulas_.mentions_since(by, unknowns)) return nullptr;
      same = by;
    }
    return same;
  };
  const auto after = [&](Term from, Term by) {
    const Term times = formulas_.resized(rounds, formulas_.bits_of(by), false);
    return formulas_.add(from, formulas_.multiply(times, by));
  };
  Number value = then;
  if (const Term by = step([](const Number& x) { return x.bits; }); by != nullptr)
    value.bits = after(before.bits, by);
  if (value.offset == nullptr) return value;
  if (const Term by = step([](const Number& x) { return x.offset; }); by != nullptr)
    value.offset = after(before.offset, by);
  return value;
}

void ThreadModel::run_block(int block) {
  const BasicBlock& of = setup_.flow.blocks()[static_cast<size_t>(block)];
  for (int i = of.first; i < of.last && why_.empty(); ++i) {
    const Instruction& in = setup_.kernel.code[static_cast<size_t>(i)];
    Term active = condition_;
    bool exact = exact_;
    guard_exact_ = true;
    if (in.guard) {
      const Number guard = read(*in.guard, Type::kPred);
      active = formulas_.both(active, guard.bits);
      guard_exact_ = guard.exact;
      exact = exact && guard.exact;
    }
    const bool jumps = in.op == Op::kBranch || kEnds.has(in.op);
    if (!jumps) {
      step(in, active, exact);
      continue;
    }
    exact_ = exact;  // from here on, for all: which ways are inexact is not followed further
    if (in.op == Op::kBranch) add_edge(block, setup_.flow.block_of(in.targets[0]), active);
    if (!in.guard) return;
    condition_ = formulas_.both(condition_, formulas_.negation(active));
  }
  if (why_.empty()) leave(block, condition_);
}

// To the block that follows in the text.
void ThreadModel::leave(int block, Term condition) {
  const int next = setup_.flow.blocks()[static_cast<size_t>(block)].last;
  if (next < setup_.flow.end()) add_edge(block, setup_.flow.block_of(next), condition);
}

void ThreadModel::add_edge(int /*from*/, int to, Term condition) {
  if (!formulas_.is(condition, false)) into_[static_cast<size_t>(to)].push_back({condition, registers_});
}

Number ThreadModel::unknown(Type type) const {
  return {formulas_.unknown(type == Type::kPred ? 0 : std::max(8u, verify::bits_of(type))), 0, nullptr,
          false};
}

Number ThreadModel::chosen(Term condition, bool exact, const Number& yes, const Number& no) const {
  Number value = {formulas_.choose(condition, yes.bits, no.bits), yes.object, nullptr,
                  exact && yes.exact && no.exact};
  if (yes.object != no.object)
    value.object = kMixed;
  else if (yes.offset != nullptr && no.offset != nullptr)
    value.offset = formulas_.choose(condition, yes.offset, no.offset);
  return value;
}

}  // namespace glove::verify
