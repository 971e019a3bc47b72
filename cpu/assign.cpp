#include "cpu/assign.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace glove::cpu {
namespace {

constexpr int64_t kBlockCentroids = 240;  // a multiple of every kernel's group of queries
constexpr double kRelativeSlack = 0x1p-18;
// What a score in double loses to rounding where a row is far longer than the centroids.
constexpr double kRowSlack = 0x1p-46;
// What floats lose to underflow: half_square, and everything else.
constexpr double kUnderflow = 0x1p-126;
constexpr double kSmallSlack = 0x1p-100;
// A row shorter than this, in units of the longest centroid, is compared with all centroids.
constexpr double kShortRow = 0x1p-60;
constexpr int64_t kChunkBytes = 192 << 10;
constexpr size_t kExactBlock = 64;

float lowest() {
  return -std::numeric_limits<float>::infinity();
}

// A cluster that a row may belong to.
struct Survivor {
  int32_t row;  // of the tile
  int32_t cluster;
  float upper;  // the row's score for it is not above this
};

// Ranks a cluster that comes after those already offered.
void offer(NearestTwo& nearest, int32_t cluster, double score) {
  if (nearest.first < 0 || score > nearest.first_score) {
    nearest.second = nearest.first;
    nearest.second_score = nearest.first_score;
    nearest.first = cluster;
    nearest.first_score = score;
  } else if (nearest.second < 0 || score > nearest.second_score) {
    nearest.second = cluster;
    nearest.second_score = score;
  }
}

// A query without a direction, whose every sum is 0.
QuantizedQuery zero_query(int64_t dims) {
  QuantizedQuery query;
  query.codes.resize(static_cast<size_t>(component_groups(dims) * kTileComponents));
  query.scale = 1;
  return query;
}

}  // namespace

// One tile at a time, on one thread.
class CentroidScan::TileSearch {
 public:
  explicit TileSearch(const CentroidScan& scan)
      : scan_(scan),
        sums_(kBlockCentroids * kTileRows),
        masks_(kBlockCentroids),
        wide_(static_cast<size_t>((scan.points_.dims + 7) / 8 * 8)) {}

  // Finds the clusters that may be among the `wanted` (1 or 2) best of each row.
  void run(int64_t tile, int wanted) {
    load_rows(tile);
    std::fill_n(bounds_.best, kTileRows, lowest());
    std::fill_n(bounds_.second, kTileRows, lowest());
    survivors_.clear();
    const Points& points = scan_.points_;
    const int64_t groups = component_groups(points.dims);
    const int8_t* codes = points.codes + tile * groups * kTileRows * kTileComponents;
    const TileFactors factors = {scales_, residuals_, inverse_norms_, slacks_};
    const ClusterKernels& kernels = *scan_.kernels_.cluster;
    const float* thresholds = wanted == 1 ? bounds_.best : bounds_.second;
    for (const Block& block : scan_.blocks_) {
      kernels.tile_sums(codes, groups, block.queries, block.packed.data(), sums_.data());
      kernels.raise_bounds(block.bounds, factors, sums_.data(), bounds_);
      kernels.find_survivors(block.bounds, factors, sums_.data(), thresholds, masks_.data());
      collect(block);
    }
    sort_by_row(thresholds);
  }

  int rows() const { return rows_; }
  // Whether a row of the tile takes part, and the clusters that may be its best, rising.
  bool takes_part(int row) const { return (valid_ >> row & 1) != 0; }
  std::span<const Survivor> candidates(int row) const {
    return {sorted_.data() + starts_[row], static_cast<size_t>(counts_[row])};
  }

  // The two best of a row's candidates by their exact scores.
  NearestTwo decide(int64_t id, std::span<const Survivor> candidates) {
    const Points& points = scan_.points_;
    const Centroids& centroids = scan_.centroids_;
    const float* const x = points.vector(id);
    std::copy(x, x + points.dims, wide_.begin());
    NearestTwo result;
    const float* vectors[kExactBlock];
    double dots[kExactBlock];
    for (size_t first = 0; first < candidates.size(); first += kExactBlock) {
      const size_t count = std::min(kExactBlock, candidates.size() - first);
      for (size_t i = 0; i < count; ++i) vectors[i] = centroids.vector(candidates[first + i].cluster);
      scan_.kernels_.exact_dots(wide_.data(), vectors, static_cast<int64_t>(count), points.dims, dots);
      for (size_t i = 0; i < count; ++i) {
        const int32_t cluster = candidates[first + i].cluster;
        offer(result, cluster,
              cluster_score(centroids.metric, dots[i], points.norms_squared[id],
                            centroids.norms_squared[static_cast<size_t>(cluster)]));
      }
    }
    return result;
  }

 private:
  void load_rows(int64_t tile) {
    const Points& points = scan_.points_;
    const int64_t first = tile * kTileRows;
    rows_ = static_cast<int>(std::min(kTileRows, points.rows - first));
    valid_ = 0;
    std::fill_n(scales_, kTileRows, 0.0f);
    std::fill_n(residuals_, kTileRows, 0.0f);
    std::fill_n(inverse_norms_, kTileRows, 0.0f);
    std::fill_n(slacks_, kTileRows, 0.0f);
    std::copy_n(points.scales + first, rows_, scales_);
    std::copy_n(points.residuals + first, rows_, residuals_);
    const bool euclidean = scan_.centroids_.metric == Metric::kEuclidean;
    for (int row = 0; row < rows_; ++row) {
      const double norm_squared = points.norms_squared[first + row];
      if (euclidean) {
        const double norm = std::sqrt(norm_squared) * scan_.scale_;
        inverse_norms_[row] =
            norm < kShortRow ? std::numeric_limits<float>::infinity() : static_cast<float>(1 / norm);
        slacks_[row] = static_cast<float>(norm * kRowSlack + kSmallSlack);
      }
      if (euclidean || norm_squared > 0) valid_ |= uint32_t{1} << row;
    }
  }

  void collect(const Block& block) {
    for (size_t c = 0; c < block.queries.size(); ++c)
      for (uint32_t mask = masks_[c] & valid_; mask != 0; mask &= mask - 1) {
        const int row = std::countr_zero(mask);
        const auto score = std::bit_cast<float>(sums_[c * kTileRows + static_cast<size_t>(row)]);
        const CentroidBound& bound = block.bounds[c];
        const float error = (residuals_[row] * bound.slope + bound.offset) +
                            (inverse_norms_[row] * bound.half_slack + slacks_[row]);
        const auto cluster = static_cast<int32_t>(block.first + static_cast<int64_t>(c));
        survivors_.push_back({row, cluster, score + error});
      }
  }

  // Orders the survivors by row, and drops those that a later block has ruled out.
  void sort_by_row(const float* thresholds) {
    if (scan_.blocks_.size() > 1)
      std::erase_if(survivors_,
                    [&](const Survivor& survivor) { return survivor.upper < thresholds[survivor.row]; });
    std::fill_n(counts_, kTileRows, 0);
    for (const Survivor& survivor : survivors_) ++counts_[survivor.row];
    int32_t next[kTileRows];
    int32_t start = 0;
    for (int row = 0; row < kTileRows; ++row) {
      next[row] = starts_[row] = start;
      start += counts_[row];
    }
    sorted_.resize(survivors_.size());
    for (const Survivor& survivor : survivors_) sorted_[static_cast<size_t>(next[survivor.row]++)] = survivor;
  }

  const CentroidScan& scan_;
  std::vector<int32_t> sums_;
  std::vector<uint32_t> masks_;
  std::vector<Survivor> survivors_;  // by block and cluster
  std::vector<Survivor> sorted_;     // by row, then cluster
  std::vector<double> wide_;         // a row in double, padded with zeros
  TileBounds bounds_;
  int32_t counts_[kTileRows];
  int32_t starts_[kTileRows];
  float scales_[kTileRows], residuals_[kTileRows], inverse_norms_[kTileRows], slacks_[kTileRows];
  int rows_ = 0;
  uint32_t valid_ = 0;
};

CentroidScan::CentroidScan(const Kernels& kernels, const Points& points, const Centroids& centroids)
    : kernels_(kernels), points_(points), centroids_(centroids) {
  if (centroids.metric == Metric::kEuclidean) {
    const double largest = *std::max_element(centroids.norms_squared.begin(), centroids.norms_squared.end());
    int exponent = 0;
    std::frexp(std::sqrt(largest), &exponent);
    scale_ = std::ldexp(1.0, -exponent);
  }
  for (int64_t first = 0; first < centroids.count; first += kBlockCentroids)
    add_block(first, std::min(kBlockCentroids, centroids.count - first));
}

void CentroidScan::add_block(int64_t first, int64_t count) {
  Block block;
  block.first = first;
  for (int64_t cluster = first; cluster < first + count; ++cluster) {
    const double norm_squared = centroids_.norms_squared[static_cast<size_t>(cluster)];
    const auto dims = static_cast<size_t>(centroids_.dims);
    block.queries.push_back(norm_squared > 0 ? quantize_query({centroids_.vector(cluster), dims},
                                                              norm_squared, kernels_.cluster->max_code)
                                             : zero_query(centroids_.dims));
    block.bounds.push_back(bound_of(block.queries.back(), norm_squared));
  }
  kernels_.cluster->pack(block.queries, component_groups(points_.dims), block.packed);
  blocks_.push_back(std::move(block));
}

CentroidBound CentroidScan::bound_of(const QuantizedQuery& query, double norm_squared) const {
  if (centroids_.metric == Metric::kCosine)
    return {query.inverse_scale, query.error_slope, query.error_offset, 0, 0};
  // (|c|^2 - 2 D(x, c)) / 2|x|, up to its sign: |c| times the cosine, minus |c|^2 / 2|x|.
  const double length = std::sqrt(norm_squared) * scale_;
  const double half_square = length * length / 2;
  CentroidBound bound;
  bound.estimate = static_cast<float>(query.inverse_scale * length);
  bound.slope = static_cast<float>(query.error_slope * length * (1 + kRelativeSlack));
  bound.offset = static_cast<float>(query.error_offset * length * (1 + kRelativeSlack));
  bound.half_square = static_cast<float>(half_square);
  bound.half_slack = static_cast<float>(half_square * kRelativeSlack + kUnderflow);
  return bound;
}

int64_t CentroidScan::tiles_per_chunk() const {
  const int64_t tile_bytes = component_groups(points_.dims) * kTileRows * kTileComponents;
  const int64_t by_bytes = (kChunkBytes + tile_bytes - 1) / tile_bytes;
  const int64_t by_products = kernels_.many->chunk_products / (tile_bytes * centroids_.count);
  return std::max<int64_t>(1, std::min(by_bytes, by_products));
}

void CentroidScan::assign(int64_t first_tile, int64_t last_tile, std::span<int32_t> labels) const {
  TileSearch search(*this);
  for (int64_t tile = first_tile; tile < last_tile; ++tile) {
    search.run(tile, 1);
    for (int row = 0; row < search.rows(); ++row) {
      const int64_t id = tile * kTileRows + row;
      int32_t& label = labels[static_cast<size_t>(id)];
      const std::span<const Survivor> candidates = search.candidates(row);
      if (!search.takes_part(row))
        label = -1;
      else
        label = candidates.size() == 1 ? candidates[0].cluster : search.decide(id, candidates).first;
    }
  }
}

void CentroidScan::nearest_two(int64_t first_tile, int64_t last_tile, std::span<NearestTwo> nearest) const {
  TileSearch search(*this);
  for (int64_t tile = first_tile; tile < last_tile; ++tile) {
    search.run(tile, 2);
    for (int row = 0; row < search.rows(); ++row) {
      const int64_t id = tile * kTileRows + row;
      nearest[static_cast<size_t>(id)] =
          search.takes_part(row) ? search.decide(id, search.candidates(row)) : NearestTwo();
    }
  }
}

}  // namespace glove::cpu
