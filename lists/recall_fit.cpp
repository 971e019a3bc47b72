#include "lists/recall_fit.h"

#include <algorithm>
#include <cmath>
#include "base/float_environment.h"
#include "base/require.h"

namespace glove {
namespace {

constexpr size_t kMeasured = RecallMeasurements::kCount;
// The share of a query's nearest rows whose place the last feature predicts.
constexpr int64_t kPredictedShare = 20;  // all but one in so many
// The share of the calibration queries that are nearer to others than the reach.
constexpr double kWithinReach = 0.99;
// The share of a query's nearest rows whose estimates may be too low.
constexpr double kBelowMargin = 2e-3;
constexpr double kRidge = 1e-3;  // of the standardised measurements
// The distance from the nearest row counts for more than the other measurements where queries are compared.
constexpr double kNearestWeight = 1.5;

// Solves a symmetric positive definite system in place by Cholesky's method.
void solve(std::array<std::array<double, kMeasured>, kMeasured>& a, std::array<double, kMeasured>& b) {
  for (size_t i = 0; i < kMeasured; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (size_t l = 0; l < j; ++l) sum -= a[i][l] * a[j][l];
      a[i][j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / a[j][j];
    }
    for (size_t l = 0; l < i; ++l) b[i] -= a[i][l] * b[l];
    b[i] /= a[i][i];
  }
  for (size_t i = kMeasured; i-- > 0;) {
    for (size_t l = i + 1; l < kMeasured; ++l) b[i] -= a[l][i] * b[l];
    b[i] /= a[i][i];
  }
}

// Returns the step after which a search has found nearly all of the k nearest rows.
double need_of(const RecallTrial& trial, int64_t k) {
  std::vector<int64_t> before(trial.rows_before.begin(), trial.rows_before.begin() + k);
  const auto at = before.begin() + (k - 1 - k / kPredictedShare);
  std::nth_element(before.begin(), at, before.end());
  int64_t step = 0;
  while (recall_rows(k, step) <= *at) ++step;
  return static_cast<double>(step);
}

// Sets a class's numbers, except for the reach, by the trials that were measured.
void fit_transform(std::span<const RecallTrial* const> trials, size_t which,
                   const RecallTransform& transform) {
  const auto count = static_cast<double>(trials.size());
  std::array<double, kMeasured> squares{};
  for (const RecallTrial* trial : trials)
    for (size_t i = 0; i < kMeasured; ++i) transform.mean(i) += trial->measured[which].values[i] / count;
  double mean_need = 0;
  for (const RecallTrial* trial : trials) {
    for (size_t i = 0; i < kMeasured; ++i) {
      const double off = trial->measured[which].values[i] - transform.mean(i);
      squares[i] += off * off;
    }
    mean_need += need_of(*trial, kRecallKs[which]) / count;
  }
  for (size_t i = 0; i < kMeasured; ++i)
    transform.inverse_deviation(i) = squares[i] > 0 ? std::sqrt(count / squares[i]) : 0;
  std::array<std::array<double, kMeasured>, kMeasured> products{};
  std::array<double, kMeasured> factors{};
  double need_squares = 0;
  for (const RecallTrial* trial : trials) {
    std::array<double, kMeasured> standard;
    for (size_t i = 0; i < kMeasured; ++i)
      standard[i] = (trial->measured[which].values[i] - transform.mean(i)) * transform.inverse_deviation(i);
    const double need = need_of(*trial, kRecallKs[which]) - mean_need;
    need_squares += need * need;
    for (size_t i = 0; i < kMeasured; ++i) {
      factors[i] += standard[i] * need;
      for (size_t j = 0; j < kMeasured; ++j) products[i][j] += standard[i] * standard[j];
    }
  }
  for (size_t i = 0; i < kMeasured; ++i) products[i][i] += kRidge * count;
  solve(products, factors);
  const double deviation = std::sqrt(need_squares / count);
  for (size_t i = 0; i < kMeasured; ++i) transform.factor(i) = deviation > 0 ? factors[i] / deviation : 0;
  transform.inverse_deviation(kNearestMeasurement) *= kNearestWeight;
  transform.factor(kNearestMeasurement) /= kNearestWeight;
}

// Returns the margin that nearly all nearest rows have.
double margin_of(std::span<const RecallTrial> trials, size_t which) {
  std::vector<float> needed;
  const auto first = static_cast<int64_t>(which) * kRecallMarginRows;
  for (const RecallTrial& trial : trials)
    if (first + kRecallMarginRows <= std::ssize(trial.margins))
      needed.insert(needed.end(), trial.margins.begin() + first,
                    trial.margins.begin() + first + kRecallMarginRows);
  if (needed.empty()) return 1;
  const auto at = needed.end() - 1 - static_cast<int64_t>(kBelowMargin * static_cast<double>(needed.size()));
  std::nth_element(needed.begin(), at, needed.end());
  return std::max(double{*at}, kLeastMargin);
}

}  // namespace

void fit_recall(std::span<const RecallTrial> trials, size_t which, RecallArrays& arrays) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  const RecallTransform transform = {
      std::span(arrays.transform).subspan(which * kRecallTransform, kRecallTransform)};
  transform.reach() = -1, transform.margin() = 1;
  std::vector<const RecallTrial*> measured;
  for (const RecallTrial& trial : trials)
    if (trial.is_measured[which]) measured.push_back(&trial);
  if (measured.size() < trials.size() / 2) return;
  fit_transform(measured, which, transform);
  const size_t queries = trials.size();
  for (size_t i = 0; measured.size() < queries; ++i) measured.push_back(measured[i]);
  const auto features_of = [&](const RecallTrial* trial) {
    return recall_features(transform.numbers, trial->measured[which]);
  };
  std::ranges::stable_sort(measured, [&](const RecallTrial* a, const RecallTrial* b) {
    return features_of(a).back() < features_of(b).back();
  });
  for (size_t i = 0; i < queries; ++i) {
    const auto features = features_of(measured[i]);
    const auto before = measured[i]->rows_before.begin();
    for (size_t j = 0; j < features.size(); ++j)
      arrays.features[(which * kRecallColumns + j) * queries + i] = features[j];
    arrays.features[(which * kRecallColumns + features.size()) * queries + i] = measured[i]->group;
    int16_t* const found = arrays.found.data() + (which * queries + i) * kRecallSteps;
    for (int64_t step = 0; step < kRecallSteps; ++step) {
      const int64_t rows = recall_rows(kRecallKs[which], step);
      found[step] = static_cast<int16_t>(std::count_if(
          before, before + kRecallKs[which], [rows](int64_t rows_before) { return rows_before < rows; }));
    }
  }
  std::vector<int64_t> distances;
  distances.reserve(measured.size());
  const RecallTable table = arrays.table();
  transform.margin() = margin_of(trials, which);
  for (const RecallTrial* trial : measured)
    distances.push_back(recall_distance_from_others(table, static_cast<int>(which), features_of(trial)));
  std::ranges::sort(distances);
  transform.reach() = static_cast<double>(
      distances[static_cast<size_t>(kWithinReach * static_cast<double>(distances.size() - 1))]);
}

}  // namespace glove
