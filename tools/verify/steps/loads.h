// What loads are known to return.
#pragma once

#include "order/grid_order.h"
#include "order/read_only.h"

namespace glove::verify {

// The values of loads.
class Loads : private Part {
 public:
  Loads(const Part& run, GridOrder& grid, ReadOnlyMemory& read_only)
      : Part(run), grid_(grid), read_only_(read_only) {}

  // The value that a lane loads from a place.
  Value load_value(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                   unsigned element);
  // What the launch declares about the data of a line.
  void apply_range(const Instruction& in, Value value);

 private:
  Value sampled(Type type, unsigned bits, SymbolId object, uint64_t offset);
  Value load_parameter(const Place& place, Type type, unsigned bits);
  Value load_constant(const Instruction& in, const Place& place, unsigned bits);
  Value load_shared(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane);

  GridOrder& grid_;
  ReadOnlyMemory& read_only_;
};

}  // namespace glove::verify
