// What the launches of all kernels depend on. Host code may include this header.
#pragma once

#include <cuda_runtime_api.h>

namespace glove::gpu {

struct DeviceShape {
  int multiprocessors = 0;
  int shared_limit = 0;  // bytes of shared memory that a block may have
  bool wgmma = false;    // wgmma_available()
};

// Reads the shape of device number `device`, the current one, and prepares it for launches. Called once per
// device.
cudaError_t device_shape(int device, DeviceShape* shape);

}  // namespace glove::gpu
