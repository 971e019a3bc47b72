// Approximate searches of a live index whose codes are not all in memory: only the lists that a query needs
// are read, and the rows that their estimates leave are known by their vectors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "live/live_search.h"
#include "search/probe_source.h"

namespace glove::live {

// Returns what candidates_of() would return if all codes were in memory, also for the queries that must be
// answered exactly, with the rows that only the bounds of others rule out. Fills in the report with its
// notes. Returns nullopt if the running statement has removed a segment or rows, which are hidden in the
// state then. REQUIRES: the parts have a calibration, the options ask for a recall, and k <= 1,000. Errors:
// those of the sources, or an interrupt.
Result<std::optional<Answers>> candidates_by_probes(IndexState& state, RowSource& rows, CodeSource& codes,
                                                    std::span<const Query> queries, int64_t k,
                                                    const SearchOptions& options, SearchReport& report);

// Reads the outlines of a state. Lasts for one search. References outlive it.
class OutlineSource final : public ProbeSource {
 public:
  OutlineSource(const IndexState& state, RowSource& rows, CodeSource& codes);

  Result<std::span<const uint8_t>> read_plane1(size_t part, int64_t first, int64_t last) override;
  Result<CodeLevel> read_codes(int64_t row) override;

  // Whether an error was that of a segment that the running statement has removed.
  bool has_lost_segment() const { return has_lost_segment_; }
  // The rows that the user's table lacks.
  const std::vector<int32_t>& lost_rows() const { return lost_rows_; }

 private:
  Status read_blocks(size_t part, int64_t first, int64_t last);

  const IndexState& state_;
  RowSource& rows_;
  CodeSource& codes_;
  HugePageBuffer<char> bytes_, read_;  // of several blocks
  std::vector<float> vector_;
  std::vector<int8_t> row_codes_;
  float scale_ = 0, residual_ = 0;
  bool has_lost_segment_ = false;
  std::vector<int32_t> lost_rows_;
};

}  // namespace glove::live
