// Places in the plane that keep neighbours together.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/neighbor_graph.h"
#include "base/status.h"

namespace glove {

// A place per row of a graph.
struct PlaneLayout {
  std::vector<double> x, y;  // [rows]
};

constexpr int64_t kLayoutNeighbors = 15;  // per row, that its place depends on
constexpr int64_t kLayoutSteps = 300;

// Moves the rows of the graph from their places in `start` so that neighbours come close together and other
// rows go apart. In each of the kLayoutSteps steps every row is drawn along its edges, by weight * d / (1 +
// d^2) where d is the difference of the places, and pushed away from ten other rows, which a hash of the
// step and the row chooses, by 20 d / (1 + d^2)^2. These are the forces of t-SNE (van der Maaten and Hinton
// 2008) with sampled repulsion, as in LargeVis (Tang and others 2016). A row moves by its force, of which at
// most a length of 4 counts, times a factor that falls from 0.8 to 0. At the end the mean is subtracted.
//
// All rows move at once, and each force is summed in the order of the edges with + - * / and square roots
// alone, so the result does not depend on `threads` or the instruction set. Rows that start at one place and
// have no difference to draw on stay there: if all do, the layout is one point. Errors: an interrupt.
// REQUIRES: the float environment; `start` has a finite place for each row; there are at most 2^31 rows.
Result<PlaneLayout> lay_out(const NeighborGraph& graph, PlaneLayout start, int threads,
                            const InterruptCheck& interrupted, const ProgressReport& progress);

}  // namespace glove
