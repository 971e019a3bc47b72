// Which memory an address belongs to, and what is known of the places there.
#pragma once

#include <optional>

#include "state/part.h"

namespace glove::verify {

// What the parts of a run refer to that keep or change what was done to memory.
class Places;
class ReadOnlyMemory;
class Locations;
class Tickets;
class GridOrder;
class AccessLog;
class RaceReports;
class BlockRaces;
class GridRaces;
class WaitLog;
struct Order;

// A base of those parts. REQUIRES: `order` outlives it.
class OrderPart : protected Part {
 public:
  explicit OrderPart(Order& order);

 protected:
  Places& places_;
  Operands& operands_;
  ReadOnlyMemory& read_only_;
  Locations& locations_;
  Tickets& tickets_;
  GridOrder& grid_;
  AccessLog& records_;
  RaceReports& race_reports_;
  BlockRaces& races_;
  GridRaces& grid_races_;
  WaitLog& wait_log_;
};

// Where a thread accesses memory.
struct Place {
  enum Kind { kNumber, kRange } kind = kNumber;
  Space space = Space::kGlobal;
  SymbolId object = 0;  // of global memory
  Value address;        // an offset into the window, or the whole address of global memory
};

// The place as a key, which tells the two spaces apart.
GlobalPlace key_of(const Place& place);

// The bytes in a buffer of global memory.
MemorySpan span_of(const Place& place, unsigned bytes);

// Finds the places of addresses, and what is wrong with them.
class Places : private Part {
 public:
  explicit Places(const Part& run) : Part(run) {}

  // The buffer to which an address belongs: a pointer that is added once. 0: it is not known.
  SymbolId object_of(Value address);
  Place place_of(const BlockState& state, const Warp& warp, const Instruction& in, Value address, int lane);
  // Returns false for an access that cannot be there. It is a defect, which ends the path, if it is certain
  // to happen; where a condition that is not known decides, whether it happens is not proved.
  bool check_bounds(BlockState& state, Warp& warp, const Instruction& in, const Place& place, int lane,
                    bool certain);
  // The bytes that a lane may touch; of global memory, counted from the beginning of the object.
  Interval touched_bytes(const BlockState& state, const Warp& warp, int lane, SymbolId object, Value address,
                         unsigned bytes);
  // The value was converted to an address of global memory.
  void note_pointer(Value address);

 private:
  std::string outside(const Instruction& in, const Place& place) const;
};

// Numbers the places in memory that atomics change; a plain store to one makes the next number name it.
class Locations : private OrderPart {
 public:
  using OrderPart::OrderPart;

  uint32_t number(const Place& place);
  // The number of a place that has one.
  std::optional<uint32_t> known_number(const Place& place) const;
  // The bytes that a number has named; none where it has named nothing.
  MemorySpan span(uint32_t number) const;
  // After a plain store of some bytes; range: where in shared memory, if the place is not known.
  void forget(const Place& place, unsigned bytes, const BlockState& state, const Warp& warp, int lane);

 private:
  std::unordered_map<GlobalPlace, uint32_t, GlobalPlaceHash> numbers_;
  std::unordered_map<uint32_t, MemorySpan> spans_;  // by number
  std::unordered_set<SymbolId> objects_;            // with such places; 0: shared memory
};

// Memory that nobody writes: two loads from one place return the same.
// Takes every buffer for read-only until a thread writes there; then the run begins again.
class ReadOnlyMemory : private Part {
 public:
  explicit ReadOnlyMemory(const Part& run) : Part(run) {}

  // Whether nobody writes to a place in a buffer, as far as the run has seen.
  bool is_constant(const Place& place, unsigned bytes) const;
  // Remembers what was read as if nobody wrote there.
  void note_read(const Place& place, unsigned bytes);
  // Returns whether something was read there as if nobody wrote; from then on, everything in the buffer is
  // taken for written, so that the run does not begin again for each word.
  bool note_written(const Place& place, unsigned bytes);
  // The buffers that were read or written.
  std::set<SymbolId> buffers() const;

 private:
  std::unordered_set<SymbolId> read_objects_;
  std::unordered_set<SymbolId> read_anywhere_;
  std::unordered_set<GlobalPlace, GlobalPlaceHash> read_words_;
};

// Results of atomic additions that differ from each other.
// Takes additions to a place to return different numbers until something else changes the place; then the run
// begins again.
class Tickets : private OrderPart {
 public:
  using OrderPart::OrderPart;

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
