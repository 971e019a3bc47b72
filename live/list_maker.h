// Puts the rows of segments in lists. Everything is computed from the segments' codes, so that no vector of
// the user's table is needed, and is the same on every machine.
#pragma once

#include <cstdint>

#include "analysis/analysis.h"
#include "base/status.h"
#include "lists/planes.h"
#include "live/segment.h"

namespace glove::live {

constexpr int64_t kMostListDims = kMaxPlaneDims;

// Returns how many lists suit an index of so many rows.
int64_t lists_for(int64_t rows);

// Returns true if a segment of so many rows is put in lists: if they have some rows each.
constexpr bool suits_lists(int64_t rows, int64_t lists) {
  constexpr int64_t kLeastRowsPerList = 8;
  return lists > 0 && rows / kLeastRowsPerList >= lists;
}

// Returns lists around the centroids of a spherical k-means of a segment's rows, `count` or, where rows are
// alike, fewer. Errors: an interrupt. REQUIRES: the float environment; the codes are in memory;
// suits_lists(); at most kMostListDims dimensions and kMostLists lists.
Result<ListsPtr> train_lists(Analysis& analysis, const Segment& segment, int64_t count,
                             const InterruptCheck& interrupted);

// Replaces lists below half or above twice the mean size by new ones of the mean size, by k-means over their
// rows. Returns the same lists if there are none such. Errors and requirements as above.
Result<ListsPtr> adapt_lists(Analysis& analysis, const Segment& segment, const ListsPtr& lists,
                             const InterruptCheck& interrupted);

// Returns the same rows, each in the list of its nearest centroid. Errors and requirements as above.
Result<SegmentPtr> in_lists(Analysis& analysis, const Segment& segment, const ListsPtr& lists,
                            const InterruptCheck& interrupted);

// Returns true if the planes of the segment are those that in_lists() makes of rows with these codes in these
// lists. Errors: an interrupt. REQUIRES: the float environment; it has planes.
Result<bool> has_planes_of_codes(const Segment& segment, const InterruptCheck& interrupted);

}  // namespace glove::live
