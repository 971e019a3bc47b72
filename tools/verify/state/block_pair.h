// Two blocks in place of all: their indices are symbols, and what holds of them holds of any two blocks of
// any grid.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "value/symbols.h"

namespace glove::verify {

class BlockPair {
 public:
  // How the indices of the two differ along an axis.
  enum class Axis : uint8_t {
    kOne,     // the grid has one block along the axis
    kEqual,   // both are equal, in a grid of any size
    kBefore,  // the first block's is less
    kBehind,  // it is greater
  };
  using Case = std::array<Axis, 3>;

  // The cases of any two different blocks of a grid of any size along the axes along which this one has more
  // than one block. Together with a grid of one block they cover every block of every such grid: a block of a
  // larger grid is one of a pair.
  static std::vector<Case> cases(const std::array<uint32_t, 3>& grid);

  // The table must be the one that the run of the two uses. threads: of a block along each axis.
  BlockPair(const Case& axes, const std::array<uint32_t, 3>& threads, SymbolTable& table);

  // What a thread of a block, 0 or 1, reads from %ctaid or %nctaid; nullopt: `name` is another.
  std::optional<Value> value(uint32_t block, Special name) const;

  // %ctaid.x; it and the five that follow are those of the pair.
  static constexpr size_t kFirst = static_cast<size_t>(Special::kTidX) + 6;

  // Threads that a grid has along its first axis: fewer than this. Within it, the linear index of a thread is
  // far from the end of 32 bits.
  static constexpr uint64_t kMostThreads = uint64_t{1} << 29;

 private:
  std::array<std::array<Value, 3>, 2> index_;  // by block
  std::array<Value, 3> size_;
};

}  // namespace glove::verify
