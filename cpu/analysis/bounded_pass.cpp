#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/float_environment.h"
#include "base/require.h"
#include "base/thread_pool.h"
#include "cpu/analysis/cpu_pass.h"
#include "cpu/kernels/wide_query.h"

namespace glove::cpu {
namespace {

constexpr int64_t kChunkValues = 256 << 10;  // enough to be worth scheduling, and a few ms at most
// Rows of fewer values count as this many: a row that floats do not decide costs a score for each cluster.
constexpr int64_t kLeastCostOfRow = 64;
constexpr int kGroup = FloatRows::kRows;
constexpr double kSlack = 0x1p-20;
// A row keeps its cluster unread only if the difference of its distances is above this, in units of the
// longest row: the scores in double then differ as well.
constexpr double kLeastGap = 0x1p-16;
// Rows and scales outside these limits are always compared by exact scores.
constexpr double kLongestRow = 0x1p120;
constexpr double kLargestFactor = 0x1p100;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The centroids in the scale in which distances are bounded: unit vectors for kCosine; for kEuclidean
// multiplied by the power of two that brings every row's length to at most 1.
class ScaledCentroids {
 public:
  ScaledCentroids(const FixedSums& format, int64_t count)
      : cosine_(format.metric == Metric::kCosine),
        unit_(format.unit),
        dims_(format.dims),
        padded_((count + kFloatColumns - 1) / kFloatColumns * kFloatColumns),
        vectors_(static_cast<size_t>(count * dims_)),
        columns_(static_cast<size_t>(padded_ * dims_)),
        half_squares_(static_cast<size_t>(padded_), kInfinity),
        moves_(static_cast<size_t>(count)) {}

  void set(const Centroids& centroids) {
    longest_ = 0;
    for (int64_t c = 0; c < centroids.count; ++c) {
      const double norm = std::sqrt(centroids.norms_squared[static_cast<size_t>(c)]);
      const double factor = cosine_ ? 1 / norm : 1 / unit_;
      double moved = 0;
      for (int64_t j = 0; j < dims_; ++j) {
        double& kept = vectors_[static_cast<size_t>(c * dims_ + j)];
        const double value = static_cast<double>(centroids.vector(c)[j]) * factor;
        moved += (value - kept) * (value - kept);
        kept = value;
        columns_[static_cast<size_t>(j * padded_ + c)] = static_cast<float>(value);
      }
      moves_[static_cast<size_t>(c)] = std::sqrt(moved) * (1 + kSlack) + 0x1p-40;
      const double length = norm * factor;
      half_squares_[static_cast<size_t>(c)] = static_cast<float>(length * length / 2);
      longest_ = std::max(longest_, length);
    }
  }

  FloatCentroids view() const { return {padded_, columns_.data(), half_squares_.data()}; }
  double longest() const { return longest_; }
  // How far each centroid has moved since the previous set(), at most.
  std::span<const double> moves() const { return moves_; }

 private:
  const bool cosine_;
  const double unit_;
  const int64_t dims_;
  const int64_t padded_;
  std::vector<double> vectors_;  // [count, dims]
  std::vector<float> columns_;
  std::vector<float> half_squares_;
  std::vector<double> moves_;
  double longest_ = 0;
};

class BoundedPass final : public CpuPass {
 public:
  BoundedPass(const Kernels& kernels, int threads, const Points& points, Metric metric, int64_t count)
      : CpuPass(kernels, threads, points, metric, count),
        scaled_(sums_, count),
        limits_(static_cast<size_t>(points.rows)),
        lengths_(static_cast<size_t>(points.rows)),
        travelled_(static_cast<size_t>(count + 1)),
        factor_(static_cast<float>(std::min(1 / sums_.unit, kLargestFactor))) {
    for (int64_t row = 0; row < points.rows; ++row)
      lengths_[static_cast<size_t>(row)] = length_of(points.norms_squared[row]);
  }

  Status start(const Centroids& centroids) override {
    GLOVE_RETURN_IF_ERROR(CpuPass::start(centroids));
    std::fill(travelled_.begin(), travelled_.end(), 0.0);
    for (size_t row = 0; row < limits_.size(); ++row)
      limits_[row] = cosine() && !(points_.norms_squared[row] > 0) ? kInfinity : -kInfinity;
    set_scaled();
    return {};
  }

  Status refill(std::span<const int32_t> rows, std::span<const int32_t> clusters,
                const InterruptCheck& interrupted) override {
    for (const int32_t row : rows) limits_[static_cast<size_t>(row)] = -kInfinity;
    return CpuPass::refill(rows, clusters, interrupted);
  }

 private:
  bool cosine() const { return centroids_.metric == Metric::kCosine; }

  // What is kept of a row: for kCosine the inverse of its length, for kEuclidean its length in the scale of
  // the centroids. NaN, which decides nothing, if floats are too coarse or too short.
  float length_of(double norm_squared) const {
    const double norm = std::sqrt(norm_squared);
    const double factor = cosine() ? 1 / norm : 1 / sums_.unit;
    if (!(norm < kLongestRow && factor < kLargestFactor)) return std::numeric_limits<float>::quiet_NaN();
    return static_cast<float>(cosine() ? factor : norm * factor);
  }

  // Sets the row's factor, square and error in its group.
  void describe(size_t row, size_t place, FloatRows& group) const {
    const double length = static_cast<double>(lengths_[row]);
    const double square = cosine() ? 1 : length * length;
    group.factors[place] = cosine() ? lengths_[row] : factor_;
    group.squares[place] = static_cast<float>(square);
    group.errors[place] = static_cast<float>(slope_ * (cosine() ? 1 : length) + square * 0x1p-22 + offset_);
  }

  Status assign(const InterruptCheck& interrupted) override {
    const int64_t step = std::max<int64_t>(kGroup, kChunkValues / std::max(points_.dims, kLeastCostOfRow));
    const auto work = [&](int slot, int64_t first, int64_t last) {
      visit(first, last, static_cast<size_t>(slot));
    };
    return ThreadPool::for_pieces(static_cast<int>(partial_.size()), points_.rows, step, interrupted, work);
  }

  // Assigns rows [first, last), as far as their clusters may have changed.
  void visit(int64_t first, int64_t last, size_t slot) {
    std::vector<int32_t> rows(static_cast<size_t>(last - first));
    size_t count = 0;
    for (int64_t row = first; row < last; ++row) {
      rows[count] = static_cast<int32_t>(row);
      const auto i = static_cast<size_t>(row);
      count += !(limits_[i] > travelled_[static_cast<size_t>(labels_[i] + 1)]);
    }
    rows.resize(count);
    for (size_t i = 0; i < count; i += kGroup) assign_group(std::span(rows).subspan(i), slot);
  }

  // Assigns the first rows, as many as a group has.
  void assign_group(std::span<const int32_t> rows, size_t slot) {
    FloatRows group;
    for (size_t i = 0; i < kGroup; ++i) {
      const int32_t row = rows[std::min(i, rows.size() - 1)];
      group.vectors[i] = points_.vector(row);
      group.next[i] = points_.vector(rows[std::min(i + kGroup, rows.size() - 1)]);
      describe(static_cast<size_t>(row), i, group);
    }
    kernels_.many_clusters->nearest_by_floats(scaled_.view(), points_.dims, group);
    for (size_t i = 0; i < std::min<size_t>(kGroup, rows.size()); ++i) {
      const auto row = static_cast<size_t>(rows[i]);
      const bool decided = group.gaps[i] > 0;
      const int32_t label = decided ? group.winners[i] : nearest_by_scores(rows[i]);
      const double travelled = travelled_[static_cast<size_t>(label + 1)];
      limits_[row] = decided
                         ? static_cast<float>((static_cast<double>(group.gaps[i]) - kLeastGap + travelled) *
                                              (1 - kSlack))
                         : -kInfinity;
      if (label != labels_[row]) change_label(slot, rows[i], label);
    }
  }

  // Returns the cluster with the highest exact score, the lowest of equal ones.
  int32_t nearest_by_scores(int32_t row) const {
    std::vector<double> wide(wide_size(points_.dims));
    kernels_.many_clusters->widen(points_.vector(row), points_.dims, wide.data());
    const float* vectors[kMostBoundedClusters];
    double dots[kMostBoundedClusters];
    for (int64_t c = 0; c < centroids_.count; ++c) vectors[c] = centroids_.vector(c);
    kernels_.exact_dots(wide.data(), vectors, centroids_.count, points_.dims, dots);
    int32_t best = 0;
    double best_score = -std::numeric_limits<double>::infinity();
    for (int64_t c = 0; c < centroids_.count; ++c) {
      const double score = cluster_score(centroids_.metric, dots[c], points_.norms_squared[row],
                                         centroids_.norms_squared[static_cast<size_t>(c)]);
      if (score > best_score) best = static_cast<int32_t>(c);
      best_score = std::max(best_score, score);
    }
    return best;
  }

  // Scales the centroids and bounds the errors of their scores: the roundings of a dot product, those of the
  // rest, and underflow.
  void set_scaled() {
    scaled_.set(centroids_);
    const auto dims = static_cast<double>(points_.dims);
    const double longest = scaled_.longest();
    slope_ = (dims + 8) * 0x1p-23 * longest;
    offset_ = longest * longest * 0x1p-22 + dims * 0x1p-149 * kLargestFactor;
  }

  // Notes how far the centroids move.
  void move_centroids() override {
    CpuPass::move_centroids();
    set_scaled();
    const std::span<const double> moves = scaled_.moves();
    double largest = 0;
    double next = 0;
    for (const double move : moves) {
      next = std::max(next, std::min(largest, move));
      largest = std::max(largest, move);
    }
    for (size_t c = 0; c < moves.size(); ++c)
      travelled_[c + 1] += moves[c] + (moves[c] == largest ? next : largest);
  }

  ScaledCentroids scaled_;
  std::vector<float> limits_;  // a row keeps its cluster until travelled_ reaches this
  std::vector<float> lengths_;
  // By cluster + 1: by how much the gap of a member may have shrunk since the start.
  std::vector<double> travelled_;
  const float factor_;  // kEuclidean: of all rows
  double slope_ = 0;    // the error of a score per length of the row
  double offset_ = 0;
};

}  // namespace

std::unique_ptr<KMeansPass> make_bounded_pass(const Kernels& kernels, int threads, const Points& points,
                                              Metric metric, int64_t count) {
  GLOVE_REQUIRE(1 <= count && count <= kMostBoundedClusters);
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  return std::make_unique<BoundedPass>(kernels, threads, points, metric, count);
}

}  // namespace glove::cpu
