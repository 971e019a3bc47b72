// Neighbour graphs, and the layouts made of them.
#include "analysis/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/plane.h"
#include "base/float_environment.h"
#include "base/log.h"
#include "tests/analysis/analyses.h"
#include "tests/cpu/test_support.h"

namespace glove::test {
namespace {

constexpr int kKept = 10;  // neighbours that a map is judged by

std::vector<int64_t> all_of(int64_t rows) {
  std::vector<int64_t> all(static_cast<size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// The neighbours by definition, as edges in the documented order.
NeighborGraph reference_graph(const Matrix& matrix, int64_t count) {
  std::vector<std::vector<NeighborGraph::Edge>> edges(static_cast<size_t>(matrix.rows));
  for (int64_t row = 0; row < matrix.rows; ++row) {
    const std::vector<Row> nearest = reference_rows(matrix, row_query(matrix, row), count);
    for (size_t place = 0; place < nearest.size(); ++place) {
      const float weight = 1.0f / static_cast<float>(place + 1);
      edges[static_cast<size_t>(row)].push_back({static_cast<int32_t>(nearest[place].id), weight});
      edges[static_cast<size_t>(nearest[place].id)].push_back({static_cast<int32_t>(row), weight});
    }
  }
  NeighborGraph graph;
  graph.first.push_back(0);
  for (const auto& of_row : edges) {
    graph.edges.insert(graph.edges.end(), of_row.begin(), of_row.end());
    graph.first.push_back(static_cast<int64_t>(graph.edges.size()));
  }
  return graph;
}

bool same_edges(const NeighborGraph& a, const NeighborGraph& b) {
  return a.first == b.first && std::ranges::equal(a.edges, b.edges, [](const auto& x, const auto& y) {
           return x.row == y.row && x.weight == y.weight;
         });
}

Result<NeighborGraph> graph_by(std::unique_ptr<Backend> backend, const PointSet& set,
                               const std::vector<int64_t>& rows, const InterruptCheck& interrupted = {}) {
  Engine engine;
  engine.backends().add(std::move(backend));
  SearchReport report;
  return nearest_rows_graph(engine, set, rows, kLayoutNeighbors, "auto", interrupted, {}, report);
}

PlaneLayout random_start(int64_t rows, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  PlaneLayout start;
  for (int64_t i = 0; i < rows; ++i) {
    start.x.push_back(normal(random));
    start.y.push_back(normal(random));
  }
  return start;
}

// The share of the nearest rows by cosine that are among the nearest in the plane.
double kept(const Matrix& matrix, const PlaneLayout& layout) {
  double total = 0;
  for (int64_t row = 0; row < matrix.rows; ++row) {
    std::vector<std::pair<double, int64_t>> distances;
    for (int64_t other = 0; other < matrix.rows; ++other) {
      const double dx = layout.x[static_cast<size_t>(other)] - layout.x[static_cast<size_t>(row)];
      const double dy = layout.y[static_cast<size_t>(other)] - layout.y[static_cast<size_t>(row)];
      if (other != row) distances.emplace_back(dx * dx + dy * dy, other);
    }
    std::nth_element(distances.begin(), distances.begin() + kKept, distances.end());
    for (const Row& near : reference_rows(matrix, row_query(matrix, row), kKept))
      total += std::any_of(distances.begin(), distances.begin() + kKept,
                           [&](const auto& place) { return place.second == near.id; });
  }
  return total / static_cast<double>(matrix.rows * kKept);
}

TEST(NeighborGraph, IsTheReferencesOnEveryVariant) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(60);
  for (const int64_t rows : {1, 2, 3, 15, 16, 17, 300}) {
    Matrix matrix = clustered(rows, 7, random);
    if (rows > 3) std::copy_n(matrix.row(0), 7, matrix.row(2));  // equal rows tie
    const PointSet set = PointSet::first_rows(make_model(matrix), rows);
    const NeighborGraph expected = reference_graph(matrix, kLayoutNeighbors);
    for (Variant& variant : all_variants({1, 2, 7})) {
      const auto graph = graph_by(std::move(variant.backend), set, all_of(rows));
      ASSERT_TRUE(graph.ok()) << graph.error().message;
      EXPECT_TRUE(same_edges(graph.value(), expected)) << variant.name << ", " << rows << " rows";
    }
  }
}

TEST(NeighborGraph, JoinsTheChosenRowsOnly) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(61);
  const Matrix matrix = gaussian(200, 5, random);
  const PointSet set = PointSet::first_rows(make_model(matrix), 200);
  std::vector<int64_t> odd;
  Matrix odd_rows{0, 5, {}};
  for (int64_t row = 1; row < 200; row += 2) {
    odd.push_back(row);
    odd_rows.values.insert(odd_rows.values.end(), matrix.row(row), matrix.row(row) + 5);
    ++odd_rows.rows;
  }
  const auto graph = graph_by(make_cpu_backend(), set, odd);
  ASSERT_TRUE(graph.ok());
  EXPECT_TRUE(same_edges(graph.value(), reference_graph(odd_rows, kLayoutNeighbors)));
  EXPECT_EQ(graph_by(make_cpu_backend(), set, odd, [] { return true; }).error().code,
            ErrorCode::kInterrupted);
}

TEST(Layout, DoesNotDependOnTheThreads) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(62);
  const Matrix matrix = clustered(700, 20, random);
  const NeighborGraph graph = reference_graph(matrix, kLayoutNeighbors);
  const PlaneLayout start = random_start(matrix.rows, random);
  const auto one = lay_out(graph, start, 1, {}, {});
  ASSERT_TRUE(one.ok());
  for (const int threads : {2, 7}) {
    const auto many = lay_out(graph, start, threads, {}, {});
    ASSERT_TRUE(many.ok());
    EXPECT_EQ(many.value().x, one.value().x) << threads << " threads";
    EXPECT_EQ(many.value().y, one.value().y) << threads << " threads";
  }
}

// Two dimensions around a circle fit into the plane; a random start keeps a fraction of the neighbours.
TEST(Layout, KeepsNeighborsTogether) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(63);
  const Matrix matrix = clustered(500, 30, random);
  const PlaneLayout start = random_start(matrix.rows, random);
  const auto layout = lay_out(reference_graph(matrix, kLayoutNeighbors), start, 2, {}, {});
  ASSERT_TRUE(layout.ok());
  EXPECT_LT(kept(matrix, start), 0.1);
  EXPECT_GT(kept(matrix, layout.value()), 0.3);
}

TEST(Layout, SmallAndEqualRows) {
  const ScopedFloatEnvironment environment;
  const auto no_rows = lay_out(NeighborGraph{{0}, {}}, {}, 2, {}, {});
  ASSERT_TRUE(no_rows.ok());
  EXPECT_TRUE(no_rows.value().x.empty());
  const auto one = lay_out(NeighborGraph{{0, 0}, {}}, {{5}, {-3}}, 2, {}, {});
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one.value().x, std::vector<double>{0});
  EXPECT_EQ(one.value().y, std::vector<double>{0});
  const NeighborGraph pair{{0, 2, 4}, {{1, 1}, {1, 1}, {0, 1}, {0, 1}}};
  const auto two = lay_out(pair, {{1, 3}, {0, 0}}, 2, {}, {});
  ASSERT_TRUE(two.ok());
  EXPECT_LT(two.value().x[0], two.value().x[1]);
  EXPECT_TRUE(std::isfinite(two.value().x[1]));
  const auto equal = lay_out(pair, {{7, 7}, {1, 1}}, 2, {}, {});
  ASSERT_TRUE(equal.ok());
  EXPECT_EQ(equal.value().x, (std::vector<double>{0, 0}));
  for (const double huge : {1e-300, 1e200}) {
    const auto extreme = lay_out(pair, {{0, huge}, {0, 0}}, 1, {}, {});
    ASSERT_TRUE(extreme.ok());
    EXPECT_TRUE(std::isfinite(extreme.value().x[0])) << huge;
  }
}

TEST(Layout, StopsWhenInterrupted) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(64);
  const Matrix matrix = gaussian(300, 8, random);
  const NeighborGraph graph = reference_graph(matrix, kLayoutNeighbors);
  const PlaneLayout start = random_start(matrix.rows, random);
  for (const int asked : {0, 1, 50}) {
    int times = 0;
    int64_t steps = 0;
    const auto layout = lay_out(
        graph, start, 2, [&] { return times++ >= asked; },
        [&](const char*, int64_t done, int64_t) { steps = done; });
    ASSERT_FALSE(layout.ok());
    EXPECT_EQ(layout.error().code, ErrorCode::kInterrupted);
    EXPECT_LT(steps, kLayoutSteps - 1);
  }
}

std::vector<std::string>& logged() {
  static std::vector<std::string> messages;
  return messages;
}

TEST(ProgressLog, SaysHowFarTheWorkIs) {
  Log log;
  log.set_sink([](const std::string& message) { logged().push_back(message); });
  ProgressLog quick(log, "a fit", 1e9);
  quick.tick();
  EXPECT_TRUE(logged().empty()) << "the work has only begun";
  ProgressLog slow(log, "a fit", 0);
  slow.tick();
  slow.set("step", 20, 300);
  slow.tick();
  EXPECT_EQ(logged(),
            (std::vector<std::string>{"a fit: still running after 0 s",
                                      "a fit: still running after 0 s, step 20 of 300, about 0 s left"}));
}

}  // namespace
}  // namespace glove::test
