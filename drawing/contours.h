// Lines of equal value on a grid.
#pragma once

#include <vector>

#include "analysis/grid.h"

namespace glove {

// A place on a grid: whole numbers are its values' columns and rows.
struct GridPlace {
  double column = 0;
  double row = 0;
};

// The closed lines that separate the values above `level` from the others, by marching squares: a line
// crosses the side between two neighbouring values where linear interpolation reaches the level. Values
// beyond the border are 0, so lines close there, at most one place outside. Where two opposite corners of a
// square are above, the mean of the four decides whether they are joined. Each line lists its places once,
// without the first at the end, and the lines are in the order of their topmost places. REQUIRES: level > 0;
// the values are finite.
std::vector<std::vector<GridPlace>> contour_lines(const Grid& grid, double level);

}  // namespace glove
