// What the parts of a run have in common that know what memory there is and what is done to it.
#pragma once

#include <optional>
#include <string>

#include "order/place.h"
#include "state/part.h"

namespace glove::verify {

struct Order;

// A base of the parts that keep or change what was done to memory, which finds the places of addresses and
// what is wrong with them. REQUIRES: `order` outlives it.
class OrderPart : protected Part {
 public:
  explicit OrderPart(Order& order);

 protected:
  // The buffer to which an address belongs: a pointer that is added once. 0: it is not known.
  SymbolId object_of(Value address) const;
  Place place_of(const BlockState& state, const Warp& warp, const Instruction& in, Value address, int lane);
  // Of which block so many bytes of shared memory are, whose address a thread has; nullopt: it is not known.
  std::optional<uint32_t> window_of(Position position, Value raw, unsigned bytes) const;
  // Returns false for an access that cannot be there. It is a defect, which ends the path, if it is certain
  // to happen; where a condition that is not known decides, whether it happens is not proved.
  bool check_bounds(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                    bool certain);
  // A read at a place that is not known: reports, or assumes not, that it finds what nobody has written.
  void check_written(BlockState& state, const Warp& warp, const Instruction& in, const Place& place,
                     unsigned bytes, int lane, bool certain);
  // The bytes that a lane may touch; of global memory, counted from the beginning of the object.
  Interval touched_bytes(const BlockState& state, const Warp& warp, int lane, SymbolId object, Value address,
                         unsigned bytes);
  // Whether some of the bytes are an mbarrier's, as far as it is known where they are.
  bool may_be_mbarrier(const BlockState& state, const Warp& warp, int lane, const Place& place,
                       unsigned bytes);
  // "f32 at byte 4 of parameter 1 (offset 8)", as an instruction accesses it. form: of the address.
  std::string name_of_global(const Instruction& in, FormId form, uint64_t byte) const;
  // "the buffer 'rows'", of which the form is an address.
  std::string name_of_object(FormId form) const;
  // The value was converted to an address of global memory.
  void note_pointer(Value address);

  Order& order_;

 private:
  void find_space(const BlockState& state, const Warp& warp, const Instruction& in, Place& place, int lane);
  Interval range_with_remainders(Position position, Value value) const;
  void find_window(const BlockState& state, const Warp& warp, const Instruction& in, Place& place, int lane);
  std::string outside(const BlockState& state, const Warp& warp, const Instruction& in,
                      const Place& place) const;
};

}  // namespace glove::verify
