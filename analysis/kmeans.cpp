#include "analysis/kmeans.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "analysis/kmeans_pass.h"
#include "analysis/seeding.h"
#include "base/concat.h"
#include "base/float_environment.h"
#include "base/require.h"

namespace glove {
namespace {

constexpr int64_t kMostSpreadClusters = 256;
constexpr int64_t kInertiaBlock = 4096;  // rows whose distances are summed in one go
// An empty cluster is given a row only if that row is farther than this from its centroid, relative to the
// largest norm (1 for kCosine): a row that equals its centroid but for rounding is not worth a cluster.
constexpr double kWorthMoving = 0x1p-30;

double distance_of(Metric metric, double score) {
  return metric == Metric::kCosine ? 1 - score : std::sqrt(std::max(0.0, -score));
}

double inertia_of(Metric metric, double score) {
  return metric == Metric::kCosine ? 1 - score : std::max(0.0, -score);
}

// The rows that can belong to a cluster, rising.
std::vector<int32_t> admissible_rows(const Points& points, Metric metric) {
  std::vector<int32_t> rows;
  rows.reserve(static_cast<size_t>(points.rows));
  for (int64_t row = 0; row < points.rows; ++row)
    if (metric == Metric::kEuclidean || points.norms_squared[row] > 0)
      rows.push_back(static_cast<int32_t>(row));
  return rows;
}

// Numbers the clusters by falling size and drops those without members.
Status sort_clusters(Clustering& result, InterruptPoll& poll) {
  const auto count = static_cast<size_t>(result.centroids.count);
  std::vector<int64_t> sizes(count);
  for (const NearestTwo& row : result.rows)
    if (row.first >= 0) ++sizes[static_cast<size_t>(row.first)];
  std::vector<int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return sizes[static_cast<size_t>(a)] > sizes[static_cast<size_t>(b)];
  });
  std::vector<int32_t> place(count, -1);
  int64_t used = 0;
  for (const int32_t cluster : order)
    if (sizes[static_cast<size_t>(cluster)] > 0)
      place[static_cast<size_t>(cluster)] = static_cast<int32_t>(used++);
  Centroids sorted(result.centroids.metric, used, result.centroids.dims);
  for (int64_t cluster = 0; cluster < used; ++cluster) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    sorted.set(cluster, result.centroids.vector(order[static_cast<size_t>(cluster)]));
  }
  for (NearestTwo& row : result.rows) {
    if (row.first >= 0) row.first = place[static_cast<size_t>(row.first)];
    if (row.second >= 0) row.second = place[static_cast<size_t>(row.second)];
  }
  result.centroids = std::move(sorted);
  result.clusters.resize(static_cast<size_t>(used));
  return {};
}

// Sizes, inertias, silhouettes and nearest rows. Sums are formed per block of rows and added block by block.
Status describe_clusters(Clustering& result, InterruptPoll& poll) {
  std::vector<Clustering::Cluster> block(result.clusters.size());
  std::vector<double> best(result.clusters.size(), -std::numeric_limits<double>::infinity());
  const auto rows = static_cast<int64_t>(result.rows.size());
  for (int64_t first = 0; first < rows; first += kInertiaBlock) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    std::fill(block.begin(), block.end(), Clustering::Cluster());
    for (int64_t i = first; i < std::min(rows, first + kInertiaBlock); ++i) {
      const NearestTwo& row = result.rows[static_cast<size_t>(i)];
      if (row.first < 0) continue;
      const auto cluster = static_cast<size_t>(row.first);
      ++block[cluster].size;
      block[cluster].inertia += inertia_of(result.centroids.metric, row.first_score);
      block[cluster].silhouette += result.silhouette(i);
      if (row.first_score > best[cluster]) {
        best[cluster] = row.first_score;
        result.clusters[cluster].nearest_row = i;
      }
    }
    for (size_t cluster = 0; cluster < block.size(); ++cluster) {
      result.clusters[cluster].size += block[cluster].size;
      result.clusters[cluster].inertia += block[cluster].inertia;
      result.clusters[cluster].silhouette += block[cluster].silhouette;
    }
  }
  for (Clustering::Cluster& cluster : result.clusters)
    cluster.silhouette /= static_cast<double>(cluster.size);
  return {};
}

// One run of Lloyd's iterations.
class Lloyd {
 public:
  Lloyd(KMeansPass& pass, const Points& points, int64_t k, const KMeansOptions& options,
        std::span<const int32_t> candidates, const InterruptCheck& interrupted)
      : pass_(pass),
        points_(points),
        options_(options),
        candidates_(candidates),
        interrupted_(interrupted),
        centroids_(options.metric, k, points.dims),
        unit_(FixedSums(options.metric, 0, points).unit) {}

  Result<Clustering> run(uint64_t seed) {
    GLOVE_ASSIGN_OR_RETURN(const std::vector<int32_t> start, start_rows(seed));
    InterruptPoll poll(interrupted_);
    for (size_t cluster = 0; cluster < start.size(); ++cluster) {
      GLOVE_RETURN_IF_ERROR(poll.check());
      centroids_.set(static_cast<int64_t>(cluster), points_.vector(start[cluster]));
    }
    GLOVE_RETURN_IF_ERROR(pass_.start(centroids_));
    bool converged = false;
    int64_t iterations = 0;
    const double enough = options_.tolerance * static_cast<double>(candidates_.size());
    while (iterations < options_.max_iterations && !converged) {
      GLOVE_ASSIGN_OR_RETURN(const KMeansPass::Step step, pass_.iterate(interrupted_));
      if (!step.empty_clusters.empty()) GLOVE_RETURN_IF_ERROR(fill_clusters(step.empty_clusters));
      ++iterations;
      converged = iterations > 1 && static_cast<double>(step.changes) <= enough;
    }
    GLOVE_RETURN_IF_ERROR(pass_.read_centroids(centroids_));
    Clustering result{centroids_, {}, {}, iterations, converged};
    if (options_.centroids_only) return result;
    result.rows.resize(static_cast<size_t>(points_.rows));
    GLOVE_RETURN_IF_ERROR(pass_.nearest_two(centroids_, result.rows, interrupted_));
    GLOVE_RETURN_IF_ERROR(sort_clusters(result, poll));
    if (result.centroids.count < centroids_.count) GLOVE_RETURN_IF_ERROR(find_second_again(result));
    GLOVE_RETURN_IF_ERROR(describe_clusters(result, poll));
    return result;
  }

 private:
  Result<std::vector<int32_t>> start_rows(uint64_t seed) {
    using Start = KMeansOptions::Start;
    if (!options_.start_rows.empty()) return options_.start_rows;
    const bool spread = options_.start == Start::kSpread ||
                        (options_.start == Start::kAuto && centroids_.count <= kMostSpreadClusters);
    if (!spread) return random_rows(candidates_, centroids_.count, seed);
    const auto dots_of_rows = [&](std::span<const float> vector, std::span<double> dots) {
      return pass_.dots(vector, dots, interrupted_);
    };
    return spread_rows(dots_of_rows, points_, options_.metric, candidates_, centroids_.count, seed);
  }

  // The second nearest clusters, after those without members are gone.
  Status find_second_again(Clustering& result) {
    std::vector<NearestTwo> nearest(result.rows.size());
    GLOVE_RETURN_IF_ERROR(pass_.nearest_two(result.centroids, nearest, interrupted_));
    for (size_t row = 0; row < nearest.size(); ++row) {
      const NearestTwo& found = nearest[row];
      NearestTwo& kept = result.rows[row];
      const bool same = found.first == kept.first;  // if not, the two clusters are equally near
      kept.second = same ? found.second : found.first;
      kept.second_score = same ? found.second_score : found.first_score;
    }
    return {};
  }

  // Gives each of the empty clusters the row that is farthest from its centroid, and moves the centroids.
  Status fill_clusters(std::span<const int32_t> empty) {
    GLOVE_RETURN_IF_ERROR(pass_.read_centroids(centroids_));
    std::vector<NearestTwo> nearest(static_cast<size_t>(points_.rows));
    GLOVE_RETURN_IF_ERROR(pass_.nearest_two(centroids_, nearest, interrupted_));
    const auto distance = [&](int32_t row) {
      return distance_of(options_.metric, nearest[static_cast<size_t>(row)].first_score);
    };
    const double least = kWorthMoving * unit_;
    std::vector<int32_t> rows;
    for (const int32_t row : candidates_)
      if (distance(row) > least) rows.push_back(row);
    const size_t count = std::min(empty.size(), rows.size());
    std::partial_sort(
        rows.begin(), rows.begin() + static_cast<ptrdiff_t>(count), rows.end(),
        [&](int32_t a, int32_t b) { return distance(a) != distance(b) ? distance(a) > distance(b) : a < b; });
    return pass_.refill(std::span(rows).first(count), empty.first(count), interrupted_);
  }

  KMeansPass& pass_;
  const Points& points_;
  const KMeansOptions& options_;
  std::span<const int32_t> candidates_;
  const InterruptCheck& interrupted_;
  Centroids centroids_;
  double unit_;  // FixedSums::unit
};

Status check_options(const KMeansOptions& options) {
  if (options.runs < 1) return invalid_argument("n_init must be at least 1, but is ", options.runs);
  if (options.max_iterations < 1)
    return invalid_argument("max_iter must be at least 1, but is ", options.max_iterations);
  if (!(options.tolerance >= 0 && options.tolerance <= 1))
    return invalid_argument("tol must be a share of the rows, from 0 to 1, but is ", options.tolerance);
  return {};
}

Status check_k(int64_t k, size_t rows, const KMeansOptions& options) {
  if (k < 1) return invalid_argument("k must be at least 1, but is ", k);
  if (k > static_cast<int64_t>(rows)) {
    const bool one = rows == 1;
    const std::string direction = one ? " that has a direction" : " that have a direction";
    return invalid_argument("k is ", k, ", but there ", one ? "is" : "are", " only ",
                            counted(static_cast<int64_t>(rows), "rows"),
                            options.metric == Metric::kCosine ? direction : "");
  }
  if (!options.start_rows.empty() && static_cast<int64_t>(options.start_rows.size()) != k)
    return invalid_argument("k is ", k, ", but the start names ",
                            counted(static_cast<int64_t>(options.start_rows.size()), "rows"));
  return {};
}

}  // namespace

double Clustering::inertia() const {
  double sum = 0;
  for (const Cluster& cluster : clusters) sum += cluster.inertia;
  return sum;
}

double Clustering::similarity(int64_t row, double row_norm_squared) const {
  GLOVE_REQUIRE(rows[static_cast<size_t>(row)].first >= 0);
  const NearestTwo& nearest = rows[static_cast<size_t>(row)];
  if (centroids.metric == Metric::kCosine) return nearest.first_score;
  const double norm_squared = centroids.norms_squared[static_cast<size_t>(nearest.first)];
  if (!(row_norm_squared > 0 && norm_squared > 0)) return std::numeric_limits<double>::quiet_NaN();
  const double dot = ((row_norm_squared + norm_squared) + nearest.first_score) / 2;
  return cosine_from_dots(dot, row_norm_squared, norm_squared);
}

double Clustering::distance(int64_t row) const {
  GLOVE_REQUIRE(rows[static_cast<size_t>(row)].first >= 0);
  return distance_of(centroids.metric, rows[static_cast<size_t>(row)].first_score);
}

double Clustering::silhouette(int64_t row) const {
  const NearestTwo& nearest = rows[static_cast<size_t>(row)];
  if (nearest.second_score == -std::numeric_limits<double>::infinity())
    return std::numeric_limits<double>::quiet_NaN();
  const double a = distance_of(centroids.metric, nearest.first_score);
  const double b = distance_of(centroids.metric, nearest.second_score);
  return b > 0 ? (b - a) / b : 0;
}

Result<Clustering> cluster_rows(Analysis& analysis, const Points& points, int64_t k,
                                const KMeansOptions& options, const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment environment;
  GLOVE_RETURN_IF_ERROR(check_options(options));
  if (points.rows == 0) return Clustering{Centroids(options.metric, 0, points.dims), {}, {}, 0, true};
  const std::vector<int32_t> candidates = admissible_rows(points, options.metric);
  GLOVE_RETURN_IF_ERROR(check_k(k, candidates.size(), options));
  GLOVE_ASSIGN_OR_RETURN(const std::unique_ptr<KMeansPass> pass,
                         analysis.kmeans_pass(points, options.metric, k, interrupted));
  Lloyd first(*pass, points, k, options, candidates, interrupted);
  GLOVE_ASSIGN_OR_RETURN(Clustering best, first.run(options.seed));
  const int64_t runs = options.start_rows.empty() ? options.runs : 1;
  for (int64_t run = 1; run < runs; ++run) {
    Lloyd lloyd(*pass, points, k, options, candidates, interrupted);
    GLOVE_ASSIGN_OR_RETURN(Clustering next, lloyd.run(options.seed + static_cast<uint64_t>(run)));
    if (next.inertia() < best.inertia()) best = std::move(next);
  }
  return best;
}

Result<Centroids> list_centroids(Analysis& analysis, const Points& points, int64_t count,
                                 const InterruptCheck& interrupted) {
  KMeansOptions options;
  options.max_iterations = 8;
  options.centroids_only = true;
  GLOVE_ASSIGN_OR_RETURN(Clustering fit, cluster_rows(analysis, points, count, options, interrupted));
  return std::move(fit.centroids);
}

Result<std::vector<int32_t>> nearest_lists(Analysis& analysis, const Points& points,
                                           const Centroids& centroids, const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(const auto pass,
                         analysis.kmeans_pass(points, centroids.metric, centroids.count, interrupted));
  std::vector<int32_t> lists(static_cast<size_t>(points.rows));
  GLOVE_RETURN_IF_ERROR(pass->nearest(centroids, lists, interrupted));
  for (int32_t& list : lists) list = std::max(list, 0);
  return lists;
}

}  // namespace glove
