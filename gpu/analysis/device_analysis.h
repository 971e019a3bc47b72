// The toolbox on a device: k-means runs there, and everything else on the host.
#pragma once

#include <memory>

#include "analysis/analysis.h"
#include "gpu/residency/device_set.h"
#include "gpu/search/placement.h"

namespace glove::gpu {

// More clusters than this are left to the host.
constexpr int64_t kMostPassClusters = 65536;

// Returns the analyses of a backend. Each runs on one device. A k-means fit uses the model that is resident
// on a device if there is one, and otherwise uploads its rows to the first device; it fails if they do not
// fit there with their vectors. `devices`, `placement` and `host`, which does the rest, must outlive the
// result.
std::unique_ptr<Analysis> make_device_analysis(DeviceSet& devices, Placement& placement, Analysis& host);

}  // namespace glove::gpu
