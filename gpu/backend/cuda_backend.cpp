#include "gpu/backend/cuda_backend.h"

#include <utility>

#include "gpu/backend/cuda_device.h"
#include "gpu/backend/device_backend.h"
#include "search/settings.h"

namespace glove {

std::unique_ptr<Backend> make_cuda_backend(Settings& settings, Log& log, Backend* host) {
  gpu::DeviceBackendOptions options;
  options.devices.count = gpu::count_cuda_devices;
  options.devices.open = gpu::open_cuda_device;
  options.devices.chosen = [&settings] { return settings.devices(); };
  options.devices.memory_limit = [&settings] { return settings.gpu_memory(); };
  options.host = host;
  options.log = &log;
  return gpu::make_device_backend(std::move(options));
}

}  // namespace glove
