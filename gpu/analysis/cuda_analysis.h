// The toolbox on a CUDA device: allocates memory, runs the launches of gpu/kernels/kmeans.h, and reads what
// they report.
#pragma once

#include <cstdint>
#include <memory>

#include "analysis/clusters.h"
#include "analysis/kmeans_pass.h"
#include "base/status.h"
#include "gpu/kernels/device_shape.h"
#include "gpu/layout/device_part.h"

namespace glove::gpu {

// Device::kmeans_pass of device number `device`. The part must stay on the device as long as the pass lives.
// Returns kOutOfMemory if the device has no room for the pass or a centroid does not fit in shared memory.
Result<std::unique_ptr<KMeansPass>> make_cuda_pass(int device, const DevicePart& part,
                                                   const FixedSums& format, int64_t count,
                                                   const DeviceShape& shape);

}  // namespace glove::gpu
