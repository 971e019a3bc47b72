// Consecutive rows of a model as a model of their own, for a device that holds only these.
#pragma once

#include <cstdint>

#include "gpu/layout/query_codes.h"
#include "model/model.h"

namespace glove::gpu {

// Returns how a device is to take the codes of a model. They lie in the model's coding, and around what is
// usual for its rows. REQUIRES: model.is_shifted().
DeviceCoding device_coding(const Model& model);

// Returns the first row of the tile that contains a row, or words() for words(). REQUIRES: 0 <= row <=
// words().
int64_t tile_start(const Model& model, int64_t row);

// Returns rows [first, last) as a model without words and lists, whose rows keep their ids. It shares the
// memory of `model` and keeps it alive. REQUIRES: first < last, and both are their own tile_start().
ModelPtr slice_of(const ModelPtr& model, int64_t first, int64_t last);

}  // namespace glove::gpu
