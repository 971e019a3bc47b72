// Random rotations, and how far a search may trust them (docs/exactness.md, "Certainty").
#pragma once

#include <cstdint>
#include <vector>

#include "base/cancel.h"
#include "base/status.h"

namespace glove {

constexpr int64_t kLeastRotatedDims = 256;  // with fewer, too many rows would have to be read twice
constexpr int64_t kMostRotatedDims = 4096;  // kMaxPlaneDims

constexpr bool can_rotate(int64_t dims) {
  return dims >= kLeastRotatedDims && dims <= kMostRotatedDims;
}

// Returns the first `count` rows of a rotation, [count, dims], rounded to float: orthonormal rows that have
// the distribution of the rotation group, drawn from the seed by additions, products, quotients and square
// roots alone, so that they are the same on every machine. Takes the time of count^2 * dims products, on up
// to `threads` threads (0 = the cores that this process may use). The only error is kInterrupted. REQUIRES:
// the float environment; count <= dims.
Result<std::vector<float>> random_rotation(int64_t dims, int64_t count, uint64_t seed, int threads,
                                           const InterruptCheck& interrupted = {});

// A matrix that changes the square of a length by more than this share is damaged.
constexpr double kMostStretch = 0x1p-10;

// |R^T c|^2 <= |c|^2 * (1 + this) for the rounded matrix R of a rotation.
constexpr double kRotationSlack = 0x1p-16;

// Let Z be a component of a random unit vector of dims - 2 dimensions. Returns a float z in
// [kLeastSignFactor, 1] with P(Z > z) <= failure, close to the least: 1 for 0. The same on every machine.
// REQUIRES: the float environment; failure >= 0; dims > 4.
float sign_factor(int64_t dims, double failure);

// The factor with which none of the `rows` nearest rows of a query is lost with at least this certainty, nor
// with what a text in six digits shows of it.
float certain_factor(int64_t dims, double certainty, int64_t rows);

// The bounds of sign planes hold for no smaller z (lists/sign_plane.h).
constexpr double kLeastSignFactor = 0x1p-4;

}  // namespace glove
