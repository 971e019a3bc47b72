// The CUDA backend. A model stays in the GPU's memory from its first query on, and an exact answer costs one
// certified scan of the int8 codes there.
#pragma once

#include <memory>

#include "search/backend.h"

namespace glove {

class Log;
class Settings;

// Returns the backend "cuda" on the devices that the driver reports (CUDA_VISIBLE_DEVICES selects them).
// Never returns null and never takes long: the driver is initialised at the first use, and available() says
// what is missing. Obeys the settings "devices" and "gpu_memory". `host` is as in
// gpu::DeviceBackendOptions. All arguments must outlive the backend.
std::unique_ptr<Backend> make_cuda_backend(Settings& settings, Log& log, Backend* host = nullptr);

}  // namespace glove
