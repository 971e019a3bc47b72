// A Backend on top of a Device: decides when a model is uploaded, by which thread and how much of it, and
// handles failures. Contains everything that can be tested without a GPU.
#pragma once

#include <functional>
#include <memory>

#include "base/status.h"
#include "gpu/device.h"
#include "search/backend.h"

namespace glove::gpu {

// Opens the device; called once, at the first use.
using DeviceFactory = std::function<Result<std::unique_ptr<Device>>()>;

// Returns the bytes that the backend may use on the device; 0 means all that is free. Called before every
// upload.
using MemoryLimit = std::function<Result<int64_t>()>;

// Returns the backend "cuda". Never returns null. `host` does what the device does not compute for the
// toolbox, and must outlive the backend; with nullptr, Backend::analysis() returns nullptr.
std::unique_ptr<Backend> make_device_backend(DeviceFactory open_device, MemoryLimit memory_limit,
                                             Analysis* host = nullptr);

}  // namespace glove::gpu
