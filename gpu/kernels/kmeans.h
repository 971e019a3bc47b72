// K-means on rows in device memory: the launches of an iteration, in this order on one stream, are
// launch_kmeans_scan, launch_kmeans_resolve, launch_kmeans_sums and launch_kmeans_update. Host code may
// include this header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "analysis/clusters.h"
#include "gpu/device_part.h"
#include "gpu/kernels/batch_scan.h"

namespace glove::gpu {

// How the integer sums of a row's codes and a centroid's codes bound their score: see CentroidBound in
// cpu/cluster_kernels.h, whose two terms with half_square are combined here, each rounded up.
struct ClusterBound {
  float estimate;    // at the end of the padding: 0
  float slope;       // the same
  float offset;      // the same: -infinity, so that padding never wins
  float upper_half;  // half_slack - half_square
};

// Centroids in device memory.
struct DeviceCentroids {
  int32_t count;
  int32_t padded;         // `count` rounded up to a multiple of 32
  float* vectors;         // [count, dims]
  double* norms_squared;  // [count]
  int8_t* fragments;      // pack_fragments of `padded` queries, zero where no code has been written
  ClusterBound* bounds;   // [padded]
  float* lower_halves;    // [padded], half_slack + half_square
};

// A row that left one cluster for another. A negative number is no cluster.
struct ClusterChange {
  int32_t row;
  int32_t from;
  int32_t to;
};

// What an iteration reports to the host.
struct KMeansReport {
  uint32_t changes;
  uint32_t empty_clusters;
};

// The places for candidates of a row. The first holds their number: 0 if there are too many, which means that
// every cluster is one.
constexpr int kCandidatePlaces = 16;

// The arguments of all launches. Pointers are not owned and, unless noted, point to device memory.
struct KMeansParams {
  DevicePart part;  // with vectors; rows past part.rows may be other rows of the model
  int32_t tiles;    // tile_count(part.rows)
  int32_t groups;   // component_groups(part.dims)
  int32_t steps;    // matrix_steps(part.dims)
  int32_t wanted;   // 1: labels; 2: `nearest`
  Metric metric;
  double scale;      // kEuclidean: the power of two that brings every norm to at most 1
  double fixed_one;  // 1.0 in fixed point, of a component times `scale` for kEuclidean
  DeviceCentroids centroids;
  // The fit's state; none of it is used if `wanted` is 2.
  int64_t* sums;           // [count, dims]
  int64_t* sizes;          // [count]
  int32_t* labels;         // [rows]
  ClusterChange* changes;  // [rows]
  uint32_t* change_count;  // zero before an iteration
  KMeansReport* report;    // mapped host memory
  // Scratch.
  int32_t* next_labels;  // [rows]; of undecided rows only after launch_kmeans_resolve
  uint32_t* undecided;   // [tiles], a bit per row
  uint16_t* candidates;  // [tiles * kTileRows, kCandidatePlaces], of undecided rows
  NearestTwo* nearest;   // [rows], if `wanted` is 2
};

// Writes fragments and bounds from vectors and norms. REQUIRES: every padding row's codes are zero.
cudaError_t launch_kmeans_prepare(const KMeansParams& params, cudaStream_t stream);

// Bounds the scores of tiles [first_tile, last_tile) and writes the labels of the rows that the bounds
// decide, and the candidates of the others. cudaErrorInvalidConfiguration: the dimensions do not fit in
// shared memory.
cudaError_t launch_kmeans_scan(const KMeansParams& params, int32_t first_tile, int32_t last_tile,
                               const BatchShape& shape, cudaStream_t stream);

// Decides the others by exact scores. For labels, lists the changes and replaces `labels`.
cudaError_t launch_kmeans_resolve(const KMeansParams& params, int32_t first_tile, int32_t last_tile,
                                  cudaStream_t stream);

// Lists the moves of `count` rows to other clusters as changes.
cudaError_t launch_kmeans_refill(const KMeansParams& params, const int32_t* rows, const int32_t* clusters,
                                 int32_t count, cudaStream_t stream);

// Moves the listed rows from sum to sum.
cudaError_t launch_kmeans_sums(const KMeansParams& params, const BatchShape& shape, cudaStream_t stream);

// Writes the report and clears change_count. If every cluster has a member, or with `always`, replaces the
// centroids by the means of their members and prepares them for the next scan.
cudaError_t launch_kmeans_update(const KMeansParams& params, bool always, cudaStream_t stream);

}  // namespace glove::gpu
