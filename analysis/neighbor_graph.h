// Which rows are neighbours, as a graph with weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/points.h"
#include "base/log.h"
#include "base/status.h"
#include "search/engine.h"
#include "search/statistics.h"

namespace glove {

// The edges of each row, in a fixed order.
struct NeighborGraph {
  struct Edge {
    int32_t row;
    float weight;
  };
  std::vector<int64_t>
      first;  // [rows + 1]: the edges of row i are edges[first[i]] .. edges[first[i + 1] - 1]
  std::vector<Edge> edges;

  int64_t rows() const { return static_cast<int64_t>(first.size()) - 1; }
};

// Joins each of these rows of the set to the `count` rows among them that are nearest by cosine, with the
// weight 1 / rank, and each of those back to it with the same weight. Rows of the graph are numbered by
// their position in `rows`. The neighbours are exact, so the graph is the same whichever backend searches.
//
// `backend` is "auto" or a registered name. Fills in the report except for model, kind and resolve_us.
// Errors: those of nearest() and of ModelBuilder. REQUIRES: each row has a direction; the float environment.
Result<NeighborGraph> nearest_rows_graph(Engine& engine, const PointSet& set,
                                         const std::vector<int64_t>& rows, int64_t count,
                                         const std::string& backend, const InterruptCheck& interrupted,
                                         const ProgressReport& progress, SearchReport& report);

}  // namespace glove
