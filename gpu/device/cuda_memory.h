// Owners of streams, events and memory of the CUDA runtime. Memory grows and never shrinks. Neither copyable
// nor movable. REQUIRES: the caller has made the device current.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "base/status.h"
#include "base/timer.h"
#include "gpu/device/cuda_error.h"

namespace glove::gpu {

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

// A stream that does not synchronise with the default stream. In all members, `what` is what failed, for the
// error.
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

  // Enqueue a copy of `count` elements between host and device, or set each byte of so many on the device.
  template <class T>
  Status upload(T* to, const T* from, int64_t count, const char* what = "copying to the device") const {
    return cuda_status(cudaMemcpyAsync(to, from, bytes_of<T>(count), cudaMemcpyHostToDevice, stream_), what);
  }
  template <class T>
  Status download(T* to, const T* from, int64_t count, const char* what) const {
    return cuda_status(cudaMemcpyAsync(to, from, bytes_of<T>(count), cudaMemcpyDeviceToHost, stream_), what);
  }
  template <class T>
  Status fill(T* to, int byte, int64_t count, const char* what) const {
    return cuda_status(cudaMemsetAsync(to, byte, bytes_of<T>(count), stream_), what);
  }
  Status record(const Event& event, const char* what = "timing") const {
    return cuda_status(cudaEventRecord(event.get(), stream_), what);
  }

  // Waits until everything that was enqueued has finished.
  Status wait(const char* what) const { return cuda_status(cudaStreamSynchronize(stream_), what); }

  // The same by polling, so that an interrupt is noticed in long work; it takes effect when all has finished.
  // Sleeps between polls after a while.
  Status poll(const char* what, const InterruptCheck& interrupted = {}) const {
    constexpr double kUsBeforeInterrupts = 5000;  // most work has finished by then
    constexpr double kUsOfSpinning = 20000;
    const Timer timer;
    InterruptPoll interrupt(interrupted);
    while (true) {
      const cudaError_t state = cudaStreamQuery(stream_);
      if (state == cudaSuccess) return interrupt.stopped() ? Status(interrupted_error()) : Status();
      if (state != cudaErrorNotReady) return cuda_failure(state, what);
      const double waited_us = timer.microseconds();
      if (waited_us > kUsBeforeInterrupts) static_cast<void>(interrupt.stop());
      if (waited_us > kUsOfSpinning) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

 private:
  template <class T>
  static size_t bytes_of(int64_t count) {
    return static_cast<size_t>(count) * sizeof(T);
  }

  cudaStream_t stream_ = nullptr;
};

// An array in device memory or in pinned host memory, which copies read at full speed and which kernels see
// at the same address.
template <class T, bool kPinned>
class CudaArray {
 public:
  CudaArray() = default;
  CudaArray(const CudaArray&) = delete;
  CudaArray& operator=(const CudaArray&) = delete;
  ~CudaArray() { release(); }

  // Ensures room for at least `count` elements. The content is lost when the memory grows.
  Status reserve(int64_t count) {
    if (count <= capacity_) return {};
    release();
    void* data = nullptr;
    const size_t bytes = static_cast<size_t>(count) * sizeof(T);
    if constexpr (kPinned)
      GLOVE_RETURN_IF_ERROR(
          cuda_status(cudaHostAlloc(&data, bytes, cudaHostAllocMapped | cudaHostAllocPortable),
                      "allocating pinned memory"));
    else
      GLOVE_RETURN_IF_ERROR(cuda_status(cudaMalloc(&data, bytes), "allocating scratch memory"));
    data_ = static_cast<T*>(data);
    capacity_ = count;
    return {};
  }
  T* data() const { return data_; }
  int64_t capacity() const { return capacity_; }  // elements

 private:
  void release() {
    static_cast<void>(kPinned ? cudaFreeHost(data_) : cudaFree(data_));
    data_ = nullptr;
    capacity_ = 0;
  }

  T* data_ = nullptr;
  int64_t capacity_ = 0;
};

// Device memory, which the host cannot read.
template <class T>
using DeviceArray = CudaArray<T, false>;

// Pinned host memory.
template <class T>
using PinnedArray = CudaArray<T, true>;

}  // namespace glove::gpu
