// Reads and writes the float32 vectors of an index of texts: NAME_vector(id, vectors).
//
// A block has the vectors of consecutive rows of a segment, as many as fit into 16 KiB and at least one. Its
// id is the segment's times 2^32, plus its number within the segment. The digests of the texts are stored in
// the same way, as if each were a vector of 4 components, in blocks from number 2^31 on; a text that an
// earlier version encoded has none, or one of zeros.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "live/blake2b.h"
#include "sql/index/own_work.h"

namespace glove::sql {

constexpr int64_t kFirstDigestBlock = int64_t{1} << 31;
constexpr int64_t kDigestComponents = 4;

// A digest as it is stored, and back. REQUIRES: `stored` has kDigestComponents.
std::array<float, kDigestComponents> stored_digest(const Digest128& digest);
Digest128 digest_of(std::span<const float> stored);

// Belongs to the table object of one connection, which outlives it, like `index`. REQUIRES, for every call:
// the index is of texts, and ids of segments are from 1 to kMostSegmentIds.
class VectorStore : IndexPart {
 public:
  using IndexPart::IndexPart;

  // How many vectors a block has; the last one of a segment may have fewer.
  static int64_t rows_per_block(int64_t dims);

  Status write(int64_t segment, int64_t block, std::span<const float> vectors);
  // Leaves the vectors of a block in `vectors`; none if the block does not exist.
  Status read(int64_t segment, int64_t block, std::vector<float>& vectors);

  // Removes the vectors of one segment, or those of all others.
  Status remove(int64_t segment);
  Status remove_others(int64_t segment);

  // Returns an id of a segment of which no vectors are there: above all of them, unless that is too large.
  Result<int64_t> unused_segment();

 private:
  Status remove(const std::string& condition);

  OwnStatement read_, write_;
};

// Writes the vectors of a segment, row by row.
class VectorWriter {
 public:
  VectorWriter(VectorStore& store, int64_t segment, int64_t first_block = 0)
      : store_(store), segment_(segment), block_(first_block) {}

  Status add(std::span<const float> vector);
  // Must be called after the last row.
  Status finish();

 private:
  VectorStore& store_;
  int64_t segment_;
  int64_t block_;
  int64_t rows_ = 0;  // of the block so far
  std::vector<float> vectors_;
};

// Reads vectors, fast if they are asked for by ascending rows of a segment. Must not outlive the statement.
class VectorReader {
 public:
  VectorReader(VectorStore& store, int64_t dims, int64_t first_block = 0)
      : store_(store), dims_(dims), first_block_(first_block) {}

  // Returns a vector of `dims` components; an empty one if it is not stored. Valid until the next call.
  Result<std::span<const float>> read(int64_t segment, int64_t row);

 private:
  VectorStore& store_;
  int64_t dims_;
  int64_t first_block_;
  int64_t segment_ = 0;
  int64_t block_ = -1;
  std::vector<float> vectors_;  // of the block
};

// Reads what is stored of the rows of one segment of texts.
struct StoredTextReader {
  StoredTextReader(VectorStore& store, int64_t dims)
      : vectors(store, dims), digests(store, kDigestComponents, kFirstDigestBlock) {}
  VectorReader vectors, digests;
};

}  // namespace glove::sql
