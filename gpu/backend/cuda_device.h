// Implements the Device interface with the CUDA runtime.
#pragma once

#include <memory>

#include "base/status.h"
#include "gpu/device/device.h"

namespace glove::gpu {

// Returns the number of devices that the driver reports, at least 1. kUnavailable says what is missing: the
// driver, a driver that is new enough, or a device.
Result<int> count_cuda_devices();

// Opens a device, 0 <= number < count_cuda_devices(). kUnavailable says what it lacks, such as machine code
// for its architecture.
Result<std::unique_ptr<Device>> open_cuda_device(int number);

}  // namespace glove::gpu
