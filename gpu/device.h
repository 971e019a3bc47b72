// What the backend needs of a GPU. CudaDevice (gpu/cuda_device.h) is the real one; tests have one
// made of host memory, so that everything on this side of the interface is tested without a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "gpu/device_part.h"
#include "gpu/query_codes.h"
#include "search/searcher.h"

namespace glove::gpu {

struct DeviceInfo {
  std::string name;          // "NVIDIA H200"
  int compute_capability{};  // 90 = 9.0
  int multiprocessors{};
  int64_t total_bytes{};
};

class Device;

// Device memory that frees itself. Move-only. The device outlives it.
class DeviceBlock {
 public:
  DeviceBlock() = default;
  DeviceBlock(Device* device, std::byte* data, int64_t bytes) : device_(device), data_(data), bytes_(bytes) {}
  DeviceBlock(DeviceBlock&& other) noexcept { swap(other); }
  DeviceBlock& operator=(DeviceBlock&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBlock();

  std::byte* data() const { return data_; }  // a device address
  int64_t bytes() const { return bytes_; }

 private:
  void swap(DeviceBlock& other) {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  Device* device_ = nullptr;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

// Staging memory in blocks of one size, and the stream that copies them to the device. slots() and block()
// may be called from any thread, and any thread may fill a block that no copy reads; copy() and wait() from
// one thread at a time.
class CopyRing {
 public:
  virtual ~CopyRing() = default;

  virtual int slots() const = 0;  // 2 or more
  virtual std::span<std::byte> block(int slot) = 0;

  // Starts copying the first `bytes` of a block. Copies run one after the other. If it fails, nothing of the
  // block is on its way.
  virtual Status copy(int slot, std::byte* device_address, int64_t bytes) = 0;

  // Waits until the block's last copy is done, if there was one.
  virtual Status wait(int slot) = 0;
};

// Every member may be called from any thread. A function that fails with kUnavailable means that the
// device is lost: nothing will work on it again.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  virtual Result<int64_t> free_bytes() = 0;

  // kOutOfMemory if the device has not that much.
  virtual Result<DeviceBlock> allocate(int64_t bytes) = 0;
  virtual void deallocate(std::byte* data) = 0;

  // A ring, from now until it is given back. Rings are made once and reused.
  virtual Result<std::unique_ptr<CopyRing>> take_ring() = 0;
  virtual void give_back_ring(std::unique_ptr<CopyRing> ring) = 0;

  // Puts into each request's rows, in any order, a certain superset of the part's best `top_rows` rows that
  // are not zero, ties by id included. Excluded words are not looked at, so top_rows is k and as many more as
  // a request excludes. Ids count from the part's first row. Similarities are exact if part.vectors is there,
  // else left out; a zero row or a damaged file's NaN has kNoSimilarity or NaN.
  // Charges the requests for scan, select and rescore times and candidates. `interrupted` is that of all
  // requests.
  virtual Status propose(const DevicePart& part, std::span<SearchRequest> requests, int64_t top_rows,
                         const InterruptCheck& interrupted) = 0;

  // Searcher::score_all for one part. REQUIRES: part.vectors.
  virtual Status score_all(const DevicePart& part, const Query& query, std::span<double> dots,
                           const InterruptCheck& interrupted, ScanCost& cost) = 0;
};

inline DeviceBlock::~DeviceBlock() {
  if (data_ != nullptr) device_->deallocate(data_);
}

}  // namespace glove::gpu
