// Control flow of a kernel: basic blocks, an order in which lanes reconverge, post-dominators and regions;
// the loops that wait; and the part of the kernel that matters.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "ptx/program.h"

namespace glove::verify {

struct BasicBlock {
  int first = 0;
  int last = 0;                 // behind the last instruction
  std::vector<int> successors;  // blocks; Flow::exit_block() for a return
  std::vector<int> predecessors;
  int order = 0;           // reverse post-order, loops before what follows them
  int post_dominator = 0;  // the nearest
};

// Calls visit(item, work) for each item of the work until none is left; a visit may add more.
template <class Item, class Visit>
void work_off(std::vector<Item> work, Visit visit) {
  while (!work.empty()) {
    const Item item = work.back();
    work.pop_back();
    visit(item, work);
  }
}

// What lies between a branch and its nearest post-dominator.
struct Region {
  int join = 0;  // the post-dominator's first instruction; Flow::end() for the kernel's end
  bool block_barrier = false;
  bool mbarriers = false;         // or bulk copies, which count as barriers of the block
  bool loops = false;             // a way leads back to the branch
  bool orders = false;            // fences, and what else lets threads know of others
  std::vector<uint32_t> written;  // registers
};

// The control flow of one kernel, which must outlive it.
class Flow {
 public:
  explicit Flow(const Kernel& kernel);

  const std::vector<BasicBlock>& blocks() const { return blocks_; }
  int exit_block() const { return static_cast<int>(blocks_.size()); }
  int end() const { return static_cast<int>(block_of_.size()); }
  int block_of(int instruction) const { return block_of_[instruction]; }
  // Whether a way leads from each block to the kernel's end.
  bool every_block_ends() const { return every_block_ends_; }
  // Whether all ways from the beginning to block b lead through a.
  bool dominates(int a, int b) const {
    while (b != a && dominators_[b] >= 0 && dominators_[b] != b) b = dominators_[b];
    return b == a || dominators_[b] < 0;
  }
  // The blocks on the ways from a loop's head to one of its tails.
  std::vector<bool> loop_members(int head, const std::vector<int>& tails) const;
  // Lanes at the instruction with the least order run first.
  int order(int instruction) const { return order_[instruction]; }
  // To which barriers of the block a way leads from an instruction: none, some, or some that name a count.
  enum class Ahead : uint8_t { kNone, kWhole, kCounted };
  Ahead barriers_ahead(int instruction) const;
  // The blocks to which a way leads from the instruction, forwards.
  std::vector<bool> blocks_behind(int instruction) const;
  // REQUIRES: the instruction is a branch or a guarded return.
  const Region& region(int branch) const;
  // Registers that are read at or behind an instruction that begins a block, before they are written.
  const std::vector<uint32_t>& live_in(int instruction) const;

 private:
  void find_blocks();
  void number_blocks();
  void find_dominators();
  void find_live();
  std::vector<uint64_t> live_before(const BasicBlock& block, int instruction) const;

  const Kernel& kernel_;
  std::vector<BasicBlock> blocks_;
  std::vector<int> block_of_;
  std::vector<int> order_;
  std::vector<int> dominators_;  // by block, the nearest; -1: no way leads there
  bool every_block_ends_ = true;
  mutable std::map<int, Region> regions_;                    // that were asked for
  std::vector<std::vector<uint64_t>> live_;                  // by block, a bit per register
  mutable std::map<int, std::vector<uint32_t>> live_lists_;  // that were asked for
};

// Calls visit(operand) for each operand that an instruction reads, and visit(register) for each register.
template <class In, class Visit>
void each_operand(In& in, Visit visit) {
  if (in.guard) visit(*in.guard);
  visit(in.address);
  visit(in.source);
  for (auto& operand : in.operands) visit(operand);
}
template <class Visit>
void each_read(const Instruction& in, Visit visit) {
  each_operand(in, [&](const PtxOperand& operand) {
    if (operand.kind == OperandKind::kRegister) visit(operand.index);
  });
}

// A branch that decides whether a loop goes on.
struct WaitBranch {
  int loop = 0;              // its number
  bool taken_stays = false;  // whether the loop goes on if the branch is taken
};

// The ways back to a loop's head of which no number that the thread counts by itself decides when they end,
// but what strong loads or atomics in the loop return. Any other loop is taken to end with its data. A
// compare-and-swap that is tried again with what the loop has read does not count: if it fails, another
// thread has got on.
class Waits {
 public:
  // REQUIRES: both outlive it.
  Waits(const Kernel& kernel, const Flow& flow);

  bool empty() const { return loops_.empty(); }
  // The loops that a branch decides, in each of their rounds.
  const std::vector<WaitBranch>& at(int branch) const;
  bool inside(int loop, int instruction) const { return loops_[loop][flow_.block_of(instruction)]; }
  // Whether the instruction ends a round of a loop that no branch decides in each round.
  bool undecided(int instruction) const { return undecided_.count(instruction) > 0; }

 private:
  class Loop;
  void add_loop(int head, int tail);

  const Kernel& kernel_;
  const Flow& flow_;
  std::vector<std::vector<bool>> loops_;  // their blocks
  std::map<int, std::vector<WaitBranch>> branches_;
  std::map<int, bool> undecided_;
};

// What a slice keeps besides synchronisation, accesses and what they need.
struct SliceOptions {
  std::set<int> keep_data;   // PTX lines of stores whose data stay
  bool shared_only = false;  // accesses of global memory matter only for what they load
};

// Drops pure instructions without a reader, turns branches that decide nothing into jumps, forgets stored
// data that nobody needs (OperandKind::kNone) and numbers the registers anew. Loops without an effect are
// taken to end.
Kernel slice(const Kernel& kernel, const SliceOptions& options);

}  // namespace glove::verify
