#include "lists/recall_table.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include "base/require.h"

namespace glove {
namespace {

// The calibration queries whose needs decide for a query: those with the most similar features, among those
// whose last features are nearest; twice as many where each has few rows to find.
constexpr int64_t kNeighbors = 64;
constexpr int64_t kFewRows = 5;
constexpr int64_t kCompared = 512;
// Features are standardised measurements times this. The last one, which predicts the need, counts for more.
constexpr double kFeatureScale = 256;
constexpr double kPredictionWeight = 3;
constexpr double kLargestFeature = 4095;  // so that squared distances fit 32 bits
// The share of the missing rows that a search aims to find in addition: the least number of rows at which a
// sample of queries has its recall is, on average, a little too low for others. Those that are made of
// several rows differ more, and so do those with few rows to find.
constexpr double kMarginOfOneRow = 0.1;
constexpr double kMargin = 0.4;
// Calibration queries are made of rows, so a query that is far from all rows differs from them: the farther
// its nearest row is, by kNearestMeasurement, the larger the share.
constexpr double kMarginOfStrangers = 0.8;
constexpr double kStrange = 0.5, kStrangest = 0.8;
// A query that is nearer to a row, by kNearestMeasurement, is that row.
constexpr double kSameRow = 1e-3;
// A search that would read a larger share of the rows reads all of them.
constexpr double kLargestShare = 0.4;

constexpr int64_t kStepsPerLine = 32;     // of memory
constexpr int64_t kStepsPerDoubling = 8;  // recall_rows()

struct Nearest {
  int32_t distance;
  int32_t query;
  auto operator<=>(const Nearest&) const = default;
};

// The squared distances from the features of some queries, of which `first` is the number of the first one.
struct QueryDistances {
  int64_t first;
  std::vector<int32_t> values;
};

QueryDistances distances_to(const RecallTable& table, int which,
                            const std::array<int16_t, kRecallFeatures>& at) {
  const int16_t* column = table.features.data() + which * kRecallColumns * table.queries;
  const auto last_features =
      std::span(column + (kRecallFeatures - 1) * table.queries, static_cast<size_t>(table.queries));
  const int64_t place =
      std::lower_bound(last_features.begin(), last_features.end(), at.back()) - last_features.begin();
  const int64_t count = std::min(kCompared, table.queries);
  QueryDistances distances = {std::clamp<int64_t>(place - count / 2, 0, table.queries - count), {}};
  std::vector<int32_t>& values = distances.values;
  values.resize(static_cast<size_t>(count));
  column += distances.first;
  for (int64_t feature = 0; feature < kRecallFeatures; ++feature, column += table.queries) {
    const int16_t own = at[static_cast<size_t>(feature)];
    for (size_t i = 0; i < values.size(); ++i) {
      const auto off = static_cast<int16_t>(column[i] - own);  // at most 2 * kLargestFeature
      values[i] += off * off;
    }
  }
  return distances;
}

// Returns the `count` nearest queries, of which equally near ones come by number, in any order.
std::vector<Nearest> nearest_queries(const QueryDistances& all, int64_t count) {
  std::vector<Nearest> nearest;
  nearest.reserve(all.values.size());
  for (size_t i = 0; i < all.values.size(); ++i)
    nearest.push_back({all.values[i], static_cast<int32_t>(all.first + static_cast<int64_t>(i))});
  if (std::ssize(nearest) > count) {
    std::nth_element(nearest.begin(), nearest.begin() + count, nearest.end());
    nearest.resize(static_cast<size_t>(count));
  }
  return nearest;
}

int64_t distance_of(std::vector<Nearest>& nearest, int64_t number) {
  const auto at = nearest.begin() + std::min<int64_t>(number, std::ssize(nearest) - 1);
  std::nth_element(nearest.begin(), at, nearest.end());
  return at->distance;
}

// Returns the share of the missing rows that a search with a group of calibration queries aims to find.
double margin_of(int16_t group, int64_t k, const RecallMeasurements& measured) {
  const double distance = measured.values[kNearestMeasurement];
  if (distance <= kStrange) return group == kOneRow && k > kFewRows ? kMarginOfOneRow : kMargin;
  const double strange = std::min((distance - kStrange) / (kStrangest - kStrange), 1.0);
  return kMargin + strange * (kMarginOfStrangers - kMargin);
}

// Returns the first step at which the queries with these counts have found so many rows; kRecallSteps if
// there is none.
int64_t first_step(std::span<const int16_t* const> counts, double needed) {
  int64_t low = 0, high = kRecallSteps;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    int64_t sum = 0;
    for (const int16_t* const count : counts) sum += count[middle];
    if (static_cast<double>(sum) >= needed)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

}  // namespace

RecallMeasurements measure_recall(const ProbeOrder& order, double scale, int64_t k,
                                  std::span<const double> similarities, double nearest) {
  const int64_t first = recall_rows(k, 0);
  double sum = 0;
  for (const double similarity : similarities) sum += similarity;
  const auto cosine = [&](int64_t rows) {
    return scale > 0 ? static_cast<double>(order.product_at(rows)) / scale : 0;
  };
  return {{similarities.back(), sum / static_cast<double>(similarities.size()), cosine(1), cosine(first),
           cosine(4 * first), cosine(16 * first), std::sqrt(std::max(0.0, 1 - nearest)),
           cosine(order.rows() / 2)}};
}

std::array<int16_t, kRecallFeatures> recall_features(std::span<const double> transform,
                                                     const RecallMeasurements& measured) {
  constexpr size_t kCount = RecallMeasurements::kCount;
  const auto feature = [](double value) {
    return static_cast<int16_t>(std::floor(std::clamp(value, -kLargestFeature, kLargestFeature) + 0.5));
  };
  std::array<int16_t, kRecallFeatures> features{};
  double prediction = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const double standard = (measured.values[i] - transform[i]) * transform[kCount + i];
    features[i] = feature(standard * kFeatureScale);
    prediction += standard * transform[2 * kCount + i];
  }
  features[kCount] = feature(prediction * (kFeatureScale * kPredictionWeight));
  return features;
}

int64_t recall_distance_from_others(const RecallTable& table, int which,
                                    const std::array<int16_t, kRecallFeatures>& at) {
  constexpr int64_t kOther = kRecallReachNeighbor + 1;  // the nearest query is itself
  std::vector<Nearest> nearest = nearest_queries(distances_to(table, which, at), kOther + 1);
  return distance_of(nearest, kOther);
}

int64_t RecallTable::rows_to_read(int which, const RecallMeasurements& measured, double recall,
                                  int64_t rows) const {
  const auto numbers = transform.subspan(static_cast<size_t>(which * kRecallTransform), kRecallTransform);
  const auto at = recall_features(numbers, measured);
  const int64_t k = kRecallKs[static_cast<size_t>(which)];
  std::vector<Nearest> nearest =
      nearest_queries(distances_to(*this, which, at), k <= kFewRows ? 2 * kNeighbors : kNeighbors);
  if (nearest.empty()) return -1;
  const double reach = numbers[3 * RecallMeasurements::kCount];
  if (static_cast<double>(distance_of(nearest, kRecallReachNeighbor)) > reach) return -1;
  const int16_t* const counts = found.data() + static_cast<int64_t>(which) * queries * kRecallSteps;
  for (const Nearest& query : nearest)
    for (int64_t step = 0; step < kRecallSteps; step += kStepsPerLine)
      __builtin_prefetch(counts + query.query * kRecallSteps + step);
  const int16_t* const groups =
      features.data() + (static_cast<int64_t>(which) * kRecallColumns + kRecallFeatures) * queries;
  // What sums need says nothing of a row, and the fewer they are the more they need.
  bool is_row = k > kFewRows && measured.values[kNearestMeasurement] < kSameRow;
  int64_t step = 0;
  for (int16_t group = kOneRow; group < kRecallGroups; ++group) {
    std::vector<const int16_t*> members;
    for (const Nearest& query : nearest)
      if (groups[query.query] == group) members.push_back(counts + query.query * kRecallSteps);
    const bool decides = std::ssize(members) * kRecallGroups >= std::ssize(nearest);
    if (group == kOneRow) is_row = is_row && decides;
    if (!decides || (is_row && (group == kSeveralRows || group == kManyRows))) continue;
    const double share = 1 - (1 - recall) * (1 - margin_of(group, k, measured));
    const auto all = static_cast<double>(k * std::ssize(members));
    const int64_t own = first_step(members, share * all);
    // Where no row may be missing, the members cannot say how many more rows others need.
    const bool is_sure = k > kFewRows || own == kRecallSteps || all - share * all >= 1;
    step = std::max(step, is_sure ? own : std::min(own + kStepsPerDoubling, kRecallSteps));
  }
  if (step == kRecallSteps) return -1;
  const int64_t needed_rows = recall_rows(k, step);
  return static_cast<double>(needed_rows) > kLargestShare * static_cast<double>(rows) ? -1 : needed_rows;
}

float RecallTable::margin(int which) const {
  return static_cast<float>(transform[static_cast<size_t>(which * kRecallTransform) + kRecallMargin]);
}

ModelPtr with_recall(const ModelPtr& model, RecallArrays arrays) {
  GLOVE_REQUIRE(model->parts().size() == 1 && model->parts().front().planes != nullptr);
  struct Owner {
    ModelPtr model;
    RecallArrays arrays;
    RecallTable table;
    PlaneLevel level;
  };
  const auto owner = std::make_shared<Owner>();
  ModelPart part = model->parts().front();
  owner->model = model;
  owner->arrays = std::move(arrays);
  owner->table = owner->arrays.table();
  owner->level = *part.planes;
  owner->level.recall = &owner->table;
  part.planes = &owner->level;
  return std::make_shared<const Model>(std::vector{part}, model->vocabulary(), model->source(), owner);
}

bool is_possible(const RecallTable& table) {
  if (!std::ranges::all_of(table.transform, [](double number) { return std::isfinite(number); }))
    return false;
  for (size_t i = kRecallMargin; i < table.transform.size(); i += kRecallTransform)
    if (!(table.transform[i] >= kLeastMargin && table.transform[i] <= 1)) return false;
  const auto is_feature = [](int16_t value) { return std::abs(int{value}) <= kLargestFeature; };
  if (!std::ranges::all_of(table.features, is_feature)) return false;
  for (size_t i = 0; i < table.found.size(); ++i) {
    const int64_t k = kRecallKs[i / static_cast<size_t>(table.queries * kRecallSteps)];
    const bool rises = i % kRecallSteps == 0 || table.found[i - 1] <= table.found[i];
    if (table.found[i] < 0 || table.found[i] > k || !rises) return false;
  }
  return true;
}

}  // namespace glove
