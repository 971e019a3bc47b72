// A GPU behind the Device interface, through the CUDA runtime.
#pragma once

#include <memory>

#include "base/status.h"
#include "gpu/device.h"

namespace glove::gpu {

// The first device that the driver shows. kUnavailable says what is missing: the driver, one that is new
// enough, a device, or code for its architecture.
Result<std::unique_ptr<Device>> open_cuda_device();

}  // namespace glove::gpu
