// Models of several parts for tests, and models compared part by part.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "model/model.h"

namespace glove::testing {

// The same rows and words in parts that begin at row 0 and at each of `first_rows` (rising multiples of
// kTileRows), which share the arrays of `model`. REQUIRES: `model` has one part.
ModelPtr split_model(const ModelPtr& model, const std::vector<int64_t>& first_rows);

// Up to five parts whose sizes are odd multiples of kTileRows, the last one anything.
ModelPtr randomly_split(const ModelPtr& model, std::mt19937_64& random);

// The rows in parts of any sizes, each with arrays of its own. `rows` adds up to model.words().
ModelPtr rebuilt_in_parts(const Model& model, const std::vector<int64_t>& rows);

// Fails the test unless both have the same parts, bit for bit.
void expect_same_parts(const Model& got, const Model& wanted);

}  // namespace glove::testing
