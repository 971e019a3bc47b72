// The CUDA backend. A model stays in the GPU's memory from its first query on, and an exact answer costs one
// certified scan of the int8 codes there.
#pragma once

#include <memory>

#include "search/backend.h"

namespace glove {

class Analysis;
class Settings;

// Returns the backend "cuda" on the first device that the driver reports (CUDA_VISIBLE_DEVICES selects it).
// Never returns null and never takes long: the driver is initialised at the first use, and available() says
// what is missing. Obeys the setting "gpu_memory". `host` is as for
// make_device_backend(). The settings must outlive the backend.
std::unique_ptr<Backend> make_cuda_backend(Settings& settings, Analysis* host = nullptr);

}  // namespace glove
