// Implements the Device interface with the CUDA runtime.
#pragma once

#include <memory>

#include "base/status.h"
#include "gpu/device.h"

namespace glove::gpu {

// Opens the first device that the driver reports. kUnavailable says what is missing: the driver, a driver
// that is new enough, a device, or machine code for its architecture.
Result<std::unique_ptr<Device>> open_cuda_device();

}  // namespace glove::gpu
