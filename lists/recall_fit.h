// Makes a table of the queries of a calibration (lists/recall_table.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lists/recall_table.h"

namespace glove {

// The nearest rows of a query and class that a trial has margins of.
constexpr int64_t kRecallMarginRows = 10;

// What one query is like, and when a search for it finds its nearest rows.
struct RecallTrial {
  std::array<RecallMeasurements, kRecallKs.size()> measured{};
  std::array<bool, kRecallKs.size()> is_measured{};
  // For each of the nearest rows, best first, the rows of the lists before its own.
  std::vector<int64_t> rows_before;
  // For kRecallMarginRows of the k nearest rows of each class, or of so many, the margin that they need.
  std::vector<float> margins;
  RecallGroup group = kOneRow;
};

// Fills a class of the arrays, which have their size, from the trials. A trial that was not measured repeats
// one that was. If fewer than half were measured, the reach is below every distance, so that every search of
// the class is exact. REQUIRES: the float environment.
void fit_recall(std::span<const RecallTrial> trials, size_t which, RecallArrays& arrays);

}  // namespace glove
