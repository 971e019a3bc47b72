#include "live/outline_probe.h"

#include <algorithm>
#include <utility>

#include "base/require.h"
#include "base/timer.h"
#include "lists/planes.h"
#include "live/block_scan.h"
#include "live/code_cache.h"
#include "live/loaded_bytes.h"
#include "model/exact_dot.h"
#include "search/engine.h"

namespace glove::live {
namespace {

// The number of a block of plane one in the cache.
int64_t cache_number(int64_t block) {
  return -1 - block;
}

bool is_outside_lists(const Segment& segment) {
  return segment.is_outline() && segment.planes() == nullptr;
}

}  // namespace

OutlineSource::OutlineSource(const IndexState& state, RowSource& rows, CodeSource& codes)
    : state_(state), rows_(rows), codes_(codes) {
  for (const SegmentPtr& segment : state.parts->segments())
    if (segment->is_outline()) CodeCache::instance().begin_scan(*segment);
}

// Appends blocks that are not kept, in one read.
Status OutlineSource::read_blocks(size_t part, int64_t first, int64_t last) {
  const Segment& segment = *state_.parts->segments()[part];
  GLOVE_ASSIGN_OR_RETURN(const bool is_there,
                         codes_.read_planes(segment, state_.segment_ids[part], first, last, read_));
  if (!is_there) {
    has_lost_segment_ = true;
    return Error{ErrorCode::kCorrupt, "a segment is gone that a running statement reads"};
  }
  bytes_.insert(bytes_.end(), read_.begin(), read_.end());
  GLOVE_ASSIGN_OR_RETURN(const int64_t most, codes_.most_bytes());
  const int64_t block_bytes = plane_block_bytes(segment.dims());
  for (int64_t block = first; block < last; ++block) {
    const int64_t begin = (block - first) * block_bytes;
    const int64_t size = std::min(block_bytes, std::ssize(read_) - begin);
    const auto bytes =
        std::make_shared<const HugePageBuffer<char>>(read_.begin() + begin, read_.begin() + begin + size);
    CodeCache::instance().keep(segment, cache_number(block), bytes, most - LoadedBytes::all());
  }
  return {};
}

Result<std::span<const uint8_t>> OutlineSource::read_plane1(size_t part, int64_t first, int64_t last) {
  const Segment& segment = *state_.parts->segments()[part];
  const int64_t tiles = plane_block_tiles(segment.dims());
  const int64_t end = (last + tiles - 1) / tiles;
  bytes_.clear();
  for (int64_t block = first / tiles; block < end;) {
    if (const CodeBlock kept = CodeCache::instance().find(segment, cache_number(block))) {
      bytes_.insert(bytes_.end(), kept->begin(), kept->end());
      ++block;
      continue;
    }
    int64_t next = block + 1;
    while (next < end && CodeCache::instance().find(segment, cache_number(next)) == nullptr) ++next;
    GLOVE_RETURN_IF_ERROR(read_blocks(part, block, next));
    block = next;
  }
  const int64_t tile_bytes = plane1_bytes(kTileRows, segment.dims());
  const std::span all(reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size());
  return all.subspan(static_cast<size_t>(first % tiles * tile_bytes),
                     static_cast<size_t>((last - first) * tile_bytes));
}

Result<CodeLevel> OutlineSource::read_codes(int64_t row) {
  constexpr int64_t kGroupStride = kTileRows * kTileComponents;
  const int64_t dims = state_.dims;
  GLOVE_ASSIGN_OR_RETURN(const bool found, rows_.read_indexed(state_, static_cast<int32_t>(row), vector_));
  const double norm_squared =
      found ? exact_dot(vector_.data(), vector_.data(), static_cast<int64_t>(vector_.size())) : 0;
  if (!(norm_squared > 0) || static_cast<int64_t>(vector_.size()) != dims) {
    lost_rows_.push_back(static_cast<int32_t>(row));
    return CodeLevel();
  }
  row_codes_.resize(static_cast<size_t>(component_groups(dims) * kGroupStride));
  quantize_row(vector_.data(), norm_squared, dims, row_codes_.data(), kGroupStride, scale_, residual_);
  return CodeLevel{8, row_codes_, {&scale_, 1}, {&residual_, 1}};
}

Result<std::optional<Answers>> candidates_by_probes(IndexState& state, RowSource& rows, CodeSource& codes,
                                                    std::span<const Query> queries, int64_t k,
                                                    const SearchOptions& options, SearchReport& report) {
  GLOVE_REQUIRE(state.parts != nullptr && state.parts->recall() != nullptr && !options.is_exact() &&
                k <= kMostRecallK);
  const Timer timer;
  const PartSet& parts = *state.parts;
  OutlineSource source(state, rows, codes);
  SearchOptions probing = options;
  probing.source = &source;
  probing.backend = parts.searchers().engine().backends().all().back()->name();
  report.queries = std::ssize(queries);
  report.k = k;
  Answers answers(queries.size());
  // The queries that are not approximate are answered exactly, and the others by the segments outside lists.
  std::vector<bool> in_lists, none;
  int64_t rows_outside = 0;
  for (const SegmentPtr& segment : parts.segments()) {
    in_lists.push_back(!is_outside_lists(*segment));
    if (!in_lists.back()) rows_outside += segment->rows();
  }
  const int64_t rows_in_all =
      queries.front().among == nullptr ? parts.model().words() : queries.front().among->count();
  for (size_t i = 0; i < queries.size(); ++i) {
    const std::span<const Query> query = queries.subspan(i, 1);
    SearchReport probe, rest;
    auto found = candidates_of(parts.searchers(), query, k, probing, probe);
    if (!found.ok() && source.has_lost_segment()) return std::optional<Answers>();
    GLOVE_RETURN_IF_ERROR(found);
    const bool approximate = !probe.notes.empty() && probe.notes.front().approximate;
    if (approximate) answers[i] = std::move(found.value().front());
    if (!approximate || rows_outside > 0) {
      GLOVE_ASSIGN_OR_RETURN(const auto others,
                             candidates_by_blocks(parts, state.segment_ids, codes, query, k, options, rest,
                                                  approximate ? in_lists : none));
      if (!others) return std::optional<Answers>();
      answers[i].insert(answers[i].end(), others->front().begin(), others->front().end());
      std::sort(answers[i].begin(), answers[i].end(), ranks_before);
      rest.cost.rows_scanned = approximate ? rows_outside : rows_in_all;
    }
    report.backend = probe.backend;
    report.device = probe.device;
    report.notes.push_back({approximate, probe.cost.rows_scanned + rest.cost.rows_scanned});
    report.cost.add(probe.cost);
    report.cost.add(rest.cost);
  }
  for (const int32_t row : source.lost_rows()) hide_row(state, row);
  report.total_us = timer.microseconds();
  return source.lost_rows().empty() ? std::optional(std::move(answers)) : std::optional<Answers>();
}

}  // namespace glove::live
