// Sums over rows on a CUDA device: allocates scratch memory, runs the launches of gpu/kernels/moments.h, and
// reads the sums.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "analysis/moments.h"
#include "base/cancel.h"
#include "base/status.h"
#include "gpu/device/cuda_memory.h"
#include "gpu/kernels/moments.h"
#include "gpu/layout/device_part.h"

namespace glove::gpu {

// Device::column_sums, Device::gram_product and Device::second_moment. Used by one thread at a time. Keeps
// its memory for the next call.
class CudaMoments {
 public:
  CudaMoments() = default;
  // For tests: decides whether tensor cores are used.
  explicit CudaMoments(bool tensor_cores) : tensor_cores_(tensor_cores) {}

  Status create() { return stream_.create(); }

  Status column_sums(const DevicePart& part, std::span<const double> weights, std::span<double> sums,
                     const InterruptCheck& interrupted);
  Status gram_product(const DevicePart& part, std::span<const float> vector, std::span<double> product,
                      const InterruptCheck& interrupted);
  Status second_moment(const DevicePart& part, const MomentRows& rows, std::span<double> moment,
                       const InterruptCheck& interrupted);

 private:
  // Enqueues the sums of `blocks` blocks of rows.
  using Launch = std::function<cudaError_t(const MomentParams& params, int32_t blocks)>;

  // Sums over all blocks, group by group.
  //   total  [size]
  Status sum_blocks(const DevicePart& part, std::span<const double> weights, std::span<double> total,
                    const InterruptCheck& interrupted, const Launch& launch);
  template <class T>
  Status upload(DeviceArray<T>& to, std::span<const T> from);
  // Finds out whether the device's tensor cores add products of doubles in the order of the definition.
  Status check_products();

  std::optional<bool> tensor_cores_;  // whether they may be used, once that is known
  Stream stream_;
  DeviceArray<double> weights_, sums_, total_;
  DeviceArray<float> vector_;
  DeviceArray<GramTile> tiles_;
  DeviceArray<GramGroup> groups_;
  DeviceArray<uint32_t> differences_;
};

}  // namespace glove::gpu
