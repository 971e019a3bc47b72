#include "state/block_pair.h"

#include <algorithm>

namespace glove::verify {

constexpr uint64_t kMostBlocks = 65535;  // along the second and third axis, on any GPU

std::vector<BlockPair::Case> BlockPair::cases(const std::array<uint32_t, 3>& grid) {
  std::vector<Case> all;
  for (size_t first = 0; first < 3; ++first) {  // the last axis along which the two differ
    if (grid[first] < 2) continue;
    std::vector<Case> some = {{Axis::kOne, Axis::kOne, Axis::kOne}};
    for (size_t axis = 0; axis < 3; ++axis) {
      if (grid[axis] < 2) continue;
      std::vector<Axis> ways = {Axis::kEqual};
      if (axis == first) ways = {Axis::kBefore};
      if (axis < first) ways = {Axis::kEqual, Axis::kBefore, Axis::kBehind};
      std::vector<Case> next;
      for (const Case& base : some)
        for (const Axis way : ways) {
          next.push_back(base);
          next.back()[axis] = way;
        }
      some = std::move(next);
    }
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// The lesser index is i, the greater i + 1 + d and the size i + 2 + d + e, with i, d, e that are anything
// from 0 on: that the indices differ and are less than the size needs no conditions beside the sums.
BlockPair::BlockPair(const Case& axes, const std::array<uint32_t, 3>& threads, SymbolTable& table) {
  for (size_t axis = 0; axis < 3; ++axis) {
    size_[axis] = {1, 0};
    if (axes[axis] == Axis::kOne) continue;
    const uint64_t most = axis == 0 ? std::max<uint64_t>(kMostThreads / threads[axis], 2) : kMostBlocks;
    const auto any = [&] {
      const Value value = table.fresh_in(32, Scope::kGrid, {0, static_cast<Wide>(most) - 1});
      return value;
    };
    const Value least = any();
    const Value greatest =
        axes[axis] == Axis::kEqual ? least : table.add({1, 0}, table.add(least, any(), 32), 32);
    const bool behind = axes[axis] == Axis::kBehind;
    index_[behind ? 1 : 0][axis] = least;
    index_[behind ? 0 : 1][axis] = greatest;
    size_[axis] = table.add({1, 0}, table.add(greatest, any(), 32), 32);
  }
}

std::optional<Value> BlockPair::value(uint32_t block, Special name) const {
  const auto at = static_cast<size_t>(name);
  if (at >= kFirst && at < kFirst + 3) return index_[block][at - kFirst];
  if (at >= kFirst + 3 && at < kFirst + 6) return size_[at - kFirst - 3];
  return std::nullopt;
}

}  // namespace glove::verify
