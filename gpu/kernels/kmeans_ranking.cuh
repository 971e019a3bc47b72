// What the scan of k-means makes of the scores of a row: the best clusters, whether they decide it, and how
// far the centroids may move before it has to be scored again.
#pragma once

#include "gpu/kernels/kmeans.h"
#include "gpu/kernels/kmeans_changes.cuh"

namespace glove::gpu {

constexpr int kLaneRows = 4;           // lane l sees rows l/4, l/4 + 8, l/4 + 16 and l/4 + 24 of its warp's
constexpr float kGapSlack = 0x1p-20f;  // as in cpu/kernels/cluster_kernels.h
constexpr float kLeastGap = 0x1p-16f;  // as in cpu/analysis/bounded_pass.cpp
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

// The scan by warpgroups compares the scores of this many clusters at once, a group, and ranks only the best
// one. Of every eight clusters, lane t of the four that share a row has the scores of 2t and 2t + 1, and a
// group is what it has of four times eight. So bits 0, 3 and 4 of a cluster tell the members of its group
// apart.
constexpr int kGroupClusters = 8;
constexpr int32_t kGroupBits = 1 | 3 << 3;
// Returns number `member` of the group that a cluster is in.
__device__ inline int32_t group_member(int32_t cluster, int32_t member) {
  return (cluster & ~kGroupBits) | member / 2 << 3 | member % 2;
}

// Upper bounds of the scores of clusters that have no name in each() of a ranking.
struct ScoreBounds {
  float rest = -INFINITY;    // of clusters that are not in the group of a named one
  float hidden = -INFINITY;  // of clusters that are
};

// What the four lanes that share a row have found for it. Like every ranking that finish() takes, it has
// each(), which visits a row's best scores with their clusters, and bounds() of all other scores.
class LaneTops {
 public:
  static constexpr bool kGroups = false;  // bounds().hidden is not used

  // Brings together the rows that a lane sees with those of the three others that see them. Lane l gets row
  // l/4 + 8 * (l mod 4) of its warp's. Called by a whole warp.
  __device__ LaneTops(const TopScores (&seen)[kLaneRows], int id_bits, int lane)
      : mask_(~(~0u << id_bits)), lane_(lane) {
    const bool odd = (lane & 1) != 0;
    const bool upper = (lane & 2) != 0;
    TopScores kept[2][2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      kept[i][0] = choose(odd, seen[2 * i + 1], seen[2 * i]);
      kept[i][1] = exchange(choose(odd, seen[2 * i], seen[2 * i + 1]), 1);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      found_[i] = choose(upper, kept[1][i], kept[0][i]);
      found_[2 + i] = exchange(choose(upper, kept[0][i], kept[1][i]), 2);
    }
  }

  template <class Visit>
  __device__ __forceinline__ void each(const Visit& visit) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      visit(found_[i].first, cluster_of(found_[i].first, lane_ ^ i));
      visit(found_[i].second, cluster_of(found_[i].second, lane_ ^ i));
    }
  }
  __device__ ScoreBounds bounds() const {
    return {fmaxf(fmaxf(found_[0].third, found_[1].third), fmaxf(found_[2].third, found_[3].third)),
            -INFINITY};
  }

 private:
  // By component, so that nothing moves to memory.
  __device__ static TopScores choose(bool first, const TopScores& a, const TopScores& b) {
    TopScores chosen;
    chosen.first = first ? a.first : b.first;
    chosen.second = first ? a.second : b.second;
    chosen.third = first ? a.third : b.third;
    return chosen;
  }
  __device__ static TopScores exchange(const TopScores& sent, int distance) {
    TopScores got;
    got.first = __shfl_xor_sync(kFullWarp, sent.first, distance);
    got.second = __shfl_xor_sync(kFullWarp, sent.second, distance);
    got.third = __shfl_xor_sync(kFullWarp, sent.third, distance);
    return got;
  }
  __device__ int32_t cluster_of(float score, int lane) const {
    const auto place = static_cast<int>(__float_as_uint(score) & mask_);
    return place / 8 * kChunkCentroids + place / 2 % 4 * 8 + (lane & 3) * 2 + place % 2;
  }

  const uint32_t mask_;
  const int lane_;
  TopScores found_[4];  // by lane, lane ^ 1, lane ^ 2 and lane ^ 3
};

// Returns an upper bound of |computed score - true score| for the row.
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

  __device__ void load(const KMeansParams& params, int32_t listed_row) {
    row = listed_row;
    if (row < 0) return;
    length = params.halves.lengths[row];
    residual = params.halves.residuals[row];
    // verify: lemma row-listed-once
    if (params.answer == KMeansAnswer::kLabels) label = params.fit.labels[row];
  }
};

// The best clusters of a row.
struct BestClusters {
  float first = -INFINITY;
  float second = -INFINITY;   // at least the second best score
  float certain = -INFINITY;  // at most the second best score
  int32_t cluster = 0;        // of the first

  template <class Tops>
  __device__ BestClusters(const KMeansParams& params, const Tops& tops, const ScoreBounds& bounds) {
    tops.each([&](float score, int32_t named) {
      const bool better = score > first;
      second = fmaxf(second, better ? first : score);
      first = better ? score : first;
      cluster = better ? named : cluster;
    });
    certain = second;
    second = fmaxf(second, fmaxf(bounds.rest, bounds.hidden));
    cluster = min(cluster, params.centroids.count - 1);  // only if the model is damaged
  }
};

// Lists the clusters whose scores are not below `beaten`. Returns false if they cannot all be named.
template <class Tops>
__device__ __forceinline__ bool list_candidates(const KMeansParams& params, const Tops& tops,
                                                const ScoreBounds& bounds, float beaten,
                                                RowCandidates& undecided) {
  int count = 0;
  tops.each([&](float score, int32_t cluster) {
    if (!(score >= beaten) || cluster >= params.centroids.count) return;
#pragma unroll
    for (int i = 0; i < kMostCandidates; ++i)
      if (i == count) undecided.clusters[i] = cluster;
    ++count;
  });
  return count <= kMostCandidates && bounds.rest < beaten;
}

// Writes what the scores say of the lane's row, or lists it as undecided. Called by a whole warp. tops: like
// LaneTops.
template <class Tops>
__device__ __forceinline__ void finish(const KMeansParams& params, const Tops& tops, const OwnRow& own) {
  const int32_t row = own.row;
  const ScoreBounds bounds = tops.bounds();
  const BestClusters best(params, tops, bounds);
  const float error = score_error(params, own.length, own.residual);
  const bool exists = row >= 0;
  bool decided = false;
  bool takes_part = exists;
  if (params.answer == KMeansAnswer::kLabels) {
    // With the squared distances |x|^2 - 2 * score, the difference of the distances is the difference of the
    // squares divided by their sum.
    const float square = fmaf(own.length, own.length, 2 * error);
    const float numerator = (best.first - best.second) * (1 - kGapSlack) - 2 * error;
    const float nearest = fmaxf(0.0f, fmaf(-2.0f, best.first, square));
    const float next = fmaxf(0.0f, fmaf(-2.0f, best.second, square));
    const float gap = 2 * numerator / ((sqrtf(nearest) + sqrtf(next)) * (1 + kGapSlack));
    decided = exists && gap > 0;
    if (exists) {
      float limit = -INFINITY;
      if (decided) {
        const double reach = static_cast<double>(gap) - kLeastGap + params.fit.travelled[best.cluster + 1];
        limit = __double2float_rn(reach * (1 - static_cast<double>(kLimitSlack)));
      }
      // verify: lemma row-listed-once
      params.fit.limits[row] = limit;
    }
    list_change(params, row, own.label, best.cluster, decided && own.label != best.cluster);
  } else if (exists && params.metric == Metric::kCosine && !(params.part.norms_squared[row] > 0)) {
    params.nearest[row] = {-1, -1, -INFINITY, -INFINITY};
    takes_part = false;
  }
  const bool undecided = takes_part && !decided;
  RowCandidates listed = {row, {-1, -1, -1, -1}};
  const float beaten = (params.answer == KMeansAnswer::kLabels ? best.first : best.certain) - 2 * error;
  const bool few = undecided && list_candidates(params, tops, bounds, beaten, listed);
  const bool grouped = Tops::kGroups && few && !(bounds.hidden < beaten);
  const uint32_t place = append(&params.counters->undecided, few && !grouped);
  // verify: lemma own-place
  if (few && !grouped) params.undecided[place] = listed;
  if constexpr (Tops::kGroups) {
    const uint32_t group_place = append(&params.counters->grouped, grouped);
    if (grouped) params.wgmma.grouped[group_place] = listed;
  }
  const uint32_t open_place = append(&params.counters->open, undecided && !few);
  // verify: lemma own-place
  if (undecided && !few) params.open[open_place] = row;
}

}  // namespace glove::gpu
