// The lists of an index, and the rows of a segment in them, with codes in planes (lists/planes.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/huge_pages.h"
#include "base/status.h"
#include "lists/plane_arrays.h"
#include "live/loaded_bytes.h"
#include "model/model_part.h"

namespace glove::live {

// A row of a segment has the number of its list in 16 bits.
constexpr int64_t kMostLists = 65536;

// What a segment has for the rows that are in lists.
enum class PlaneKind : uint8_t {
  kNone,     // they are in none
  kPlanes,   // two planes
  kSigned,   // and a third one behind them, which an earlier version wrote and nobody reads
  kShifted,  // they are in none, and their codes are shifted (model/shifted_codes.h)
  kBits,     // they are in none, and are bits (RowMetric::kHamming)
};

// The centroids of the lists of an index, which its segments share. Immutable; any thread may use them. Their
// bytes are, little-endian: the number of lists and the most rows for which reading planes pays
// (lists/calibration.h), both int64, and the centroids, float32 [lists, dims]. Those of an earlier version
// may end with 8 bytes that nobody reads.
class Lists {
 public:
  // Takes the bytes of lists. It is an error, kCorrupt, if they cannot be those of lists of `dims`
  // dimensions; `name` begins its message.
  static Result<std::shared_ptr<const Lists>> parse(HugePageBuffer<char> bytes, int64_t dims,
                                                    const std::string& name);
  // Makes lists. REQUIRES: as parse() would check.
  static std::shared_ptr<const Lists> make(std::span<const float> centroids, int64_t dims, int64_t most_k);

  // The most bytes that lists of so many dimensions have.
  static int64_t most_bytes(int64_t dims);

  int64_t count() const { return static_cast<int64_t>(centroids_.size()) / dims_; }
  int64_t dims() const { return dims_; }
  int64_t most_k() const { return most_k_; }
  std::span<const float> centroids() const { return centroids_; }
  std::span<const char> bytes() const { return bytes_; }
  uint32_t checksum() const { return checksum_; }  // of the bytes (base/crc32.h)

 private:
  Lists(HugePageBuffer<char> bytes, int64_t count, int64_t dims);

  HugePageBuffer<char> bytes_;
  int64_t dims_;
  int64_t most_k_ = 0;
  std::span<const float> centroids_;
  uint32_t checksum_;
  LoadedBytes loaded_;
};

// Shared by the segments that are in them.
using ListsPtr = std::shared_ptr<const Lists>;

// The places of the arrays of a segment's planes, without gaps, each 16-bit number at an even one.
struct PlaneArrayPlaces {
  PlaneArrayPlaces(int64_t rows, int64_t dims);

  int64_t bounds1 = 0;  // uint16 [tiles, kPlaneBounds, kTileRows]
  int64_t lists;        // uint16 [rows]: the list of each row
  int64_t plane1;       // as PlaneLevel has it
  int64_t plane2;
  int64_t end;
};

// Plane one of a segment whose codes are not in memory is read in blocks of so many tiles, the last of which
// may have fewer: about the bytes of a list.
int64_t plane_block_tiles(int64_t dims);
int64_t plane_block_bytes(int64_t dims);

// The planes of a segment: views of its bytes, and the order of its rows. Not copied, because the level
// refers to the order.
class SegmentPlanes {
 public:
  // REQUIRES: `bytes`, which outlive the object, are as long as PlaneArrayPlaces says, or end where plane one
  // begins, and begin at an even place. The level has no planes then.
  SegmentPlanes(std::span<const char> bytes, int64_t rows, const ListsPtr& lists);
  SegmentPlanes(const SegmentPlanes&) = delete;
  SegmentPlanes& operator=(const SegmentPlanes&) = delete;

  // Returns what is wrong with the bytes; empty if nothing is. The level may be used only then.
  const std::string& fault() const { return fault_; }
  const PlaneLevel& level() const { return level_; }
  const ListsPtr& lists() const { return lists_; }
  std::span<const uint16_t> list_of() const { return list_of_; }  // [rows]
  // The memory of the order.
  int64_t bytes() const;

 private:
  std::string fault_of_bounds() const;
  bool has_planes() const { return !level_.plane1.empty(); }

  ListsPtr lists_;
  std::span<const uint16_t> list_of_;
  ListOrder order_;
  PlaneLevel level_;
  std::string fault_;
};

}  // namespace glove::live
