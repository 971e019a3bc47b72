// A tighter upper bound of a row's similarity, from the length of what its codes represent
// (docs/exactness.md, "The cap").
#pragma once

#include <algorithm>
#include <cmath>

#include "model/bound.h"

namespace glove {

// More than the roundings of each of the three steps below, relative to the terms of the step.
constexpr float kCapSlack = 0x1p-19f;
// Codes that represent a shorter vector imply no bound: their estimates may have underflowed.
constexpr float kLeastCapLength = 0x1p-20f;

// What a scan knows about a row.
struct EstimatedRow {
  float estimate;       // of its similarity, QueryBound::estimate
  float scale;          // s
  float residual;       // r
  float codes_squared;  // |c|^2
};

// Returns an upper bound of the row's similarity to the query that `bound` belongs to, all roundings
// included, in any order of the float operations, fused or separate, or `otherwise` if the row's values imply
// none. SIMD kernels evaluate the same expressions with vectors (coarse_scan-inl.h).
//
// The row's unit vector is within r of s*c, so its angle to c is at most acos(edge). `cosine` is that of the
// angle between the query and c, rounded up.
inline float cap_upper_bound(const EstimatedRow& row, const QueryBound& bound, float otherwise) {
  const float length = row.scale * std::sqrt(row.codes_squared);
  if (!(length >= kLeastCapLength)) return otherwise;
  const float inverse = 1.0f / length;
  const float squares = 1.0f + length * length;
  const float residual_squared = row.residual * row.residual;
  const float edge =
      ((squares - residual_squared) - kCapSlack * (squares + residual_squared)) * (0.5f * inverse);
  const float cosine = std::max(row.estimate * inverse + (bound.error_offset + kCapSlack), -1.0f);
  if (!(cosine < edge && edge < 1.0f)) return otherwise;
  const float sines = std::sqrt((1.0f - edge) * (1.0f + edge)) * std::sqrt((1.0f - cosine) * (1.0f + cosine));
  return (edge * cosine + sines) + kCapSlack;
}

}  // namespace glove
