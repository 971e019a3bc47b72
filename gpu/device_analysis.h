// The toolbox on a device: k-means and sums over the rows of a model run there, and everything else on the
// host.
#pragma once

#include <memory>

#include "analysis/analysis.h"
#include "gpu/resident_searchers.h"
#include "gpu/shared_device.h"

namespace glove::gpu {

// More clusters than this are left to the host.
constexpr int64_t kMostPassClusters = 65536;

// Returns the analyses of a backend. A k-means fit uses the model that is resident if there is one, and
// otherwise uploads its rows; it fails if they do not fit on the device with their vectors. Sums over rows are
// computed on the device if the model is resident there with its vectors, to which hold_rows() sees if more
// than half of its rows are meant. `searchers` and `host`, which does the rest, must outlive the result.
std::unique_ptr<Analysis> make_device_analysis(std::shared_ptr<SharedDevice> device,
                                               ResidentSearchers& searchers, Analysis& host);

}  // namespace glove::gpu
