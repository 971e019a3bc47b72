// The CUDA backend: a model lives in a GPU's memory from its first query on, and an exact
// answer costs one certified scan of its int8 codes there.
#pragma once

#include <memory>

#include "search/backend.h"

namespace glove {

class Settings;

// The backend "cuda" on the first device that the driver shows (CUDA_VISIBLE_DEVICES chooses).
// Never null and never slow: the driver is asked at the first use, and available() says what
// is missing. Obeys the setting "gpu_memory"; the settings outlive the backend.
std::unique_ptr<Backend> make_cuda_backend(Settings& settings);

}  // namespace glove
