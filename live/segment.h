// A segment of a live index: the ids and codes of rows of a user's table. The vectors stay in that table.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/huge_pages.h"
#include "base/status.h"
#include "live/loaded_bytes.h"
#include "live/segment_planes.h"
#include "model/model_part.h"
#include "model/shifted_codes.h"

namespace glove::live {

// What a segment has whose rows are compared so and are in no lists.
constexpr PlaneKind kind_of(RowMetric metric) {
  return metric == RowMetric::kCosine    ? PlaneKind::kNone
         : metric == RowMetric::kHamming ? PlaneKind::kBits
                                         : PlaneKind::kShifted;
}

// How the codes of a segment are read that are not in memory.
struct CodeBlocks {
  int64_t tiles = 0;                      // of a block; the last one may have fewer
  std::vector<uint32_t> checksums;        // of the blocks (base/crc32.h)
  std::vector<uint32_t> plane_checksums;  // the same of those of plane one (plane_block_tiles())
  uint32_t checksum = 0;                  // of all bytes of the segment, as Segment::checksum() says
  PlaneKind planes = PlaneKind::kNone;    // behind them
};

// Immutable; any thread may use it. Its bytes are, little-endian and without gaps: the codes in the tiles of
// model/quantize.h, the ids (int64, ascending), and the scales and the residuals (float32) unless its rows
// are bits; and those of PlaneArrayPlaces if its rows are in lists, or `along` and `length` of each row
// (float32) if its codes are shifted. An outline is a segment whose codes are not in memory, nor the codes of
// its planes.
class Segment {
 public:
  // Takes the bytes of a segment, whose rows are in `lists` unless that is null. It is an error, kCorrupt, if
  // they cannot be those of `rows` rows of `dims` dimensions; `name` begins its message. REQUIRES: rows >= 1,
  // dims >= 1, and neither is above the limits of model/limits.h; the lists have `dims` dimensions, as the
  // coding, and there is only one of both. `outline`, unless empty, makes an outline, of the bytes of a
  // segment from its ids on, up to plane one.
  static Result<std::shared_ptr<const Segment>> parse(HugePageBuffer<char> bytes, int64_t rows, int64_t dims,
                                                      const std::string& name, const ListsPtr& lists = {},
                                                      const CodingPtr& coding = {}, CodeBlocks outline = {});
  ~Segment();

  int64_t rows() const { return rows_; }
  int64_t dims() const { return dims_; }
  std::span<const int64_t> ids() const { return ids_; }
  bool is_outline() const { return blocks_.tiles > 0; }
  const CodeBlocks& blocks() const { return blocks_; }
  // The codes of an outline are empty.
  const CodeLevel& level() const { return level_; }
  // Null if the rows are compared by cosine.
  const CodingPtr& coding() const { return coding_; }
  PlaneKind kind() const { return planes_ != nullptr ? PlaneKind::kPlanes : kind_of(metric_of(coding_)); }
  // Null if the rows are in no lists. Those of an outline have no plane.
  const SegmentPlanes* planes() const { return planes_.get(); }
  // Those in memory.
  std::span<const char> bytes() const { return bytes_; }
  // What they are the checksum of: continues that of the lists, so that planes cannot be read with other
  // centroids.
  uint32_t checksum() const;

  // True if a row has the codes of this vector, which may be anything. REQUIRES: the float environment; this
  // is no outline.
  bool has_codes_of(int64_t row, std::span<const float> vector) const;

 private:
  Segment(HugePageBuffer<char> bytes, CodeBlocks blocks, int64_t rows, int64_t dims, const ListsPtr& lists,
          CodingPtr coding);
  std::string fault() const;
  bool padding_is_zero() const;

  HugePageBuffer<char> bytes_;
  CodeBlocks blocks_;
  int64_t rows_;
  int64_t dims_;
  std::span<const int64_t> ids_;
  CodingPtr coding_;
  CodeLevel level_;
  std::unique_ptr<const SegmentPlanes> planes_;
  LoadedBytes loaded_;
};

// Segments are shared by the connections of a process.
using SegmentPtr = std::shared_ptr<const Segment>;

// The checksum of the shift of a segment's codes, which its own continues; 0 for cosine.
uint32_t checksum_of(const CodingPtr& coding);

// The number of bytes of a segment, in lists or not.
int64_t segment_bytes(int64_t rows, int64_t dims, PlaneKind planes = PlaneKind::kNone);

// Where the ids are among them: from the first byte to the second.
std::pair<int64_t, int64_t> segment_id_bytes(int64_t rows, int64_t dims);

// Rows with their vectors, by ascending id.
struct LiveRows {
  std::vector<int64_t> ids;
  std::vector<float> vectors;         // [ids.size(), dims]
  std::vector<double> norms_squared;  // [ids.size()], D(x, x)

  void add(int64_t id, std::span<const float> vector, double norm_squared) {
    ids.push_back(id);
    vectors.insert(vectors.end(), vector.begin(), vector.end());
    norms_squared.push_back(norm_squared);
  }
  std::span<const float> vector(size_t i) const {
    const size_t dims = vectors.size() / ids.size();
    return std::span(vectors).subspan(i * dims, dims);
  }
};

// Makes the bytes of a segment of rows that arrive by ascending id. Used by one thread at a time, except as
// encode() says.
class SegmentBuilder {
 public:
  // `expected_rows`: how many rows memory is reserved for, within reason. `coding`: null for cosine.
  explicit SegmentBuilder(int64_t dims, int64_t expected_rows = 0, CodingPtr coding = {});

  // Appends a row. REQUIRES: the float environment; id is above the earlier ones; the vector has `dims`
  // finite components and norm_squared = D(x, x), above 0 for cosine; rows() < kMaxRows.
  void add(int64_t id, std::span<const float> vector, double norm_squared);

  // Appends a row of another segment of the same dimensions, with the same codes.
  void copy(const Segment& segment, int64_t row);

  // The two halves of add(), for several threads: append() makes rows whose codes are not defined until
  // encode() is called for each of them, and returns the first. Any threads may call encode() for different
  // rows, also during append() if that has room.
  int64_t append(std::span<const int64_t> ids);
  void encode(int64_t row, std::span<const float> vector, double norm_squared);
  // True if append() of this many rows leaves the codes where they are.
  bool has_room(int64_t rows) const;

  int64_t dims() const { return dims_; }
  int64_t rows() const { return static_cast<int64_t>(ids_.size()); }

  // Returns the bytes; the builder is empty afterwards. REQUIRES: rows() > 0.
  HugePageBuffer<char> finish();

 private:
  int8_t* place_of(int64_t row);

  int64_t dims_;
  HugePageBuffer<char> codes_;  // whole tiles; finish() appends the rest
  std::vector<int64_t> ids_;
  CodingPtr coding_;
  // The numbers beside the codes of each row, in the order of the bytes: two or, of shifted codes, four.
  std::vector<std::vector<float>> numbers_;
};

// The connections of a process share segments, so that each is read and kept once. Returns the segment with
// this key, which somebody in the process holds; nullptr if nobody does. A key names the content: the place
// that it was read from, and a segment's random uuid and its checksum, never a number that a rollback could
// use again. Any thread may call it.
SegmentPtr find_segment(std::string_view key);

// Makes the segment the one with this key, unless there is one, and returns the one.
SegmentPtr share_segment(std::string key, SegmentPtr segment);

}  // namespace glove::live
