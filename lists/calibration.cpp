#include "lists/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "base/cores.h"
#include "base/thread_pool.h"
#include "lists/half.h"
#include "lists/planes.h"
#include "model/exact_dot.h"
#include "model/nibbles.h"

namespace glove {
namespace {

constexpr std::array<int64_t, 6> kAnswers = {1, 10, 30, 100, 300, kMostPlanesK};
// The rows of the nearest lists among which a query's k nearest rows are looked for. They may miss some, so
// that a threshold is at most the true one, and more rows are expected than a search will read.
constexpr int64_t kNearRows = 4096;
// The rows of which the share that plane one leaves is counted.
constexpr int64_t kSampleRows = 2048;
// Planes pay if they are expected to take at most this share of the time of other codes.
constexpr double kWorthwhileShare = 0.9;

// Counts for one query the rows of the sample that plane one leaves for each of kAnswers.
class Trial {
 public:
  Trial(const ModelPart& part, int64_t row)
      : part_(part), row_(row), unit_(part.vector(row), part.vector(row) + part.dims) {
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
    const int64_t count = std::min(kSampleRows, part_.rows);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t position = i * part_.rows / count;
      const auto& offsets = part_.planes->offsets;
      const auto list = std::upper_bound(offsets.begin(), offsets.end(), position) - offsets.begin() - 1;
      const auto [product, distance] =
          estimate_by_plane1(part_, position, unit_.data(), products_[static_cast<size_t>(list)]);
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
        if (row == row_ || !(part_.norm_squared(row) > 0)) continue;
        similarities.push_back(exact_dot(unit_.data(), part_.vector(row), part_.dims) /
                               std::sqrt(part_.norm_squared(row)));
      }
    }
    std::ranges::sort(similarities, std::greater<>());
    return similarities;
  }

  const ModelPart& part_;
  const int64_t row_;
  std::vector<float> unit_;
  std::vector<double> products_;  // of the centroids
};

}  // namespace

Plane1Estimate estimate_by_plane1(const ModelPart& part, int64_t position, const float* unit,
                                  double centroid_product) {
  const PlaneLevel& level = *part.planes;
  const int64_t whole = part.dims / kPlaneGroup;
  const uint8_t* word = level.plane1.data() + plane1_index(position, 0, part.dims);
  std::array<double, kPlaneWordBytes> sums{};  // one for each byte of a word
  for (int64_t i = 0; i < whole; ++i, word += kTileRows * kPlaneWordBytes)
    for (int shift = 0; shift < 8; shift += 2, unit += kPlaneWordBytes)
      for (size_t byte = 0; byte < sums.size(); ++byte)
        sums[byte] += static_cast<double>(unit[byte]) * (2 * (word[byte] >> shift & 3) - 3);
  for (int64_t j = whole * kPlaneGroup; j < part.dims; ++j) {
    const PlanePlace place = plane_place(j, part.dims);
    const int bits = level.plane1[static_cast<size_t>(plane1_index(position, place.byte, part.dims))];
    sums[static_cast<size_t>(place.byte % kPlaneWordBytes)] +=
        static_cast<double>(*unit++) * (2 * (bits >> place.shift & 3) - 3);
  }
  const double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  const uint16_t* const bound =
      level.bounds1.data() + position / kTileRows * kPlaneBounds * kTileRows + position % kTileRows;
  return {static_cast<double>(half_value(bound[0])) * centroid_product +
              static_cast<double>(half_value(bound[kTileRows])) * sum,
          static_cast<double>(half_value(bound[2 * kTileRows]))};
}

Result<PlanesPay> planes_pay(const ModelPart& part, int threads, const InterruptCheck& interrupted) {
  const int64_t queries = std::min(kCalibrationRows, part.rows);
  std::vector<std::array<int64_t, kAnswers.size()>> left(static_cast<size_t>(queries));
  const auto work = [&](int, int64_t i) {
    const int64_t row = i * part.rows / queries;
    if (part.norm_squared(row) > 0) left[static_cast<size_t>(i)] = Trial(part, row).run();
  };
  if (!ThreadPool::instance().run(thread_count(threads), queries, work, interrupted))
    return interrupted_error();
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
