#include "analysis/neighbor_graph.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/float_environment.h"
#include "base/require.h"
#include "model/model_builder.h"
#include "search/nearest.h"

namespace glove {
namespace {

constexpr size_t kQueriesPerSearch = 1024;
constexpr int64_t kRowsBetweenChecks = 1024;

// A model of these rows alone, whose row ids are positions in `rows`.
Result<ModelPtr> model_of_rows(const PointSet& set, const std::vector<int64_t>& rows,
                               const InterruptCheck& interrupted) {
  const Points& points = set.points();
  ModelBuilder builder(set.model()->path());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i % kRowsBetweenChecks == 0) GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    GLOVE_RETURN_IF_ERROR(builder.add(static_cast<int64_t>(i),
                                      std::span(points.vector(rows[i]), static_cast<size_t>(points.dims))));
  }
  return builder.finish(/*threads=*/0, interrupted);
}

using Answers = std::vector<std::vector<Neighbor>>;

// The neighbours of the rows [begin, end) of the model.
Result<Answers> search_block(ModelSearchers& searchers, size_t begin, size_t end, int64_t count,
                             const SearchOptions& options, SearchReport& report) {
  const Model& model = *searchers.model();
  std::vector<Query> queries;
  for (size_t row = begin; row < end; ++row) {
    const auto id = static_cast<int32_t>(row);
    const float* const vector = model.vector(id);
    queries.push_back({{vector, vector + model.dims()}, model.norm_squared(id), {id}});
  }
  SearchReport block;
  GLOVE_ASSIGN_OR_RETURN(Answers answers, nearest(searchers, queries, count, options, block));
  report.backend = block.backend;
  report.device = block.device;
  report.queries += block.queries;
  report.k = block.k;
  report.cost.add(block.cost);
  return answers;
}

// Visits every edge in a fixed order: add(from, to, weight).
template <class Add>
void visit_edges(const Answers& neighbors, Add add) {
  for (size_t row = 0; row < neighbors.size(); ++row)
    for (size_t place = 0; place < neighbors[row].size(); ++place) {
      const auto other = static_cast<size_t>(neighbors[row][place].id);
      const float weight = 1 / static_cast<float>(place + 1);
      add(row, other, weight);
      add(other, row, weight);
    }
}

NeighborGraph graph_of(const Answers& neighbors) {
  NeighborGraph graph;
  graph.first.assign(neighbors.size() + 1, 0);
  visit_edges(neighbors, [&](size_t from, size_t, float) { ++graph.first[from + 1]; });
  for (size_t row = 0; row < neighbors.size(); ++row) graph.first[row + 1] += graph.first[row];
  graph.edges.resize(static_cast<size_t>(graph.first.back()));
  std::vector<int64_t> next(graph.first.begin(), graph.first.end() - 1);
  visit_edges(neighbors, [&](size_t from, size_t to, float weight) {
    graph.edges[static_cast<size_t>(next[from]++)] = {static_cast<int32_t>(to), weight};
  });
  return graph;
}

}  // namespace

Result<NeighborGraph> nearest_rows_graph(Engine& engine, const PointSet& set,
                                         const std::vector<int64_t>& rows, int64_t count,
                                         const std::string& backend, const InterruptCheck& interrupted,
                                         const ProgressReport& progress, SearchReport& report) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  Answers neighbors(rows.size());
  if (rows.size() > 1) {
    GLOVE_ASSIGN_OR_RETURN(ModelPtr model, model_of_rows(set, rows, interrupted));
    ModelSearchers searchers(engine, std::move(model));
    const SearchOptions options{backend, interrupted};
    for (size_t begin = 0; begin < rows.size(); begin += kQueriesPerSearch) {
      if (progress)
        progress("neighbours of word", static_cast<int64_t>(begin), static_cast<int64_t>(rows.size()));
      const size_t end = std::min(rows.size(), begin + kQueriesPerSearch);
      GLOVE_ASSIGN_OR_RETURN(Answers block, search_block(searchers, begin, end, count, options, report));
      std::move(block.begin(), block.end(), neighbors.begin() + static_cast<int64_t>(begin));
    }
  }
  return graph_of(neighbors);
}

}  // namespace glove
