#include "live/outline_reader.h"

#include <algorithm>

#include "lists/planes.h"
#include "live/loaded_bytes.h"
#include "model/exact_dot.h"

namespace glove::live {
namespace {

// The number of a block of plane one in the cache.
int64_t cache_number(int64_t block) {
  return -1 - block;
}

}  // namespace

OutlineReader::OutlineReader(const IndexState& state, RowSource& rows, CodeSource& codes)
    : state_(state), rows_(rows), codes_(codes) {
  for (const SegmentPtr& segment : state.parts->segments())
    if (segment->is_outline()) CodeCache::instance().begin_scan(*segment);
}

Error OutlineReader::lost_segment() {
  has_lost_segment_ = true;
  return Error{ErrorCode::kCorrupt, "a segment is gone that a running statement reads"};
}

Result<std::span<const int8_t>> OutlineReader::read_tiles(size_t part, int64_t first) {
  const Segment& segment = this->segment(part);
  const int64_t number = first / segment.blocks().tiles;
  block_ = CodeCache::instance().find(segment, number);
  if (block_ == nullptr) {
    if (memory_ == nullptr || memory_.use_count() > 1) memory_ = std::make_shared<HugePageBuffer<char>>();
    GLOVE_ASSIGN_OR_RETURN(const bool is_there,
                           codes_.read_codes(segment, state_.segment_ids[part], number, *memory_));
    if (!is_there) return lost_segment();
    GLOVE_ASSIGN_OR_RETURN(const int64_t most, codes_.most_bytes());
    CodeCache::instance().keep(segment, number, memory_, most - LoadedBytes::all());
    return std::span(reinterpret_cast<const int8_t*>(memory_->data()), memory_->size());
  }
  return std::span(reinterpret_cast<const int8_t*>(block_->data()), block_->size());
}

// Appends blocks that are not kept, in one read.
Status OutlineReader::read_plane_blocks(size_t part, int64_t first, int64_t last) {
  const Segment& segment = this->segment(part);
  GLOVE_ASSIGN_OR_RETURN(const bool is_there,
                         codes_.read_planes(segment, state_.segment_ids[part], first, last, read_));
  if (!is_there) return lost_segment();
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

Result<std::span<const uint8_t>> OutlineReader::read_plane1(size_t part, int64_t first, int64_t last) {
  const Segment& segment = this->segment(part);
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
    GLOVE_RETURN_IF_ERROR(read_plane_blocks(part, block, next));
    block = next;
  }
  const int64_t tile_bytes = plane1_bytes(kTileRows, segment.dims());
  const std::span all(reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size());
  return all.subspan(static_cast<size_t>(first % tiles * tile_bytes),
                     static_cast<size_t>((last - first) * tile_bytes));
}

Result<CodeLevel> OutlineReader::read_row(int64_t row) {
  constexpr int64_t kGroupStride = kTileRows * kTileComponents;
  const int64_t dims = state_.dims;
  GLOVE_ASSIGN_OR_RETURN(const bool found, rows_.read_indexed(state_, static_cast<int32_t>(row), vector_));
  const double norm_squared =
      found ? exact_dot(vector_.data(), vector_.data(), static_cast<int64_t>(vector_.size())) : 0;
  // Only the rows of lists, which are compared by cosine, are read so.
  if (!(norm_squared > 0) || static_cast<int64_t>(vector_.size()) != dims) {
    lost_rows_.push_back(static_cast<int32_t>(row));
    return CodeLevel();
  }
  row_codes_.resize(static_cast<size_t>(component_groups(dims) * kGroupStride));
  quantize_row(vector_.data(), norm_squared, dims, row_codes_.data(), kGroupStride, scale_, residual_);
  return CodeLevel{8, row_codes_, {&scale_, 1}, {&residual_, 1}};
}

}  // namespace glove::live
