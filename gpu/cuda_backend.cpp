#include "gpu/cuda_backend.h"

#include "gpu/cuda_device.h"
#include "gpu/device_backend.h"
#include "search/settings.h"

namespace glove {
std::unique_ptr<Backend> make_cuda_backend(Settings& settings, Analysis* host) {
  return gpu::make_device_backend(
      gpu::open_cuda_device, [&settings] { return settings.gpu_memory(); }, host);
}

}  // namespace glove
