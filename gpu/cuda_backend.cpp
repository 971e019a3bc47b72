#include "gpu/cuda_backend.h"

#include <cstdlib>

#include "gpu/cuda_device.h"
#include "gpu/device_backend.h"
#include "search/settings.h"

namespace glove {
namespace {

// The setting is a plain number of bytes once it is stored.
Result<int64_t> limit_from_settings() {
  GLOVE_ASSIGN_OR_RETURN(const std::string text, get_setting("gpu_memory"));
  return std::strtoll(text.c_str(), nullptr, 10);
}

}  // namespace

std::unique_ptr<Backend> make_cuda_backend() {
  return gpu::make_device_backend(gpu::open_cuda_device, limit_from_settings);
}

}  // namespace glove
