// The queries of a calibration, which are made of rows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lists/recall_table.h"

namespace glove {

// The rows of a calibration that have a direction. `read` leaves one, of any length, in [dims] numbers.
struct RowDirections {
  std::span<const int32_t> rows;
  int64_t dims;
  std::function<void(int64_t row, float* vector)> read;
};

// A query that is made of rows.
struct DrawnQuery {
  std::vector<float> vector;
  std::vector<int32_t> omitted;  // from the answer
  RecallGroup group;
};

// Returns what most of the rows' directions share: about the first principal directions of some of them,
// which the encoders of texts remove. At right angles to each other.
std::vector<std::vector<double>> common_directions(const RowDirections& all);

// Of eight queries two are rows, one is a sum of two to five rows, two are such sums with differences, one is
// a row with noise, from little to nothing else, and two are weighted sums of many rows, as the vectors of
// texts are, of which one lacks the common directions. Only one of the two rows is omitted from the answer,
// as words are. Nothing else is, because an answer that may have what a query is made of is the harder one to
// find. `common`: common_directions() of the rows. The same on every machine.
DrawnQuery draw_query(const RowDirections& all, std::span<const std::vector<double>> common, int64_t number);

}  // namespace glove
