// K-means on rows in device memory. The launches of an iteration, in this order on one stream, are
// launch_kmeans_select, launch_kmeans_scan, launch_kmeans_resolve, launch_kmeans_sums, launch_kmeans_update
// and launch_kmeans_bound. Host code may include this header.
//
// Distances are bounded in one scale for rows and centroids: unit vectors for kCosine; for kEuclidean
// everything is multiplied by the power of two that brings every row's length to at most 1. The score of a
// row x and a centroid c is <x, c> - |c|^2 / 2, so their squared distance is |x|^2 minus twice the score. The
// tensor cores compute scores from operands of 16 bits; docs/exactness.md bounds their error.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <initializer_list>

#include "analysis/clusters.h"
#include "gpu/kernels/batch_scan.h"
#include "gpu/layout/device_part.h"

namespace glove::gpu {

// Rows and centroids are multiplied by this before they are rounded to 16 bits.
constexpr float kHalfScale = 128.0f;
// Components that the tensor cores multiply in one step.
constexpr int kHalfStep = 16;
// Steps that a warp takes at a time, with its rows in registers.
constexpr int kMostSteps = 20;
// Returns the steps for rows of `dims` components: one of the numbers for which there are kernels, or a
// multiple of kMostSteps. The components past `dims` are zero.
constexpr int64_t half_steps(int64_t dims) {
  for (const int steps : {4, 8, 14})
    if (dims <= steps * kHalfStep) return steps;
  return (dims + kMostSteps * kHalfStep - 1) / (kMostSteps * kHalfStep) * kMostSteps;
}
// Words of 16 bytes, eight components each, per row: whole pairs of steps.
constexpr int64_t half_row_words(int64_t dims) {
  return (dims + 2 * kHalfStep - 1) / (2 * kHalfStep) * 4;
}
// Centroids are multiplied with rows in chunks of this many.
constexpr int kChunkCentroids = 32;
// Words of 16 bytes per chunk and step.
constexpr int kChunkStepWords = kChunkCentroids * kHalfStep / 8;

// Rows in 16 bits.
struct HalfRows {
  int32_t row_words;  // half_row_words(dims)
  uint4* words;       // [rows, row_words]
  float* lengths;     // [rows], at least |x|
  float* residuals;   // [rows], at least the distance between the row and its 16-bit form
};

// What is known of a centroid's position.
struct CentroidExtent {
  float length;    // at least |c|
  float residual;  // at least the distance between the centroid and its 16-bit form
  double moved;    // at least how far it has moved since it was prepared the time before
};

// What bounds the error of all scores.
struct ScoreBound {
  float longest;   // the largest CentroidExtent::length
  float residual;  // the largest CentroidExtent::residual
};

// Centroids in device memory.
struct DeviceCentroids {
  int32_t count;
  int32_t padded;           // `count` rounded up to a multiple of kChunkCentroids
  float* vectors;           // [count, dims]
  double* norms_squared;    // [count]
  double* scaled;           // [count, dims], in the scale of the bounds
  uint4* fragments;         // [padded / kChunkCentroids, steps, kChunkStepWords]; zero for padding
  float* half_squares;      // [padded], |c|^2 / 2; kPaddingHalfSquare for padding
  CentroidExtent* extents;  // [count]
  ScoreBound* bound;
};
constexpr float kPaddingHalfSquare = 1e30f;

// A row that left one cluster for another. A negative number is no cluster.
struct ClusterChange {
  int32_t row;
  int32_t from;
  int32_t to;
};

constexpr int kMostCandidates = 4;
// A row and a few clusters, -1 for none: it belongs to one of them or, in the list `grouped`, to one of their
// groups (kmeans_ranking.cuh).
struct RowCandidates {
  int32_t row;
  int32_t clusters[kMostCandidates];
};

// Lengths of the lists.
struct KMeansCounters {
  uint32_t visits;
  uint32_t changes;
  uint32_t undecided;
  uint32_t grouped;
  uint32_t open;
};

// What an iteration reports to the host.
struct KMeansReport {
  uint32_t changes;
  uint32_t empty_clusters;
};

// The best scores of a row among the centroids of a chunk (kmeans_wgmma.h), each the best of its group. Their
// low bits are the places of their centroids.
struct alignas(16) ChunkTop {
  float named[3];
  uint32_t bounds;  // two halves: of the best scores of the other groups, and of all scores that are not the
                    // best of their groups
};

// What the scan by warpgroups needs besides; null if it is not used.
struct WarpgroupScan {
  uint4* columns;          // [column_words(dims, count)]: the centroids in core matrices
  ChunkTop* tops;          // [centroid_chunks, rows]
  RowCandidates* grouped;  // [rows]: rows that belong to one of a few groups of clusters
};

// What a fit keeps between its launches.
struct FitState {
  int32_t* visits;         // [rows]: the rows whose clusters may have changed
  float* limits;           // [rows]: a row keeps its cluster until travelled[cluster + 1] reaches this
  double* travelled;       // [count + 1]: by how much the gap of a member may have shrunk since the start
  int64_t* sums;           // [count, dims]
  int64_t* sizes;          // [count]
  int32_t* labels;         // [rows]
  ClusterChange* changes;  // [rows]
  KMeansReport* report;    // mapped host memory
};

// What a scan computes.
enum class KMeansAnswer : int32_t {
  kLabels = 1,   // the rows' clusters, with the fit's state
  kNearest = 2,  // the rows' two nearest clusters
};

// The arguments of all launches. Pointers are not owned and, unless noted, point to device memory.
struct KMeansParams {
  DevicePart part;  // with vectors; rows past part.rows may be other rows of the model
  HalfRows halves;
  int32_t steps;  // half_steps(part.dims)
  KMeansAnswer answer;
  int32_t id_bits;  // low bits of a score that hold its place; id_bits_of(centroids.padded)
  Metric metric;
  double scale;      // kEuclidean: the power of two that brings every norm to at most 1
  double fixed_one;  // 1.0 in fixed point, of a component times `scale` for kEuclidean
  DeviceCentroids centroids;
  KMeansCounters* counters;  // zero before an iteration
  RowCandidates* undecided;  // [rows]: rows that belong to one of a few clusters
  int32_t* open;             // [rows]: rows that may belong to any cluster
  FitState fit;              // for kLabels only
  NearestTwo* nearest;       // [rows], for kNearest
  WarpgroupScan wgmma;
};

// The place of a centroid among those that a lane sees: eight per chunk.
constexpr int32_t id_bits_of(int32_t padded_centroids) {
  int32_t bits = 3;
  while ((int64_t{kChunkCentroids} << (bits - 3)) < padded_centroids) ++bits;
  return bits;
}

// Writes the 16-bit form of the rows.
cudaError_t launch_kmeans_rows(const KMeansParams& params, cudaStream_t stream);

// Sets the limits of rows without a cluster: every row with a direction must be read.
cudaError_t launch_kmeans_forget(const KMeansParams& params, cudaStream_t stream);

// Writes what the scan needs of the centroids from their vectors and norms. launch_kmeans_bound must follow.
cudaError_t launch_kmeans_prepare(const KMeansParams& params, cudaStream_t stream);

// Lists the rows whose clusters may have changed.
cudaError_t launch_kmeans_select(const KMeansParams& params, cudaStream_t stream);

// Scores elements [first, last) of the list, or rows for kNearest, as far as they exist. Finds their clusters
// or lists them as undecided.
cudaError_t launch_kmeans_scan(const KMeansParams& params, int32_t first, int32_t last,
                               const DeviceShape& shape, cudaStream_t stream);

// Decides the undecided rows by exact scores. For labels, lists the changes and replaces `labels`.
cudaError_t launch_kmeans_resolve(const KMeansParams& params, const DeviceShape& shape, cudaStream_t stream);

// Lists the moves of `count` rows to other clusters as changes.
cudaError_t launch_kmeans_refill(const KMeansParams& params, const int32_t* rows, const int32_t* clusters,
                                 int32_t count, cudaStream_t stream);

// Moves the listed rows from sum to sum.
cudaError_t launch_kmeans_sums(const KMeansParams& params, const DeviceShape& shape, cudaStream_t stream);

// If every cluster has a member, or with `always`, replaces the centroids by the means of their members and
// prepares them for the next scan. launch_kmeans_bound must follow.
cudaError_t launch_kmeans_update(const KMeansParams& params, bool always, cudaStream_t stream);

// Writes the bound of all scores. Unless `moves` is kNone, adds how far the centroids have moved since the
// launch of update or prepare before the last to `travelled` (kUnlessEmpty: if every cluster has a member),
// writes the report and clears the counters.
enum class CentroidMoves { kNone, kUnlessEmpty, kAll };
cudaError_t launch_kmeans_bound(const KMeansParams& params, CentroidMoves moves, cudaStream_t stream);

}  // namespace glove::gpu
