// A Backend on top of Devices: decides when a model is uploaded, to which devices, by which thread and how
// much of it, and handles failures. Contains everything that can be tested without a GPU.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/residency/device_set.h"
#include "gpu/search/spread_plan.h"
#include "search/backend.h"

namespace glove {
class Log;
}  // namespace glove

namespace glove::gpu {

struct DeviceBackendOptions {
  DeviceAccess devices;

  // Answers for the rows of a device that fails while others work, and does what the devices do not compute
  // for the toolbox. Must outlive the backend. With nullptr, a failure of one device is one of the search,
  // and Backend::analysis() returns nullptr.
  Backend* host = nullptr;

  // Receives a line for every device that cannot be used or fails. Must outlive the backend; may be null.
  Log* log = nullptr;

  // As kLeastSliceBytes. For tests.
  int64_t least_slice_bytes = kLeastSliceBytes;
};

// Returns the backend "cuda". Never returns null.
std::unique_ptr<Backend> make_device_backend(DeviceBackendOptions options);

}  // namespace glove::gpu
