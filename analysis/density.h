// How densely points lie in the plane.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analysis/grid.h"
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

// Counts the points in each cell, and smooths the counts on at most `threads` threads (0 means all cores)
// with a Gaussian of weight 1, which is cut off at three sigma. Row 0 has the smallest y. A point on the line
// between two cells belongs to the upper one; points outside the extent are not counted, and beyond the
// border there are none. Depends neither on the order of the points nor on the machine. The error is an
// interrupt. REQUIRES: the float environment; finite points, as many x as y, and at least one if there is no
// extent; width and height are positive, and sigma is not negative.
Result<Grid> point_density(std::span<const double> x, std::span<const double> y,
                           const DensityOptions& options, int threads, const InterruptCheck& interrupted);

}  // namespace glove
