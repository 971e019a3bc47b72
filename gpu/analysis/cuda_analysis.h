// The toolbox on a CUDA device: allocates memory, runs the launches of gpu/kernels/moments.h and
// kmeans.h, and reads what they report.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>

#include "analysis/clusters.h"
#include "analysis/kmeans_pass.h"
#include "analysis/moments.h"
#include "base/cancel.h"
#include "base/status.h"
#include "gpu/device/cuda_memory.h"
#include "gpu/kernels/batch_scan.h"
#include "gpu/kernels/moments.h"
#include "gpu/layout/device_part.h"

namespace glove::gpu {

// Used by one thread at a time. Keeps its memory for the next call.
class CudaMoments {
 public:
  CudaMoments() = default;
  // For tests: decides whether tensor cores are used.
  explicit CudaMoments(bool tensor_cores) : tensor_cores_(tensor_cores) {}

  Status create() { return stream_.create(); }

  // Device::sum_rows.
  Status run(const DevicePart& part, const RowSums& what, const InterruptCheck& interrupted) {
    return std::visit([&](const auto& one) { return sum(part, one, interrupted); }, what);
  }

 private:
  Status sum(const DevicePart& part, const ColumnSums& what, const InterruptCheck& interrupted);
  Status sum(const DevicePart& part, const GramProduct& what, const InterruptCheck& interrupted);
  Status sum(const DevicePart& part, const SecondMoment& what, const InterruptCheck& interrupted);

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

// Device::kmeans_pass of device number `device`. The part must stay on the device as long as the pass lives.
// Returns kOutOfMemory if the device has no room for the pass or a centroid does not fit in shared memory.
Result<std::unique_ptr<KMeansPass>> make_cuda_pass(int device, const DevicePart& part,
                                                   const FixedSums& format, int64_t count,
                                                   const DeviceShape& shape);

}  // namespace glove::gpu
