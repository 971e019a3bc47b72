#include "flow/flow.h"

#include <algorithm>
#include <utility>

namespace glove::verify {
namespace {

bool ends_block(const Instruction& in) {
  return in.op == Op::kBranch || in.op == Op::kBranchIndexed || kEnds.has(in.op);
}

// By node: those behind it, or before it.
using Graph = std::vector<std::vector<int>>;

// Visits what can be reached from a node. Calls leave(node) when all behind it was visited, and back(node,
// to) at an edge to a node from which the way to here leads.
template <class Leave, class Back>
void depth_first(const Graph& graph, int from, Leave leave, Back back) {
  enum : char { kNew, kOpen, kLeft };
  std::vector<char> state(graph.size(), kNew);
  std::vector<std::pair<int, size_t>> stack = {{from, 0}};
  state[from] = kOpen;
  while (!stack.empty()) {
    auto& [node, edge] = stack.back();
    if (edge == graph[node].size()) {
      state[node] = kLeft;
      leave(node);
      stack.pop_back();
    } else if (const int to = graph[node][edge++]; state[to] == kOpen) {
      back(node, to);
    } else if (state[to] == kNew) {
      state[to] = kOpen;
      stack.emplace_back(to, 0);
    }
  }
}

// Each node's nearest dominator on the ways from `entry` (Cooper, Harvey and Kennedy); -1: no way leads
// there.
std::vector<int> dominators(const Graph& behind, const Graph& before, int entry) {
  std::vector<int> finished, number(behind.size(), -1), dominator(behind.size(), -1);
  const auto leave = [&](int node) {
    number[node] = static_cast<int>(finished.size());
    finished.push_back(node);
  };
  depth_first(behind, entry, leave, [](int, int) {});
  dominator[entry] = entry;
  const auto meet = [&](int a, int b) {
    while (a != b) {
      while (number[a] < number[b]) a = dominator[a];
      while (number[b] < number[a]) b = dominator[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto node = finished.rbegin() + 1; node != finished.rend(); ++node) {
      int best = -1;
      for (const int other : before[*node])
        if (dominator[other] >= 0) best = best < 0 ? other : meet(best, other);
      changed |= std::exchange(dominator[*node], best) != best;
    }
  }
  return dominator;
}

}  // namespace

Flow::Flow(const Kernel& kernel) : kernel_(kernel) {
  find_blocks();
  number_blocks();
  find_dominators();
  order_.resize(block_of_.size());
  for (size_t i = 0; i < block_of_.size(); ++i) {
    const BasicBlock& block = blocks_[block_of_[i]];
    order_[i] = block.order + static_cast<int>(i) - block.first;
  }
  find_live();
}

void Flow::find_blocks() {
  const auto& code = kernel_.code;
  std::vector<bool> leader(code.size() + 1, false);
  leader[0] = true;
  for (size_t i = 0; i < code.size(); ++i) {
    for (const int target : code[i].targets) leader[target] = true;
    if (ends_block(code[i])) leader[i + 1] = true;
  }
  block_of_.resize(code.size());
  for (size_t i = 0; i < code.size(); ++i) {
    if (leader[i]) {
      if (!blocks_.empty()) blocks_.back().last = static_cast<int>(i);
      blocks_.emplace_back().first = static_cast<int>(i);
    }
    block_of_[i] = static_cast<int>(blocks_.size()) - 1;
  }
  blocks_.back().last = static_cast<int>(code.size());
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const Instruction& last = code[static_cast<size_t>(blocks_[b].last) - 1];
    auto& successors = blocks_[b].successors;
    const auto add = [&](int block) {
      if (std::ranges::find(successors, block) == successors.end()) successors.push_back(block);
    };
    for (const int target : last.targets) add(block_of_[target]);
    if (kEnds.has(last.op)) add(exit_block());
    if (!ends_block(last) || last.guard) add(b + 1 < blocks_.size() ? static_cast<int>(b) + 1 : exit_block());
    if (successors.empty()) add(exit_block());
    for (const int successor : successors)
      if (successor != exit_block()) blocks_[successor].predecessors.push_back(static_cast<int>(b));
  }
}

std::vector<bool> Flow::loop_members(int head, const std::vector<int>& tails) const {
  std::vector<bool> inside(blocks_.size(), false);
  inside[head] = true;
  work_off(tails, [&](int block, std::vector<int>& work) {
    if (inside[block]) return;
    inside[block] = true;
    for (const int predecessor : blocks_[block].predecessors) work.push_back(predecessor);
  });
  return inside;
}

// A depth-first search that leaves loops first puts what follows a loop behind all of it.
void Flow::number_blocks() {
  Graph successors(blocks_.size() + 1);
  for (size_t b = 0; b < blocks_.size(); ++b) successors[b] = blocks_[b].successors;
  std::map<int, std::vector<int>> back_edges;  // loop head -> tails
  depth_first(
      successors, 0, [](int) {}, [&](int tail, int head) { back_edges[head].push_back(tail); });
  std::vector<std::vector<bool>> loops;
  for (const auto& [head, tails] : back_edges) loops.push_back(loop_members(head, tails));
  const auto loops_left = [&](size_t block, int successor) {
    return std::ranges::count_if(loops, [&](const std::vector<bool>& loop) {
      return loop[block] && (successor == exit_block() || !loop[successor]);
    });
  };
  for (size_t b = 0; b < blocks_.size(); ++b)
    std::ranges::stable_sort(successors[b],
                             [&](int x, int y) { return loops_left(b, x) > loops_left(b, y); });
  std::vector<int> finished;
  depth_first(
      successors, 0, [&](int block) { finished.push_back(block); }, [](int, int) {});
  std::erase(finished, exit_block());
  int order = 0;
  for (auto block = finished.rbegin(); block != finished.rend(); ++block) {
    BasicBlock& numbered = blocks_[static_cast<size_t>(*block)];
    numbered.order = order;
    order += numbered.last - numbered.first;
  }
}

void Flow::find_dominators() {
  const size_t count = blocks_.size();
  Graph behind(count + 1), before(count + 1);
  for (size_t b = 0; b < count; ++b) {
    behind[b] = blocks_[b].successors;
    for (const int successor : behind[b]) before[successor].push_back(static_cast<int>(b));
  }
  dominators_ = dominators(behind, before, 0);
  const std::vector<int> dominator = dominators(before, behind, exit_block());
  // A block from which no way leads to the end joins at the end.
  for (size_t b = 0; b < count; ++b) {
    every_block_ends_ = every_block_ends_ && dominator[b] >= 0;
    blocks_[b].post_dominator = dominator[b] < 0 ? exit_block() : dominator[b];
  }
}

const Region& Flow::region(int branch) const {
  const auto [found, added] = regions_.try_emplace(branch);
  Region& region = found->second;
  if (!added) return region;
  const int from = block_of(branch);
  const int join = blocks_[from].post_dominator;
  region.join = join == exit_block() ? end() : blocks_[join].first;
  std::vector<bool> seen(blocks_.size(), false);
  work_off(blocks_[from].successors, [&](int block, std::vector<int>& work) {
    if (block == join || block == exit_block() || seen[block]) return;
    seen[block] = true;
    region.loops |= block == from;
    for (const int successor : blocks_[block].successors) work.push_back(successor);
    for (int i = blocks_[block].first; i < blocks_[block].last; ++i) {
      const Instruction& in = kernel_.code[i];
      region.mbarriers |= kOfMbarriers.has(in.op);
      region.block_barrier |=
          in.op == Op::kBarrier || in.op == Op::kClusterBarrier || kOfMbarriers.has(in.op);
      region.orders |=
          in.op == Op::kWarpBarrier || in.op == Op::kFence || in.order.acquire || in.order.release;
      for (const PtxOperand& result : in.results)
        if (result.kind == OperandKind::kRegister) region.written.push_back(result.index);
    }
  });
  std::sort(region.written.begin(), region.written.end());
  region.written.erase(std::unique(region.written.begin(), region.written.end()), region.written.end());
  return region;
}

Flow::Ahead Flow::barriers_ahead(int instruction) const {
  Ahead ahead = Ahead::kNone;
  std::vector<bool> seen(blocks_.size() + 1, false);
  std::vector<std::pair<int, int>> work;  // a block, and where to begin
  if (instruction < end()) work.emplace_back(block_of(instruction), instruction);
  work_off(std::move(work), [&](std::pair<int, int> from, std::vector<std::pair<int, int>>& more) {
    const auto [block, first] = from;
    for (int i = first; i < blocks_[block].last; ++i)
      if (kernel_.code[i].op == Op::kClusterBarrier)
        ahead = std::max(ahead, Ahead::kWhole);
      else if (kernel_.code[i].op == Op::kBarrier)
        ahead = std::max(ahead, barrier_numbers(kernel_.code[i]) > 1 ? Ahead::kCounted : Ahead::kWhole);
    for (const int successor : blocks_[block].successors) {
      if (successor != exit_block() && !seen[successor])
        more.emplace_back(successor, blocks_[successor].first);
      seen[successor] = true;
    }
  });
  return ahead;
}

std::vector<bool> Flow::blocks_behind(int instruction) const {
  std::vector<bool> behind(blocks_.size() + 1, false);
  work_off(std::vector{block_of(instruction)}, [&](int block, std::vector<int>& work) {
    for (const int successor : blocks_[block].successors) {
      if (successor == exit_block() || behind[successor] || blocks_[successor].order <= blocks_[block].order)
        continue;
      behind[successor] = true;
      work.push_back(successor);
    }
  });
  behind[block_of(instruction)] = true;
  return behind;
}

// The registers that are live in front of an instruction of the block, if those of live_ are behind it.
std::vector<uint64_t> Flow::live_before(const BasicBlock& block, int instruction) const {
  std::vector<uint64_t> live(live_[exit_block()].size(), 0);
  for (const int successor : block.successors)
    for (size_t w = 0; w < live.size(); ++w) live[w] |= live_[successor][w];
  for (int i = block.last - 1; i >= instruction; --i) {
    const Instruction& in = kernel_.code[i];
    if (!in.guard)
      for (const PtxOperand& result : in.results)
        if (result.kind == OperandKind::kRegister)
          live[result.index / 64] &= ~(uint64_t{1} << (result.index % 64));
    each_read(in, [&](uint32_t r) { live[r / 64] |= uint64_t{1} << (r % 64); });
  }
  return live;
}

void Flow::find_live() {
  const size_t words = (kernel_.registers.size() + 63) / 64;
  live_.assign(blocks_.size() + 1, std::vector<uint64_t>(words, 0));
  std::vector<int> order(blocks_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::ranges::sort(order, [&](int a, int b) { return blocks_[a].order > blocks_[b].order; });
  for (bool changed = true; changed;) {
    changed = false;
    for (const int b : order) {
      const BasicBlock& block = blocks_[b];
      const std::vector<uint64_t> live = live_before(block, block.first);
      if (live != live_[b]) {
        live_[b] = live;
        changed = true;
      }
    }
  }
}

const std::vector<uint32_t>& Flow::live_in(int instruction) const {
  const auto [found, added] = live_lists_.try_emplace(instruction);
  if (!added || instruction >= end()) return found->second;
  const std::vector<uint64_t> live = live_before(blocks_[block_of(instruction)], instruction);
  for (size_t r = 0; r < kernel_.registers.size(); ++r)
    if ((live[r / 64] >> (r % 64) & 1) != 0) found->second.push_back(static_cast<uint32_t>(r));
  return found->second;
}

}  // namespace glove::verify
