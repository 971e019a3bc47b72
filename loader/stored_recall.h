// Reads the calibration for approximate searches that a model file has (docs/format.md, "Recall").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lists/recall_table.h"
#include "loader/safetensors.h"
#include "model/model_part.h"

namespace glove {

// What planes.recall refers to.
struct StoredRecall {
  RecallArrays arrays;  // copies, because they are checked
  RecallTable table;    // a view of the copies
};

// What a file has of a query: its features and its group, and what was found after each step.
constexpr int64_t kStoredRecallNumbers = kRecallColumns + kRecallSteps;

// Returns them for all queries, [kRecallKs, queries, kStoredRecallNumbers].
std::vector<int16_t> stored_queries(const RecallTable& recall);

// Sets planes.recall to `stored`, which outlives it, if the file has a calibration. One that is damaged is
// marked so, and is no error, because exact searches do without. `bytes` are those of the whole file.
// REQUIRES: the float environment; planes.centroids have `dims` dimensions and are finite.
void take_recall(const SafetensorsHeader& header, std::span<const char> bytes, int64_t dims,
                 PlaneLevel& planes, StoredRecall& stored);

}  // namespace glove
