// Reads the bytes of one segment from NAME_block.
#pragma once

#include <cstdint>
#include <optional>

#include "base/huge_pages.h"
#include "base/status.h"
#include "sql/index/own_work.h"
#include "sql/index/segment_store.h"

namespace glove::sql {

// While it exists, a statement of its own may be reading, so it must not outlive the statement that uses it.
// What it refers to must outlive it. Fast if bytes are read in order.
class SegmentBytes : IndexPart {
 public:
  SegmentBytes(Connection& connection, const IndexDefinition& index, const SegmentRecord& record,
               int64_t dims);

  const SegmentRecord& record() const { return record_; }

  // Appends the bytes from `begin` to `end`. It is an error, kCorrupt, if a block lacks or is too short.
  Status append(int64_t begin, int64_t end, HugePageBuffer<char>& bytes);

  // The same for bytes that are a small part of a block, without reading the rest of it.
  Status append_piece(int64_t begin, int64_t end, HugePageBuffer<char>& bytes);

  // An error if there are blocks behind the last byte. REQUIRES: that byte was read last.
  Status expect_end();

 private:
  Status find_block_size();
  Status go_to(int64_t number);
  Status check_block();
  int64_t size_of(int64_t number) const;
  Error wrong_block(int64_t number) const;

  const SegmentRecord record_;
  const int64_t total_;
  int64_t block_bytes_ = 0;      // of all blocks but the last one; 0: not known yet
  std::optional<OwnQuery> run_;  // at the block `number_`
  int64_t number_ = 0;
};

}  // namespace glove::sql
