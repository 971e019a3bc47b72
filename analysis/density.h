// How densely points lie in the plane.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/grid.h"
#include "base/cancel.h"
#include "base/status.h"

namespace glove {

// A rectangle of the plane.
struct PlaneExtent {
  double x_min = 0, y_min = 0, x_max = 0, y_max = 0;
};

// How to make a grid of points.
struct DensityOptions {
  int64_t width = 64;                 // columns of the grid
  int64_t height = 64;                // rows
  double sigma = 1.5;                 // of the Gaussian, in cells; 0: a histogram
  std::optional<PlaneExtent> extent;  // that the grid covers; empty: that of the points
};

// The smallest rectangle that contains the points, and has a width and a height: a side of length 0 grows by
// a half of its coordinate to either side, by 0.5 at least, as far as there are finite numbers. REQUIRES:
// there are points, and all are finite.
PlaneExtent extent_of(std::span<const double> x, std::span<const double> y);

// Counts the points in each cell. Row 0 has the smallest y. A point on the line between two cells belongs to
// the upper one; points outside the extent are not counted. Does not depend on the order of the points.
// REQUIRES: the float environment; finite points, as many x as y, and at least one if there is no extent;
// width and height are positive.
Grid point_counts(std::span<const double> x, std::span<const double> y, const DensityOptions& options);

// The kernels whose convolutions, one after the other, smooth a grid with a Gaussian of weight 1, which is
// cut off at three sigma: a row, and then a column. None if sigma is 0. The same on every machine. REQUIRES:
// sigma is not negative.
std::vector<Grid> gaussian_kernels(double sigma);

// The counts, smoothed on this thread and without a backend. Beyond the border there are no points. Errors:
// an interrupt. REQUIRES: what point_counts() and gaussian_kernels() require.
Result<Grid> point_density(std::span<const double> x, std::span<const double> y,
                           const DensityOptions& options, const InterruptCheck& interrupted);

}  // namespace glove
