// Puts the rows of a model into lists, so that a search reads half the bytes (lists/planes.h).
#pragma once

#include <cstdint>

#include "analysis/analysis.h"
#include "base/status.h"
#include "model/model.h"

namespace glove {

// As many lists as suit the number of rows.
constexpr int64_t kAutoLists = -1;
constexpr int64_t kMaxLists = 65536;

// Returns the model with its rows in `lists` lists around the centroids of a spherical k-means, whose result
// is the same on every machine, or the model itself if kAutoLists has so few rows, so many dimensions or such
// vectors that lists do not pay. Errors: more lists than rows that are not zero, more than kMaxPlaneDims
// dimensions, and an interrupt. REQUIRES: the model has one part; the float environment.
Result<ModelPtr> with_lists(Analysis& analysis, const ModelPtr& model, int64_t lists, int threads,
                            const InterruptCheck& interrupted);

}  // namespace glove
