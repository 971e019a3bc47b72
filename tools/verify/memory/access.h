// Accesses to shared and global memory, as the search for races keeps them, and those that nothing has
// ordered yet.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "glove_verify/finding.h"
#include "value/reason.h"

namespace glove::verify {

using Lanes = uint32_t;

// Asynchronous accesses last until their thread has waited for them; kBulk: until the phase of their mbarrier
// is known to have ended.
enum class Flight : uint8_t { kNone, kCopy, kProduct, kBulk, kBulkRead, kBulkWrite };

// For whom an access is strong, if it is.
enum class StrongFor : uint8_t { kAll, kCluster, kBlock };

// Where a thread runs; without clusters, the cluster is the block.
struct Home {
  uint32_t block = 0;
  uint32_t cluster = 0;
};

// What all lanes of an access store, unless they store several numbers.
struct StoredNumber {
  std::optional<uint64_t> number = {};
  bool several = false;
};

// What all accesses of a warp by one instruction have in common.
struct AccessRecord {
  AccessKind kind = AccessKind::kRead;
  bool strong = false;  // strong accesses of one location do not race with each other
  bool certain = true;  // happens in every run
  Flight flight = Flight::kNone;
  StrongFor scope = StrongFor::kAll;
  bool may_hold_lock = false;  // comes after a loop around an atomic exchange
  bool in_global = false;      // of some lane
  uint32_t instruction = 0;
  uint32_t warp = 0;
  Home home;
  uint32_t bytes = 4;
  uint32_t element = 4;  // bytes of each number that the access has
  uint64_t tile = 0;  // of wmma: the same number for the same place; 0: each lane has an address of its own
  uint32_t acquired = 0;   // grid barriers that all its lanes have seen full
  uint32_t seen = 0;       // and those that they have seen full, whether a fence followed or not
  uint32_t uncovered = 0;  // grid barriers at which the block had arrived before
  StoredNumber stored = {};
  int last_barrier = 0;  // that the warp's first lane has come through: 1 plus the instruction; 0: none
  PathPointer warp_path = nullptr;
  PathPointer block_path = nullptr;
};

// A record's lanes at one place.
struct AccessEntry {
  uint32_t record;
  Lanes lanes;
  uint32_t epoch;  // of an asynchronous access, the batch
};

// Addresses that are the same but for a ticket which each lane has drawn for itself: factor * ticket + rest.
struct TicketShape {
  uint32_t location = 0;  // 0: the addresses are not so
  int64_t factor = 0;
  Wide least = 0;  // what every ticket has added at least
  Value rest;
  bool operator==(const TicketShape&) const = default;
};

// Whether the lanes of two such accesses, or two lanes of one, are certain never to meet.
bool apart(const TicketShape& a, unsigned bytes_a, const TicketShape& b, unsigned bytes_b,
           SymbolTable& table);

// The part of a buffer that one ticket owns: `factor` bytes for each unit that its addition has added.
struct OwnedRange {
  uint32_t location = 0;  // of the counter; 0: the access is not certain to stay inside such a part
  int64_t factor = 0;
  SymbolId ticket = 0;
  bool operator==(const OwnedRange&) const = default;
};

// The part that an access of so many bytes stays inside, if it does. `object`: what the address is counted
// from.
OwnedRange owned_range(const Value& address, SymbolId object, unsigned bytes, Position position,
                       SymbolTable& table);

// Addresses that are factor * number + rest with declared distinct numbers, and where these were loaded from.
struct DistinctPlaces {
  SymbolId object = 0;  // that holds the numbers; 0: the addresses are not so
  int64_t factor = 0;
  Value rest;
  Value source;  // the first number's address; all are in so many bytes from there
  uint32_t source_bytes = 0;
  bool operator==(const DistinctPlaces&) const = default;
};

// Of one address.
DistinctPlaces distinct_places(const Value& address, SymbolTable& table);

// Where the lanes of an access with unknown addresses may be.
struct Extent {
  SymbolId object = 0;  // 0: shared memory
  Interval bytes;       // that the lanes may touch, from the beginning of the object
  TicketShape shape;
  FormId form = 0;     // of all addresses; 0: they differ in more than a constant
  Interval constants;  // of those addresses, up to the last byte
  OwnedRange owned;
  DistinctPlaces places;
  Value begin, end;  // all are in between, whatever holds; the end's form is 0: not known
  bool operator==(const Extent&) const = default;
};

// Whether two ranges of bytes have none in common, as numbers that do not wrap in 64 bits.
inline bool bytes_apart(const Interval& a, const Interval& b, SymbolTable& table) {
  if (std::max(a.lo, b.lo) <= std::min(a.hi, b.hi)) return false;
  if (std::max(a.hi, b.hi) - std::min(a.lo, b.lo) >= Wide{1} << 64)
    table.assume(SymbolTable::NoWrap::kAddress);
  return true;
}

// Whether two extents are certain never to meet, as far as this can be said without comparing lanes.
bool apart(const Extent& a, unsigned bytes_a, const Extent& b, unsigned bytes_b, SymbolTable& table);

// Lanes whose addresses hold unknowns.
struct RangeAccess : Extent {
  uint32_t record;
  Lanes lanes;
  std::array<uint32_t, 32> epoch;
  std::array<Value, 32> address;
};

// Whether two accesses to the same bytes race if nothing orders them.
inline bool conflict(const AccessRecord& a, const AccessRecord& b) {
  if (a.kind == AccessKind::kRead && b.kind == AccessKind::kRead) return false;
  const bool strong_a = a.strong || a.kind == AccessKind::kAtomic;
  const bool strong_b = b.strong || b.kind == AccessKind::kAtomic;
  const StrongFor narrower = std::max(a.scope, b.scope);
  const bool in_scope = a.home.block == b.home.block || narrower == StrongFor::kAll ||
                        (narrower == StrongFor::kCluster && a.home.cluster == b.home.cluster);
  return !(strong_a && strong_b && in_scope && a.element == b.element);
}

// Whether the access is made in the asynchronous proxy, and another in the generic one before must have been
// shown to it: products read what was written, bulk copies read or replace it.
inline bool needs_proxy_fence(const AccessRecord& mine, const AccessRecord& other) {
  const bool bulk =
      mine.flight == Flight::kBulk || mine.flight == Flight::kBulkRead || mine.flight == Flight::kBulkWrite;
  return mine.flight == Flight::kProduct ||
         (bulk && (other.flight == Flight::kNone || other.flight == Flight::kCopy) &&
          other.kind != AccessKind::kRead);
}

// Whether two stores, which touch common bytes, store the same number.
inline bool store_the_same(const AccessRecord& a, const AccessRecord& b) {
  return a.stored.number && a.stored.number == b.stored.number && !a.stored.several && !b.stored.several &&
         a.bytes == b.bytes;
}

// One thread's side of a comparison.
struct Side {
  Value address;  // 64 bits; constant + form
  unsigned bytes;
  Position position;
};

// The answer of compare_addresses.
enum class Overlap {
  kNever,
  kPossible,  // the data decide: some contents of memory make the two meet
  kUnproved,
};

// Whether two accesses to one object can touch a common byte.
Overlap compare_addresses(const Side& a, const Side& b, SymbolTable& table);
// Whether what the two threads know, which may be lanes of one warp, rules out that both accesses happen.
bool exclude_each_other(Position a, Position b, bool one_warp, SymbolTable& table);

// Bytes that are always accessed together, and who did so since the last full barrier.
struct Cell {
  uint32_t phase = 0;
  bool has_flight = false;  // it is in Shadow::flights
  std::vector<AccessEntry> entries;
};

// A place in global memory: a linear form, and bytes from there in units of the granule.
struct GlobalPlace {
  FormId form;
  uint64_t granule;
  bool operator==(const GlobalPlace&) const = default;
};
// For unordered containers.
struct GlobalPlaceHash {
  size_t operator()(const GlobalPlace& place) const {
    return (place.granule * 0x9e3779b97f4a7c15u) ^ (uint64_t{place.form} << 32 | place.form);
  }
};

// Places in global memory, by bytes or by words, of which neighbours are noted one after the other.
class PlaceSet {
 public:
  PlaceSet() = default;
  PlaceSet(const PlaceSet&) = delete;
  PlaceSet& operator=(const PlaceSet&) = delete;

  // Returns whether the place is new.
  bool insert(const GlobalPlace& place) {
    const GlobalPlace key = {place.form, place.granule / kPage};
    if (last_ == nullptr || !(last_key_ == key)) last_ = &pages_[key], last_key_ = key;
    uint64_t& bits = (*last_)[place.granule % kPage / 64];
    const uint64_t bit = uint64_t{1} << place.granule % 64;
    return (std::exchange(bits, bits | bit) & bit) == 0;
  }
  bool contains(const GlobalPlace& place) const {
    const auto page = pages_.find({place.form, place.granule / kPage});
    return page != pages_.end() && has(page->second[place.granule % kPage / 64], place.granule % 64);
  }

 private:
  static constexpr uint64_t kPage = 512;
  using Page = std::array<uint64_t, kPage / 64>;

  std::unordered_map<GlobalPlace, Page, GlobalPlaceHash> pages_;
  Page* last_ = nullptr;  // where a place was inserted last
  GlobalPlace last_key_ = {};
};

// The accesses of a block that nothing has ordered yet: cells of exact ones and the list of those whose
// addresses hold unknowns.
struct Shadow {
  uint32_t phase = 1;
  std::vector<Cell> shared;
  std::unordered_map<GlobalPlace, Cell, GlobalPlaceHash> global;
  std::unordered_map<SymbolId, std::vector<FormId>> forms;  // by object: forms with exact cells
  std::vector<RangeAccess> ranges;
  std::vector<size_t> flights;  // granules of shared memory whose cells may hold what outlasts a phase

  // Calls visit(place, record, lanes, epoch_at) for each access to global memory. place: null if it is not
  // known; epoch_at(lane): when the lane's access began.
  template <class Visit>
  void each_global(Visit visit) const {
    for (const auto& [place, cell] : global)
      for (const AccessEntry& entry : cell.entries)
        visit(&place, entry.record, entry.lanes, [&at = entry.epoch](int) { return at; });
    for (const RangeAccess& range : ranges)
      if (range.object != 0)
        visit(nullptr, range.record, range.lanes, [&range](int lane) { return range.epoch[lane]; });
  }

  // After a full barrier: all that came before is ordered with all that follows, but for what goes on beside
  // the threads. keep(record, lanes, epochs, by_lane) returns the lanes of an access that still matter, and
  // may change its record and epochs; `epochs` points to one for all lanes or, with `by_lane`, to 32.
  template <class Keep>
  void new_phase(Keep keep) {
    const auto keep_entries = [&](std::vector<AccessEntry>& entries) {
      std::erase_if(entries, [&](AccessEntry& entry) {
        return (entry.lanes = keep(entry.record, entry.lanes, &entry.epoch, false)) == 0;
      });
      return !entries.empty();
    };
    std::erase_if(flights, [&](size_t granule) {
      Cell& cell = shared[granule];
      if (cell.phase != phase || !keep_entries(cell.entries)) return true;
      cell.phase = phase + 1;
      return false;
    });
    ++phase;
    for (auto place = global.begin(); place != global.end();)
      place = keep_entries(place->second.entries) ? std::next(place) : global.erase(place);
    if (global.empty()) forms.clear();
    std::erase_if(ranges, [&](RangeAccess& range) {
      return (range.lanes = keep(range.record, range.lanes, range.epoch.data(), true)) == 0;
    });
  }
};

}  // namespace glove::verify
