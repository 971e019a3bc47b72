// What the scan of k-means makes of the scores of a row: the best clusters, whether they decide it, and how
// far the centroids may move before it has to be scored again.
#pragma once

#include "gpu/kernels/kmeans.h"
#include "gpu/kernels/kmeans_changes.cuh"

namespace glove::gpu {

constexpr int kLaneRows = 4;           // lane l sees rows l/4, l/4 + 8, l/4 + 16 and l/4 + 24 of its warp's
constexpr float kGapSlack = 0x1p-20f;  // as in cpu/cluster_kernels.h
constexpr float kLeastGap = 0x1p-16f;  // as in cpu/bounded_pass.cpp
constexpr float kLimitSlack = 0x1p-20f;

// The three highest scores of one row among the centroids that a lane sees. The low bits of a score are the
// place of its centroid.
struct TopScores {
  float first = -INFINITY;
  float second = -INFINITY;
  float third = -INFINITY;

  __device__ void insert(float score) {
    const float below_first = fminf(first, score);
    first = fmaxf(first, score);
    const float below_second = fminf(second, below_first);
    second = fmaxf(second, below_first);
    third = fmaxf(third, below_second);
  }
};

// The same with the centroids' numbers.
struct TopClusters {
  float first, second, third;
  int32_t first_cluster, second_cluster;

  __device__ void insert(float score, int32_t cluster) {
    if (score > first) {
      third = second;
      second = first;
      second_cluster = first_cluster;
      first = score;
      first_cluster = cluster;
    } else if (score > second) {
      third = second;
      second = score;
      second_cluster = cluster;
    } else {
      third = fmaxf(third, score);
    }
  }
};

// Combines what the four lanes that share rows have seen. Lane l gets row l/4 + 8 * (l mod 4) of its warp's.
__device__ inline TopClusters combine(const KMeansParams& params, const TopScores (&tops)[kLaneRows],
                                      int lane) {
  TopClusters own = {};
#pragma unroll
  for (int row = 0; row < kLaneRows; ++row) {
    const auto cluster_of = [&](float score) {
      const int place = static_cast<int>(__float_as_uint(score) & ~(~0u << params.id_bits));
      return place / 8 * kChunkCentroids + place / 2 % 4 * 8 + (lane & 3) * 2 + place % 2;
    };
    TopClusters top = {tops[row].first, tops[row].second, tops[row].third, cluster_of(tops[row].first),
                       cluster_of(tops[row].second)};
#pragma unroll
    for (int distance = 1; distance <= 2; distance *= 2) {
      const float first = __shfl_xor_sync(kFullWarp, top.first, distance);
      const float second = __shfl_xor_sync(kFullWarp, top.second, distance);
      const float third = __shfl_xor_sync(kFullWarp, top.third, distance);
      const int32_t first_cluster = __shfl_xor_sync(kFullWarp, top.first_cluster, distance);
      const int32_t second_cluster = __shfl_xor_sync(kFullWarp, top.second_cluster, distance);
      top.insert(first, first_cluster);
      top.insert(second, second_cluster);
      top.third = fmaxf(top.third, third);
    }
    if ((lane & 3) == row) own = top;
  }
  own.first_cluster = min(own.first_cluster, params.centroids.count - 1);  // only if the model is damaged
  return own;
}

// At least how far a score of the row, as it was compared, is from the true one.
__device__ inline float score_error(const KMeansParams& params, float length, float residual) {
  const ScoreBound bound = *params.centroids.bound;
  const float row = length + residual;
  const float centroid = bound.longest + bound.residual;
  const float sums = static_cast<float>(params.part.dims + 48) * 0x1p-22f;
  const float places = __int2float_rn(1 << params.id_bits) * 0x1p-23f;
  const float error = residual * bound.longest + row * bound.residual + row * centroid * sums +
                      (row * centroid + centroid * centroid / 2) * places +
                      (row * row + centroid * centroid) * 0x1p-21f + 0x1p-40f;
  return error * (1 + 0x1p-10f);
}

// What is known of a lane's own row before it is scored.
struct OwnRow {
  int32_t row = -1;  // -1: none
  int32_t label = -1;
  float length = 0.0f;
  float residual = 0.0f;

  __device__ void load(const KMeansParams& params, int32_t the_row) {
    row = the_row;
    if (row < 0) return;
    length = params.halves.lengths[row];
    residual = params.halves.residuals[row];
    if (params.wanted == 1) label = params.labels[row];
  }
};

// Writes what the scores say of the lane's row, or lists it as undecided. Called by a whole warp.
__device__ inline void finish(const KMeansParams& params, const TopClusters& top, const OwnRow& own) {
  const int32_t row = own.row;
  const float error = score_error(params, own.length, own.residual);
  const bool exists = row >= 0;
  bool decided = false;
  bool takes_part = exists;
  if (params.wanted == 1) {
    // With the squared distances |x|^2 - 2 * score, the difference of the distances is the difference of the
    // squares divided by their sum.
    const float square = fmaf(own.length, own.length, 2 * error);
    const float numerator = (top.first - top.second) * (1 - kGapSlack) - 2 * error;
    const float nearest = fmaxf(0.0f, fmaf(-2.0f, top.first, square));
    const float next = fmaxf(0.0f, fmaf(-2.0f, top.second, square));
    const float gap = 2 * numerator / ((sqrtf(nearest) + sqrtf(next)) * (1 + kGapSlack));
    decided = exists && gap > 0;
    if (exists) {
      float limit = -INFINITY;
      if (decided) {
        const double reach = static_cast<double>(gap) - kLeastGap + params.travelled[top.first_cluster + 1];
        limit = __double2float_rn(reach * (1 - static_cast<double>(kLimitSlack)));
      }
      params.limits[row] = limit;
    }
    list_change(params, row, own.label, top.first_cluster, decided && own.label != top.first_cluster);
  } else if (exists && params.metric == Metric::kCosine && !(params.part.norms_squared[row] > 0)) {
    params.nearest[row] = {-1, -1, -INFINITY, -INFINITY};
    takes_part = false;
  }
  const float beaten = (params.wanted == 1 ? top.first : top.second) - 2 * error;
  const bool one_of_two = top.third < beaten;
  const bool undecided = takes_part && !decided;
  const uint32_t place = append(&params.counters->undecided, undecided && one_of_two);
  if (undecided && one_of_two) params.undecided[place] = {row, top.first_cluster, top.second_cluster};
  const uint32_t open_place = append(&params.counters->open, undecided && !one_of_two);
  if (undecided && !one_of_two) params.open[open_place] = row;
}

}  // namespace glove::gpu
