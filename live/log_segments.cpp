#include <algorithm>
#include <utility>

#include "live/live_search.h"
#include "live/merge_rule.h"

namespace glove::live {

Result<std::vector<SegmentPtr>> add_log_segment(IndexState& state, size_t stored, SegmentPtr segment) {
  struct Part {
    SegmentPtr segment;
    std::vector<int32_t> hidden;  // of its rows
  };
  std::vector<SegmentPtr> segments;
  std::vector<Part> parts;
  std::vector<SegmentSize> sizes;
  int64_t rows = 0;  // of the stored segments
  if (state.parts != nullptr) segments = state.parts->segments();
  for (size_t i = 0; i < segments.size(); ++i) {
    if (i < stored) {
      rows += segments[i]->rows();
      continue;
    }
    const auto first = static_cast<int32_t>(state.parts->first_row(i));
    const auto begin = std::lower_bound(state.hidden.begin(), state.hidden.end(), first);
    const auto end = std::lower_bound(begin, state.hidden.end(), first + segments[i]->rows());
    Part& part = parts.emplace_back(Part{segments[i], {begin, end}});
    for (int32_t& row : part.hidden) row -= first;
    sizes.push_back({segments[i]->rows(), std::ssize(part.hidden)});
  }
  sizes.push_back({segment->rows(), 0});
  parts.push_back({std::move(segment), {}});
  std::vector<std::pair<const Segment*, int64_t>> joined;  // rows
  for (const size_t i : segments_to_join(sizes)) {
    const SegmentPtr& from = parts[i].segment;
    for (int64_t row = 0; row < from->rows(); ++row)
      if (!std::ranges::binary_search(parts[i].hidden, row)) joined.emplace_back(from.get(), row);
    sizes[i].rows = 0;
  }
  const auto id_of = [](const auto& at) { return at.first->ids()[static_cast<size_t>(at.second)]; };
  std::sort(joined.begin(), joined.end(), [&](const auto& a, const auto& b) { return id_of(a) < id_of(b); });
  if (!joined.empty()) {
    const CodingPtr coding = joined.front().first->coding();
    SegmentBuilder builder(state.dims, std::ssize(joined), coding);
    for (const auto& [from, row] : joined) builder.copy(*from, row);
    GLOVE_ASSIGN_OR_RETURN(SegmentPtr whole, Segment::parse(builder.finish(), std::ssize(joined), state.dims,
                                                            kLogSegment, {}, coding));
    parts.push_back({std::move(whole), {}});
    sizes.push_back({std::ssize(joined), 0});
  }
  segments.resize(std::min(stored, segments.size()));
  state.segment_ids.resize(segments.size());
  state.hidden.erase(std::lower_bound(state.hidden.begin(), state.hidden.end(), rows), state.hidden.end());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (sizes[i].rows == 0) continue;
    for (const int32_t row : parts[i].hidden) state.hidden.push_back(static_cast<int32_t>(rows + row));
    rows += sizes[i].rows;
    segments.push_back(std::move(parts[i].segment));
    state.segment_ids.push_back(0);
  }
  return segments;
}

}  // namespace glove::live
