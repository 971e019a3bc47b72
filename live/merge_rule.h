// Which segments of a live index to join.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace glove::live {

// The rows of a segment.
struct SegmentSize {
  int64_t rows = 0;
  int64_t dead = 0;  // of these, those that were deleted or changed since
};

// Returns the positions of the segments to join into one, ascending; none, or one, which is then to be
// rewritten without its dead rows. Afterwards every segment has more than twice the living rows of all
// smaller ones together, so an index of n rows has at most 1 + log3(n) segments (21 of 2^31 rows); and no
// segment has more than a quarter of its rows dead.
std::vector<size_t> segments_to_join(std::span<const SegmentSize> segments);

}  // namespace glove::live
