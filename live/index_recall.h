// The calibration of the approximate searches of a live index.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/huge_pages.h"
#include "base/status.h"
#include "lists/recall_audit.h"
#include "lists/recall_table.h"
#include "live/loaded_bytes.h"
#include "live/segment.h"
#include "search/engine.h"
#include "search/query.h"

namespace glove::live {

// Shared by the segments that are in its lists. Immutable but for the audits; any thread may use it. Its
// bytes are, little-endian: a version, the rows that it is of, its queries, and the checksum of the lists,
// int64; then the arrays of RecallArrays, in their order.
class IndexRecall {
 public:
  // Returns null if the bytes cannot be those of a calibration of these lists. REQUIRES: the float
  // environment.
  static std::shared_ptr<const IndexRecall> parse(HugePageBuffer<char> bytes, const Lists& lists,
                                                  std::shared_ptr<RecallAudit> audit);

  // Returns the bytes of a calibration.
  static HugePageBuffer<char> bytes_of(const RecallArrays& arrays, int64_t rows, const Lists& lists);

  const RecallTable& table() const { return table_; }
  uint32_t checksum() const { return checksum_; }  // of the bytes (base/crc32.h)
  RecallAudit& audit() const { return *audit_; }

 private:
  IndexRecall() = default;

  RecallArrays arrays_;
  RecallTable table_;
  uint32_t checksum_ = 0;
  LoadedBytes loaded_;
  std::shared_ptr<RecallAudit> audit_;
};

// Shared by the connections of a process.
using IndexRecallPtr = std::shared_ptr<const IndexRecall>;

// The connections of a process share calibrations, as they do segments (live/segment.h). Returns the
// calibration with this key, which somebody in the process holds; nullptr if nobody does.
IndexRecallPtr find_recall(const std::string& key);
// Makes the calibration the one with this key, unless there is one, and returns the one.
IndexRecallPtr share_recall(const std::string& key, IndexRecallPtr recall);
// Returns the audits of the searches with this calibration, which the process remembers for a while after
// nobody holds it any more.
std::shared_ptr<RecallAudit> audit_of_recall(const std::string& key);

// Of fewer rows, every search would read all.
constexpr int64_t kLeastCalibratedRows = 2560;

// The most queries of the user's that a calibration has.
constexpr size_t kMostOwnQueries = 512;

// Calibrates the searches of the lists of a segment by its rows, and by `own` queries, of which those of
// other dimensions are left out. Errors: an interrupt. REQUIRES: the float environment; the segment is in
// lists, and its codes are in memory.
Result<RecallArrays> calibrate_segment(Engine& engine, const SegmentPtr& segment, std::span<const Query> own,
                                       const InterruptCheck& interrupted);

}  // namespace glove::live
