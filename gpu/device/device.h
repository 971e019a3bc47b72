// The operations that the backend needs from a GPU. CudaDevice (gpu/backend/cuda_device.cpp) implements them
// with CUDA. Tests use an implementation in host memory, so that everything above this interface is tested
// without a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "analysis/clusters.h"
#include "analysis/kmeans_pass.h"
#include "base/status.h"
#include "gpu/layout/device_part.h"
#include "gpu/layout/plan.h"
#include "gpu/layout/query_codes.h"
#include "search/searcher.h"

namespace glove::gpu {

// What a device reports about itself.
struct DeviceInfo {
  std::string name;          // "NVIDIA H200"
  int compute_capability{};  // 90 = 9.0
  int multiprocessors{};
  int64_t total_bytes{};
  int64_t coarse_from = kCoarseFrom;  // as in coarse_worthwhile
};

class Device;

// Owns device memory and frees it. Move-only. The device must outlive it.
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

// Staging memory in blocks of equal size, and the stream that copies them to the device. slots() and block()
// may be called from any thread, and any thread may fill a block that is not being copied. copy() and wait()
// may be called by one thread at a time.
class CopyRing {
 public:
  virtual ~CopyRing() = default;

  virtual int slots() const = 0;  // 2 or more
  virtual std::span<std::byte> block(int slot) = 0;

  // Starts copying the first `bytes` bytes of a block. Copies run one after another. If it fails, no part of
  // the block is being copied.
  virtual Status copy(int slot, std::byte* device_address, int64_t bytes) = 0;

  // Waits until the block's last copy has finished, if there was one.
  virtual Status wait(int slot) = 0;

  // Waits until no copy is in progress, and returns the first error.
  Status wait_for_all() {
    Status first;
    for (int slot = 0; slot < slots(); ++slot) {
      Status waited = wait(slot);
      if (first.ok()) first = std::move(waited);
    }
    return first;
  }
};

// Returns the similarity of a kernel's answer, where kNoSimilarity means that there is none.
inline double score_from_device(double similarity) {
  return similarity == kNoSimilarity ? kNoScore : similarity;
}

// Every member may be called from any thread. kUnavailable means that the device is lost and that every later
// call will fail.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  virtual Result<int64_t> free_bytes() = 0;

  // Returns kOutOfMemory if the device does not have that much memory left.
  virtual Result<DeviceBlock> allocate(int64_t bytes) = 0;
  virtual void deallocate(std::byte* data) = 0;

  // Lends a ring until its last holder drops it, when no copy may be in progress. Rings are created once and
  // reused.
  virtual Result<std::shared_ptr<CopyRing>> take_ring() = 0;

  // Fills each request's rows, in any order, with a superset of the best `top_rows` nonzero rows of part.mask
  // in the relation's order, and with no row that is not in the mask. Excluded words are not filtered out, so
  // top_rows must be k plus the number of words that a request excludes. Ids count from the part's first row.
  // Similarities are exact if part.vectors is set; a zero row has kNoScore, and a row with NaN from a
  // damaged file may have NaN. Otherwise they are upper bounds, or kNoScore where the device does not
  // return any. Adds the scan, select and rescore times and the candidates to the requests' costs.
  // `interrupted` speaks for all requests.
  virtual Status propose(const DevicePart& part, std::span<SearchRequest> requests, int64_t top_rows,
                         const InterruptCheck& interrupted) = 0;

  // Writes part.level as packed rows to device memory.
  //   rows  [tile_count(part.rows) * kTileRows, packed_row_bytes(part.dims)]
  virtual Status pack_rows(const DevicePart& part, std::byte* rows) = 0;

  // Searcher::score_all for one part. REQUIRES: part.vectors.
  virtual Status score_all(const DevicePart& part, const Query& query, std::span<double> dots,
                           const InterruptCheck& interrupted, ScanCost& cost) = 0;

  // Prepares a k-means fit of `count` clusters on the rows of a part, which may be the first rows of a larger
  // one. The part must stay on the device as long as the pass lives.
  //   format  the metric and the fixed point of the sums
  // REQUIRES: part.vectors; part.dims <= kMaxBatchDims; 1 <= count <= 65536.
  virtual Result<std::unique_ptr<KMeansPass>> kmeans_pass(const DevicePart& part, const FixedSums& format,
                                                          int64_t count) = 0;
};

inline DeviceBlock::~DeviceBlock() {
  if (data_ != nullptr) device_->deallocate(data_);
}

}  // namespace glove::gpu
