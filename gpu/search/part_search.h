// Searches all parts of a model on a device: one launch per part, with the parts' answers merged into one.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/device/device.h"

namespace glove::gpu {

// Device::propose for a whole model: candidates for the best `top_rows` rows of all parts, with the model's
// row ids. Each part's candidates contain the part's best rows, so together they contain the model's best
// rows.
Status propose_in_parts(Device& device, std::span<const DevicePart> parts, std::span<SearchRequest> requests,
                        int64_t top_rows, const InterruptCheck& interrupted);

// Device::score_all for a whole model. dots: one per row of all parts. REQUIRES: every part has its vectors.
Status score_all_parts(Device& device, std::span<const DevicePart> parts, const Query& query,
                       std::span<double> dots, const InterruptCheck& interrupted, ScanCost& cost);

}  // namespace glove::gpu
