// Reads the codes of a live index that are not in memory, for a search.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "live/code_cache.h"
#include "live/live_search.h"
#include "search/part_reader.h"

namespace glove::live {

// Reads the outlines of a state, and keeps blocks for the next search (live/code_cache.h). Lasts for one
// search. References outlive it.
class OutlineReader final : public PartReader {
 public:
  OutlineReader(const IndexState& state, RowSource& rows, CodeSource& codes);
  ~OutlineReader() override { codes_.end_reading(); }
  OutlineReader(const OutlineReader&) = delete;
  OutlineReader& operator=(const OutlineReader&) = delete;

  Result<std::span<const int8_t>> read_tiles(size_t part, int64_t first) override;
  int64_t tiles_at_once(size_t part) const override { return segment(part).blocks().tiles; }
  Result<CodeLevel> read_row(int64_t row) override;
  Result<std::span<const uint8_t>> read_plane1(size_t part, int64_t first, int64_t last) override;

  // Whether an error was that of a segment that the running statement has removed.
  bool has_lost_segment() const { return has_lost_segment_; }
  // The rows that the user's table lacks.
  const std::vector<int32_t>& lost_rows() const { return lost_rows_; }

 private:
  const Segment& segment(size_t part) const { return *state_.parts->segments()[part]; }
  Error lost_segment();
  Status read_plane_blocks(size_t part, int64_t first, int64_t last);

  const IndexState& state_;
  RowSource& rows_;
  CodeSource& codes_;
  CodeBlock block_;                               // that read_tiles() returned
  std::shared_ptr<HugePageBuffer<char>> memory_;  // for the next one, unless the cache keeps it
  HugePageBuffer<char> bytes_, read_;             // of several blocks of plane one
  std::vector<float> vector_;
  std::vector<int8_t> row_codes_;
  float scale_ = 0, residual_ = 0;
  bool has_lost_segment_ = false;
  std::vector<int32_t> lost_rows_;
};

}  // namespace glove::live
