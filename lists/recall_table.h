// How many rows an approximate search must read, learned from queries that were answered exactly
// (docs/recall.md, docs/format.md).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lists/list_codes.h"
#include "lists/probe_order.h"
#include "model/model.h"

namespace glove {

// A search for k rows is one for the least of these that is not below k.
constexpr std::array<int64_t, 8> kRecallKs = {1, 3, 5, 10, 30, 100, 300, 1000};
constexpr int64_t kRecallFeatures = 9;  // of a query, once it has read the first rows
constexpr int64_t kRecallColumns = kRecallFeatures + 1;  // of a calibration query: also its group
constexpr int64_t kRecallSteps = 96;
constexpr int64_t kRecallTransform = 32;  // numbers that make features of measurements

// What a calibration query is made of.
enum RecallGroup : int16_t { kOneRow, kSeveralRows, kManyRows, kUsersOwn, kRecallGroups };

// Returns the number of kRecallKs for k; -1 if there is none.
constexpr int recall_class(int64_t k) {
  for (size_t i = 0; i < kRecallKs.size(); ++i)
    if (k <= kRecallKs[i]) return static_cast<int>(i);
  return -1;
}

// A search reads lists in the order of ProbeOrder until it has read this many rows: first those after which
// its features are computed, which are those of step 0, and then those of a later step. Each step has about
// a tenth more than the one before.
constexpr int64_t recall_rows(int64_t k, int64_t step) {
  const int64_t first = k <= 256 ? 1024 : 4 * k;
  return (first << step / 8) * (8 + step % 8) / 8;
}

// What a query is like once it has read the first rows.
struct RecallMeasurements {
  static constexpr size_t kCount = 8;
  std::array<double, kCount> values;
};

// The measurement that tells rows from what is made of them: about the distance from the nearest row.
constexpr size_t kNearestMeasurement = 6;

// `similarities` are those of the best rows so far, falling: as many as the class has rows. `nearest` is the
// similarity of the nearest row, which the answer may omit.
RecallMeasurements measure_recall(const ProbeOrder& order, double scale, int64_t k,
                                  std::span<const double> similarities, double nearest);

// The rows that an answer omits of which measure_recall() wants to know: the first ones.
constexpr size_t kMeasuredExcluded = 8;

// Views of a file or of RecallArrays. Immutable.
struct RecallTable {
  bool is_damaged = false;            // the file has another one: searches are exact, and nothing is below
  ListCodes lists;                    // of the centroids
  int64_t queries = 0;                // that were answered exactly
  std::span<const double> transform;  // [kRecallKs, kRecallTransform]
  std::span<const int16_t> features;  // [kRecallKs, kRecallColumns, queries]; the last feature does not fall
  std::span<const int16_t> found;     // [kRecallKs, queries, kRecallSteps]: of the k nearest rows of each
                                      // query, those that a search has read after a step
  int64_t calibrated_rows = 0;        // of an index, when it was calibrated; 0 in a model

  // Returns how many rows a search must read for this recall on average; -1: all. A larger recall never needs
  // fewer. `which`: the class. The same on every machine.
  int64_t rows_to_read(int which, const RecallMeasurements& measured, double recall, int64_t rows) const;

  // Returns RecallTransform::margin() of a class.
  float margin(int which) const;
};

// Where the transform of a class has the margin, which is from kLeastMargin to 1.
constexpr size_t kRecallMargin = 3 * RecallMeasurements::kCount + 1;
constexpr double kLeastMargin = 0x1p-10;

// The transform of a class: for each measurement its mean and the inverse of its deviation, the factors of
// the standardised measurements whose sum is the last feature, the greatest distance from the calibration
// queries that is no surprise, and the margin: nearly all of the rows that belong to an answer reach its last
// similarity t by their estimate and margin * distance * sqrt(1 - t^2), with the numbers of plane one.
struct RecallTransform {
  std::span<double> numbers;  // [kRecallTransform]
  double& mean(size_t i) const { return numbers[i]; }
  double& inverse_deviation(size_t i) const { return numbers[RecallMeasurements::kCount + i]; }
  double& factor(size_t i) const { return numbers[2 * RecallMeasurements::kCount + i]; }
  double& reach() const { return numbers[3 * RecallMeasurements::kCount]; }
  double& margin() const { return numbers[kRecallMargin]; }
};

// Returns the features that a class's transform makes of measurements.
std::array<int16_t, kRecallFeatures> recall_features(std::span<const double> transform,
                                                     const RecallMeasurements& measured);

// The number, from 0, of the nearest query whose distance is that of some features from the queries.
constexpr int64_t kRecallReachNeighbor = 8;

// Returns the square of the distance of the features of one of the queries from the other queries.
int64_t recall_distance_from_others(const RecallTable& table, int which,
                                    const std::array<int16_t, kRecallFeatures>& at);

// A table on the heap.
struct RecallArrays {
  ListCodes lists;
  int64_t queries = 0;
  std::vector<double> transform;
  std::vector<int16_t> features;
  std::vector<int16_t> found;

  // A view of the arrays, which they must outlive. It has a copy of the codes of lists.
  RecallTable table() const { return {false, lists, queries, transform, features, found, 0}; }
};

// Returns the same model with this calibration. REQUIRES: it has one part, with planes.
ModelPtr with_recall(const ModelPtr& model, RecallArrays arrays);

// Whether the numbers of a table are possible; other contents can only change how many rows a search reads.
bool is_possible(const RecallTable& table);

}  // namespace glove
