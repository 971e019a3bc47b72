// CUDA's error codes as values.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "base/status.h"

namespace glove::gpu {

// Returns what failed, as kOutOfMemory or, for every other error, kUnavailable: most other errors destroy the
// context. Clears the thread's last error, so that the host application does not see it.
inline Error cuda_failure(cudaError_t error, const char* what) {
  static_cast<void>(cudaGetLastError());
  const ErrorCode code =
      error == cudaErrorMemoryAllocation ? ErrorCode::kOutOfMemory : ErrorCode::kUnavailable;
  return Error{code, std::string("CUDA: ") + what + ": " + cudaGetErrorString(error)};
}

// Success, or cuda_failure(error, what).
inline Status cuda_status(cudaError_t error, const char* what) {
  return error == cudaSuccess ? Status() : Status(cuda_failure(error, what));
}

// Makes a device current for the calling thread and restores the host application's choice on destruction.
class ScopedDevice {
 public:
  explicit ScopedDevice(int device) {
    if (cudaGetDevice(&previous_) != cudaSuccess) previous_ = -1;  // as after another device was lost
    if (previous_ != device) static_cast<void>(cudaSetDevice(device));
    changed_ = previous_ >= 0 && previous_ != device;
  }
  ~ScopedDevice() {
    if (changed_) static_cast<void>(cudaSetDevice(previous_));
  }
  ScopedDevice(const ScopedDevice&) = delete;
  ScopedDevice& operator=(const ScopedDevice&) = delete;

 private:
  int previous_ = 0;
  bool changed_ = false;
};

}  // namespace glove::gpu
