// A fake device in host memory. It searches with the same codes, bounds and bins as the kernels, in plain
// loops, and reads only what was uploaded.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "gpu/device/device.h"

namespace glove::testing {

class FakeDevice : public gpu::Device {
 public:
  // Set and read by the test. Shared with the test, because the backend owns the device.
  struct Knobs {
    std::atomic<int64_t> total_bytes{int64_t{1} << 40};
    std::atomic<int64_t> allocated{0};       // bytes
    std::atomic<int> allocations{0};         // so far: one per model, and one more for its vectors
    std::atomic<int> fail_copies_after{-1};  // the number of copies that succeed; -1 = all
    std::atomic<bool> lost{false};
    std::atomic<bool> absent{false};     // cannot be opened
    std::atomic<int> searches_left{-1};  // until the device is lost; -1 = all
    std::atomic<int64_t> searches{0};
    std::atomic<int64_t> coarse_searches{0};  // those of `searches` that read 4-bit codes
    std::atomic<int64_t> copies{0};
    std::atomic<int64_t> passes{0};  // of k-means
    std::atomic<bool> ring_missing{false};
    std::atomic<bool> hold_deallocations{false};  // those that begin wait until it is false
    std::atomic<int> deallocations{0};            // that have begun
  };

  explicit FakeDevice(Knobs& knobs) : knobs_(knobs) {}

  const gpu::DeviceInfo& info() const override { return info_; }
  Result<int64_t> free_bytes() override { return knobs_.total_bytes - knobs_.allocated; }
  Result<gpu::DeviceBlock> allocate(int64_t bytes) override;
  void deallocate(std::byte* data) override;
  Result<std::shared_ptr<gpu::CopyRing>> take_ring() override;
  Status propose(const gpu::DevicePart& part, std::span<SearchRequest> requests, int64_t top_rows,
                 const InterruptCheck& interrupted) override;
  Status pack_rows(const gpu::DevicePart& part, std::byte* rows) override;
  Status score_all(const gpu::DevicePart& part, const Query& query, std::span<double> dots,
                   const InterruptCheck& interrupted, ScanCost& cost) override;
  Result<std::unique_ptr<KMeansPass>> kmeans_pass(const gpu::DevicePart& part, const FixedSums& format,
                                                  int64_t count) override;

 private:
  Knobs& knobs_;
  const gpu::DeviceInfo info_{"fake device", 90, 4, int64_t{1} << 40, 0};
  std::mutex mutex_;
  std::map<std::byte*, std::vector<std::byte>> blocks_;
};

}  // namespace glove::testing
