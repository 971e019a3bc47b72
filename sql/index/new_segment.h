// A segment that a command makes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "live/segment.h"
#include "live/segment_encoder.h"
#include "sql/index/content_rows.h"
#include "sql/index/index_definition.h"
#include "sql/index/segment_store.h"
#include "sql/index/vector_store.h"

namespace glove::sql {

// The rows of a segment that a command makes. Collects rows by ascending id, either by add() or by copy().
// The vectors of an index of texts go to the database at once, so that memory holds only the codes.
class NewSegment {
 public:
  // `id` is that of the segment. `expected_rows`: how many rows memory is reserved for. `coding`: that of the
  // index; null if there is none yet, or for cosine. The references must outlive the object.
  NewSegment(const IndexDefinition& index, VectorStore& vectors, int64_t id, int64_t expected_rows,
             CodingPtr coding = {})
      : index_(index),
        vectors_(vectors),
        id_(id),
        expected_rows_(expected_rows),
        coding_(std::move(coding)),
        writer_(vectors, id),
        digests_(vectors, id, kFirstDigestBlock) {}

  // Adds a row of the content, as ContentRows passes it. Rows without a vector, and zero vectors, which are
  // in no relation, are left out. An invalid vector is an error, unless the index skips them. REQUIRES: the
  // float environment.
  Status add(const ContentRows& rows, const ContentRow& row);

  // Adds a row of another segment, which is loaded.
  Status copy(const StoredSegment& from, int64_t row);

  int64_t id() const { return id_; }
  int64_t rows() const { return rows_; }

  // Returns the segment. Must be called last. REQUIRES: rows() > 0.
  Result<live::SegmentPtr> finish();

 private:
  void begin(int64_t dims);
  void encode_sample(int64_t dims);

  const IndexDefinition& index_;
  VectorStore& vectors_;
  int64_t id_;
  int64_t expected_rows_;
  int64_t rows_ = 0;
  CodingPtr coding_;
  std::optional<live::SegmentBuilder> builder_;
  std::optional<live::SegmentEncoder> encoder_;  // for add()
  static constexpr size_t kSampledRows = 1024;
  live::LiveRows sample_;  // the first rows, which the coding of the index is made of

  VectorWriter writer_, digests_;
  std::map<int64_t, StoredTextReader> readers_;  // by the segment that copy() reads
};

}  // namespace glove::sql
