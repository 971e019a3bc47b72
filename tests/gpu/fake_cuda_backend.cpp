// In place of gpu/backend/cuda_backend.cpp: an extension whose backend "cuda" is on one fake device, so that
// tests of SQL can take the ways of a device on any machine. $GLOVE_FAKE_DEVICE_SEARCHES says after how many
// searches it is lost.
#include "gpu/backend/cuda_backend.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include "gpu/backend/device_backend.h"
#include "search/settings.h"
#include "tests/gpu/fake_device.h"

namespace glove {

std::unique_ptr<Backend> make_cuda_backend(Settings& settings, Log& log, Backend* host) {
  static auto* const knobs = new testing::FakeDevice::Knobs;  // never freed, like the engine
  if (const char* const searches = std::getenv("GLOVE_FAKE_DEVICE_SEARCHES"))
    knobs->searches_left = std::atoi(searches);
  gpu::DeviceBackendOptions options;
  options.devices.count = []() -> Result<int> { return 1; };
  options.devices.open = [](int) -> Result<std::unique_ptr<gpu::Device>> {
    return std::unique_ptr<gpu::Device>(std::make_unique<testing::FakeDevice>(*knobs));
  };
  options.devices.chosen = [&settings] { return settings.devices(); };
  options.devices.memory_limit = [&settings] { return settings.gpu_memory(); };
  options.host = host;
  options.log = &log;
  return gpu::make_device_backend(std::move(options));
}

}  // namespace glove
