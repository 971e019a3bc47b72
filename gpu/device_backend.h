// A Backend on a Device: when a model is uploaded, by whom, how much of it, and what happens when that
// fails. Everything that a GPU is not needed for.
#pragma once

#include <functional>
#include <memory>

#include "base/status.h"
#include "gpu/device.h"
#include "search/backend.h"

namespace glove::gpu {

// Opens the device; called once, at the first use.
using DeviceFactory = std::function<Result<std::unique_ptr<Device>>()>;

// The bytes that the backend may take of the device, 0 = what is free. Asked before every upload.
using MemoryLimit = std::function<Result<int64_t>()>;

// The backend "cuda". Never null.
std::unique_ptr<Backend> make_device_backend(DeviceFactory open_device, MemoryLimit memory_limit);

}  // namespace glove::gpu
