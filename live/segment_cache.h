// The segments that the connections of a process share, so that each is read and kept once.
#pragma once

#include <string>
#include <string_view>

#include "live/segment.h"

namespace glove::live {

// Returns the segment with this key, which somebody in the process holds; nullptr if nobody does. A key names
// the content: the place that it was read from, and a segment's random uuid and its checksum, never a number
// that a rollback could use again. Any thread may call it.
SegmentPtr find_segment(std::string_view key);

// Makes the segment the one with this key, unless there is one, and returns the one.
SegmentPtr share_segment(std::string key, SegmentPtr segment);

}  // namespace glove::live
