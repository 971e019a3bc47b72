// The scan of k-means for more than 64 centroids on the tensor cores of compute capability 9.0 (wgmma). Host
// code may include this header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpu/kernels/kmeans.h"

namespace glove::gpu {

// Centroids that a block scores rows with.
constexpr int kWgmmaCentroids = 256;

// Returns the number of such chunks.
constexpr int64_t centroid_chunks(int64_t count) {
  return (count + kWgmmaCentroids - 1) / kWgmmaCentroids;
}

// Whether the kernels are faster than those of launch_kmeans_scan(), and have room for the centroids: from 65
// centroids on, at most 4,096 so that `tops` takes no more memory than float rows of 64 components, and up to
// 320 components.
bool kmeans_wgmma_fits(int64_t dims, int64_t count, const DeviceShape& shape);

// Returns the number of words of WarpgroupScan::columns.
int64_t column_words(int64_t dims, int64_t count);

// launch_kmeans_scan(). REQUIRES: params.wgmma.columns.
cudaError_t launch_kmeans_wgmma(const KMeansParams& params, int32_t first, int32_t last,
                                const DeviceShape& shape, cudaStream_t stream);

}  // namespace glove::gpu
