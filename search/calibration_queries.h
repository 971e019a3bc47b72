// The queries of a calibration, which are made of rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lists/recall_table.h"
#include "search/query.h"
#include "search/recall_calibration.h"

namespace glove {

// Returns what most of the rows' directions share: about the first principal directions of some of them,
// which the encoders of texts remove. At right angles to each other.
std::vector<std::vector<double>> common_directions(const CalibrationRows& all, std::span<const int32_t> rows);

// Of eight queries two are rows, one is a sum of two to five rows, two are such sums with differences, one is
// a row with noise, from little to nothing else, and two are weighted sums of many rows, as the vectors of
// texts are, of which one lacks the common directions. Only one of the two rows is omitted from the answer,
// as words are. Nothing else is, because an answer that may have what a query is made of is the harder one to
// find. `rows`: those with a direction; `common`: common_directions() of them. Returns nothing for a query
// without a direction. The same on every machine.
MaybeQuery draw_calibration_query(const CalibrationRows& all, std::span<const int32_t> rows,
                                  std::span<const std::vector<double>> common, int64_t number);

// Returns the group of the query with a number.
RecallGroup calibration_group(int64_t number);

}  // namespace glove
