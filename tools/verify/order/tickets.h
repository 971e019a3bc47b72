// Results of atomic additions that differ from each other.
#pragma once

#include "order/places.h"

namespace glove::verify {

// Takes additions to a place to return different numbers until something else changes the place; then the run
// begins again.
class Tickets : private Part {
 public:
  explicit Tickets(const Part& run) : Part(run) {}

  // Something that races with nothing, but is no addition of a positive number, changes a place: what
  // additions return there may repeat.
  void spoil(const Place& place, unsigned bytes);
  // Whether additions to a place return different numbers, as far as the run has seen; remembers that they
  // must.
  bool draw(const Place& place, unsigned bytes);
  // The address of a lane as a ticket of its own and the rest; location 0 if it is none.
  TicketShape shape_of(const BlockState& state, const Warp& warp, int lane, Value address);

 private:
  // Where they were taken to differ: the address and the bytes of the addition.
  std::unordered_map<GlobalPlace, std::pair<uint64_t, unsigned>, GlobalPlaceHash> ticketed_;
};

}  // namespace glove::verify
