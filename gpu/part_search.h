// A search on a device over all parts of a model: one launch per part, and the parts' answers as one.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/device.h"

namespace glove::gpu {

// Device::propose for a model: candidates for the best `top_rows` rows of all parts, with the model's row
// ids. A part's candidates are certain for the part, and so those of all parts for the model.
Status propose_in_parts(Device& device, std::span<const DevicePart> parts, std::span<SearchRequest> requests,
                        int64_t top_rows, const InterruptCheck& interrupted);

// Device::score_all for a model. dots: one for each row of all parts. REQUIRES: each part has its vectors.
Status score_all_parts(Device& device, std::span<const DevicePart> parts, const Query& query,
                       std::span<double> dots, const InterruptCheck& interrupted, ScanCost& cost);

}  // namespace glove::gpu
