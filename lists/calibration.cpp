#include "lists/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "base/float_environment.h"
#include "base/require.h"
#include "base/thread_pool.h"
#include "lists/half.h"
#include "model/exact_dot.h"
#include "model/nibbles.h"
#include "model/prefetch.h"

namespace glove {
namespace {

constexpr std::array<int64_t, 6> kAnswers = {1, 10, 30, 100, 300, kMostPlanesK};
// The rows of the nearest lists among which a query's k nearest rows are looked for. They may miss some, so
// that a threshold is at most the true one, and more rows are expected than a search will read.
constexpr int64_t kNearRows = 4096;
constexpr int64_t kSampleRows = 2048;
constexpr int64_t kFetchedRows = 8;  // ahead, because they are anywhere in memory
// Planes pay if they are expected to take at most this share of the time of other codes.
constexpr double kWorthwhileShare = 0.9;

// A row of which the share that plane one leaves is counted.
struct SampleRow {
  Plane1Row row;
  size_t list;
};

// Returns kSampleRows of the rows, or all.
std::vector<SampleRow> sample_of(const ModelPart& part) {
  const auto& offsets = part.planes->offsets;
  const int64_t count = std::min(kSampleRows, part.rows);
  std::vector<SampleRow> sample;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t position = i * part.rows / count;
    const auto list = std::upper_bound(offsets.begin(), offsets.end(), position) - offsets.begin() - 1;
    sample.push_back({Plane1Row(part, position), static_cast<size_t>(list)});
  }
  return sample;
}

// Counts for one query the rows of the sample that plane one leaves for each of kAnswers.
class Trial {
 public:
  Trial(const ModelPart& part, std::span<const SampleRow> sample, int64_t row)
      : part_(part), sample_(sample), row_(row), unit_(part.vector(row), part.vector(row) + part.dims) {
    const double inverse = 1 / std::sqrt(part.norm_squared(row));
    for (float& value : unit_) value = static_cast<float>(value * inverse);
    const PlaneLevel& level = *part.planes;
    for (int64_t list = 0; list < level.lists(); ++list)
      products_.push_back(exact_dot(unit_.data(), level.centroids.data() + list * part.dims, part.dims));
  }

  std::array<int64_t, kAnswers.size()> run() const {
    std::array<int64_t, kAnswers.size()> left{};
    std::array<double, kAnswers.size()> thresholds{};
    const std::vector<double> best = near_similarities();
    for (size_t i = 0; i < kAnswers.size(); ++i) {
      const auto k = static_cast<size_t>(kAnswers[i]);
      thresholds[i] = k <= best.size() ? best[k - 1] : 0;
    }
    for (const SampleRow& each : sample_) {
      const auto [product, distance] = each.row.estimate(unit_.data(), products_[each.list]);
      for (size_t j = 0; j < kAnswers.size(); ++j) {
        const double t = thresholds[j];
        if (!(t > 0) || !(product + distance * std::sqrt(std::max(0.0, 1 - t * t)) < t)) ++left[j];
      }
    }
    return left;
  }

 private:
  // The similarities of the rows of the nearest lists, falling.
  std::vector<double> near_similarities() const {
    const PlaneLevel& level = *part_.planes;
    std::vector<int32_t> lists(products_.size());
    std::iota(lists.begin(), lists.end(), 0);
    std::ranges::stable_sort(lists, [&](int32_t a, int32_t b) {
      return products_[static_cast<size_t>(a)] > products_[static_cast<size_t>(b)];
    });
    std::vector<double> similarities;
    for (const int32_t list : lists) {
      if (std::ssize(similarities) >= kNearRows) break;
      const auto i = static_cast<size_t>(list);
      for (int64_t p = level.offsets[i]; p < level.offsets[i + 1]; ++p) {
        const int64_t row = level.rows[static_cast<size_t>(p)];
        if (p + kFetchedRows < level.offsets[i + 1])
          prefetch(part_.vector(level.rows[static_cast<size_t>(p + kFetchedRows)]), part_.dims);
        if (row == row_ || !(part_.norm_squared(row) > 0)) continue;
        similarities.push_back(exact_dot(unit_.data(), part_.vector(row), part_.dims) /
                               std::sqrt(part_.norm_squared(row)));
      }
    }
    std::ranges::sort(similarities, std::greater<>());
    return similarities;
  }

  const ModelPart& part_;
  const std::span<const SampleRow> sample_;
  const int64_t row_;
  std::vector<float> unit_;
  std::vector<double> products_;  // of the centroids
};

}  // namespace

Plane1Row::Plane1Row(const ModelPart& part, int64_t position) {
  GLOVE_REQUIRE(part.planes != nullptr && !part.planes->plane1.empty());
  const PlaneLevel& level = *part.planes;
  codes_.reserve(static_cast<size_t>(part.dims));
  for (int64_t j = 0; j < part.dims; ++j) {
    const PlanePlace place = plane_place(j, part.dims);
    const int byte = level.plane1[static_cast<size_t>(plane1_index(position, place.byte, part.dims))];
    codes_.push_back(static_cast<float>(2 * place.bits(byte) - 3));
  }
  const uint16_t* const bound =
      level.bounds1.data() + position / kTileRows * kPlaneBounds * kTileRows + position % kTileRows;
  alpha_ = half_value(bound[0]);
  scale_ = half_value(bound[kTileRows]);
  distance_ = half_value(bound[2 * kTileRows]);
}

Plane1Estimate Plane1Row::estimate(const float* unit, double centroid_product) const {
  const double sum = exact_dot(unit, codes_.data(), std::ssize(codes_));
  return {double{alpha_} * centroid_product + double{scale_} * sum, distance_};
}

Result<PlanesPay> planes_pay(const ModelPart& part, int threads, const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set() && part.planes != nullptr);
  const int64_t queries = std::min(kCalibrationRows, part.rows);
  const std::vector<SampleRow> sample = sample_of(part);
  std::vector<std::array<int64_t, kAnswers.size()>> left(static_cast<size_t>(queries));
  const auto work = [&](int, int64_t i) {
    const int64_t row = i * part.rows / queries;
    if (part.norm_squared(row) > 0) left[static_cast<size_t>(i)] = Trial(part, sample, row).run();
  };
  GLOVE_RETURN_IF_ERROR(ThreadPool::for_each(thread_count(threads), queries, interrupted, work));
  const auto rows_in_all = static_cast<double>(queries * std::min(kSampleRows, part.rows));
  const auto codes4 = static_cast<double>(nibble_words(part.dims) * kNibbleWordBytes) + 2 * sizeof(float);
  const auto codes8 = static_cast<double>(component_groups(part.dims) * kTileComponents) + 2 * sizeof(float);
  PlanesPay pay;
  for (size_t i = 0; i < kAnswers.size(); ++i) {
    int64_t sum = 0;
    for (const auto& counts : left) sum += counts[i];
    const double share = static_cast<double>(sum) / rows_in_all;
    const double bytes = static_cast<double>(plane1_row_bytes(part.dims)) +
                         share * static_cast<double>(second_read_bytes(part.dims));
    if (bytes <= kWorthwhileShare * codes4) pay.beside_4_bits = kAnswers[i];
    if (bytes <= kWorthwhileShare * codes8) pay.beside_8_bits = kAnswers[i];
  }
  return pay;
}

}  // namespace glove
