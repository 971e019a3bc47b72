// Owners of streams, events and memory of the CUDA runtime. Memory grows and never shrinks. Neither copyable
// nor movable. REQUIRES: the caller has made the device current.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "gpu/device/cuda_error.h"

namespace glove::gpu {

// A stream that does not synchronise with the default stream.
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
  }
  Status create() {
    return cuda_status(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// An event, for ordering streams and for timing.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() {
    if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
  }
  Status create(unsigned flags) {
    return cuda_status(cudaEventCreateWithFlags(&event_, flags), "making an event");
  }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// Device memory.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { static_cast<void>(cudaFree(data_)); }

  // Ensures a capacity of at least `bytes`. The content is lost when the memory grows.
  Status reserve(int64_t bytes) {
    if (bytes <= bytes_) return {};
    static_cast<void>(cudaFree(data_));
    data_ = nullptr;
    bytes_ = 0;
    GLOVE_RETURN_IF_ERROR(
        cuda_status(cudaMalloc(&data_, static_cast<size_t>(bytes)), "allocating scratch memory"));
    bytes_ = bytes;
    return {};
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  template <class T>
  T* as(int64_t offset = 0) const {
    return reinterpret_cast<T*>(data() + offset);
  }

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

// Pinned host memory: copies read it at full speed, and kernels see it at the same address.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() { static_cast<void>(cudaFreeHost(data_)); }

  Status reserve(int64_t bytes) {
    if (bytes <= bytes_) return {};
    static_cast<void>(cudaFreeHost(data_));
    data_ = nullptr;
    bytes_ = 0;
    GLOVE_RETURN_IF_ERROR(cuda_status(
        cudaHostAlloc(&data_, static_cast<size_t>(bytes), cudaHostAllocMapped | cudaHostAllocPortable),
        "allocating pinned memory"));
    bytes_ = bytes;
    return {};
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  template <class T>
  T* as(int64_t offset = 0) const {
    return reinterpret_cast<T*>(data() + offset);
  }

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace glove::gpu
