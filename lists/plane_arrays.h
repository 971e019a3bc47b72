// The arrays of a PlaneLevel, computed on the heap.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/status.h"
#include "model/model.h"
#include "model/model_part.h"

namespace glove {

struct PlaneArrays {
  std::vector<float> centroids;
  std::vector<int64_t> offsets;
  std::vector<int32_t> rows;
  std::vector<uint8_t> plane1;
  std::vector<uint16_t> bounds1;
  std::vector<uint8_t> plane2;
  int64_t most_k = std::numeric_limits<int64_t>::max();

  // Views of the arrays, which they must outlive.
  PlaneLevel level() const { return {centroids, offsets, rows, plane1, bounds1, plane2, most_k}; }
};

// Orders rows by list, ascending within each, and encodes them on up to `threads` threads (0 = the cores that
// this process may use). vectors: [rows, dims]; norms_squared: D(x, x) of each; centroids: [lists, dims],
// none of them zero; lists: the list of each row. The only error is kInterrupted. REQUIRES: the float
// environment; dims <= kMaxPlaneDims, and at most 2^31 rows.
Result<PlaneArrays> make_planes(std::span<const float> vectors, std::span<const double> norms_squared,
                                std::vector<float> centroids, std::span<const int32_t> lists, int64_t dims,
                                int threads, const InterruptCheck& interrupted = {});

// Returns the same model with its rows in these lists. REQUIRES: it has one part, of as many rows.
ModelPtr with_planes(const ModelPtr& model, PlaneArrays planes);

}  // namespace glove
