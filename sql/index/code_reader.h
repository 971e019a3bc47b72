// Reads the codes that a search needs of segments whose codes are not in memory.
#pragma once

#include <cstdint>
#include <optional>

#include "live/live_search.h"
#include "sql/index/own_work.h"
#include "sql/index/segment_bytes.h"
#include "sql/index/segment_store.h"

namespace glove::sql {

// Belongs to the table object of one connection, which outlives it, like `index`.
class CodeReader final : public live::CodeSource, IndexPart {
 public:
  using IndexPart::IndexPart;

  Result<bool> read_codes(const live::Segment& segment, int64_t id, int64_t number,
                          HugePageBuffer<char>& codes) override;
  Result<bool> read_planes(const live::Segment& segment, int64_t id, int64_t first, int64_t last,
                           HugePageBuffer<char>& bytes) override;
  void end_reading() override { bytes_.reset(); }
  Result<int64_t> most_bytes() override { return connection_.engine().settings().index_memory(); }

 private:
  SegmentBytes& bytes_of(const live::Segment& segment, int64_t id);
  Result<bool> found(const live::Segment& segment, int64_t id, const Status& status);

  std::optional<SegmentBytes> bytes_;  // of the segment that was read last
};

// Reads the outline of a segment, in these lists if it is in any, with this coding, and checks all of its
// bytes. Its blocks are a small part of `most` bytes.
Result<live::SegmentPtr> read_outline(Connection& connection, const IndexDefinition& index,
                                      const SegmentRecord& record, int64_t dims, const live::ListsPtr& lists,
                                      const CodingPtr& coding, int64_t most);

}  // namespace glove::sql
