// Loops in which a thread may wait for what other threads do.
#pragma once

#include <map>
#include <vector>

#include "flow/flow.h"

namespace glove::verify {

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
  bool inside(int loop, int instruction) const {
    return loops_[static_cast<size_t>(loop)][static_cast<size_t>(flow_.block_of(instruction))];
  }
  // Whether the instruction ends a round of a loop that no branch decides in each round.
  bool undecided(int instruction) const { return undecided_.count(instruction) > 0; }

 private:
  class Loop;
  void find_dominators();
  bool dominates(int a, int b) const { return dominators_[static_cast<size_t>(b)][static_cast<size_t>(a)]; }
  void add_loop(int head, int tail);

  const Kernel& kernel_;
  const Flow& flow_;
  std::vector<std::vector<bool>> dominators_;  // by block
  std::vector<std::vector<bool>> loops_;       // their blocks
  std::map<int, std::vector<WaitBranch>> branches_;
  std::map<int, bool> undecided_;
};

}  // namespace glove::verify
