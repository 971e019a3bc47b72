#include "analysis/seeding.h"

#include <algorithm>
#include <utility>

#include "analysis/points.h"
#include "base/float_environment.h"
#include "base/random.h"
#include "base/require.h"

namespace glove {
namespace {

constexpr double kLargestWeight = 0x1p31;

// The weights of k-means++ and the draw by them.
class SpreadDraw {
 public:
  SpreadDraw(const Points& points, Metric metric, std::span<const int32_t> candidates)
      : points_(points),
        metric_(metric),
        candidates_(candidates),
        weights_(candidates.size()),
        drawn_(candidates.size()),
        dots_(static_cast<size_t>(points.rows)) {}

  // Lowers the weights by the distances to the candidate at this place, which was drawn.
  Status draw(const DotsOfRows& dots_of_rows, size_t place) {
    const int32_t row = candidates_[place];
    GLOVE_RETURN_IF_ERROR(dots_of_rows({points_.vector(row), static_cast<size_t>(points_.dims)}, dots_));
    if (count_ == 0) set_unit(row);
    for (size_t i = 0; i < candidates_.size(); ++i) {
      const auto weight = static_cast<uint32_t>(distance(candidates_[i], row) / unit_ * kLargestWeight);
      weights_[i] = count_ == 0 ? weight : std::min(weights_[i], weight);
    }
    drawn_[place] = 1;
    weights_[place] = 0;
    ++count_;
    return {};
  }

  // The place of the next candidate.
  size_t next(SplitMix64& random) const {
    uint64_t total = 0;
    for (const uint32_t weight : weights_) total += weight;
    size_t place = 0;
    if (total == 0) {
      while (drawn_[place] != 0) ++place;
      return place;
    }
    for (uint64_t left = random.below(total); left >= weights_[place]; ++place) left -= weights_[place];
    return place;
  }

 private:
  // From the row whose dots are in dots_, at most unit_.
  double distance(int32_t row, int32_t drawn) const {
    const double score = cluster_score(metric_, dots_[static_cast<size_t>(row)], points_.norms_squared[row],
                                       points_.norms_squared[drawn]);
    const double distance = metric_ == Metric::kCosine ? 1 - score : -score;
    return std::clamp(distance, 0.0, unit_);
  }

  void set_unit(int32_t drawn) {
    unit_ = 2e300;  // above every distance
    double largest = 0;
    for (const int32_t row : candidates_) largest = std::max(largest, distance(row, drawn));
    unit_ = largest > 0 ? largest : 1;
  }

  const Points& points_;
  Metric metric_;
  std::span<const int32_t> candidates_;
  std::vector<uint32_t> weights_;
  std::vector<char> drawn_;
  std::vector<double> dots_;
  double unit_ = 1;
  int64_t count_ = 0;
};

}  // namespace

std::vector<int32_t> random_rows(std::span<const int32_t> candidates, int64_t count, uint64_t seed) {
  GLOVE_REQUIRE(count >= 0 && count <= std::ssize(candidates));
  SplitMix64 random(seed);
  std::vector<int32_t> rows(candidates.begin(), candidates.end());
  for (size_t i = 0; i < static_cast<size_t>(count); ++i)
    std::swap(rows[i], rows[i + random.below(rows.size() - i)]);
  rows.resize(static_cast<size_t>(count));
  return rows;
}

Result<std::vector<int32_t>> spread_rows(const DotsOfRows& dots_of_rows, const Points& points, Metric metric,
                                         std::span<const int32_t> candidates, int64_t count, uint64_t seed) {
  GLOVE_REQUIRE(count <= std::ssize(candidates));
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  SplitMix64 random(seed);
  SpreadDraw draw(points, metric, candidates);
  std::vector<int32_t> rows;
  while (static_cast<int64_t>(rows.size()) < count) {
    const size_t place = rows.empty() ? random.below(candidates.size()) : draw.next(random);
    rows.push_back(candidates[place]);
    if (static_cast<int64_t>(rows.size()) < count) GLOVE_RETURN_IF_ERROR(draw.draw(dots_of_rows, place));
  }
  return rows;
}

}  // namespace glove
