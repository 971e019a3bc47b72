// The scan of a batch on the tensor cores of compute capability 9.0 (wgmma), which multiply four times as
// many rows and queries with one instruction as those of other devices. It reads packed rows. Host code may
// include this header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpu/kernels/batch_scan.h"

namespace glove::gpu {

// Whether the current device can run the kernels: it has compute capability 9.0, and this build has code for
// it.
bool wgmma_available();

// Whether it can scan rows of `dims` components: whether two rows' bytes fit in a lane's registers.
bool wgmma_fits(int64_t dims, const DeviceShape& shape);

// Writes sample_best: the largest lower bound of each pair of the sample's tiles.
cudaError_t launch_wgmma_sample(const BatchScanParams& scan, const DeviceShape& shape, cudaStream_t stream);

// launch_batch_lists().
cudaError_t launch_wgmma_lists(const BatchScanParams& scan, int32_t first, int32_t last,
                               const DeviceShape& shape, cudaStream_t stream);

}  // namespace glove::gpu
