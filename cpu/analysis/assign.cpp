#include "cpu/analysis/assign.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/float_environment.h"
#include "base/require.h"
#include "base/thread_pool.h"
#include "cpu/kernels/wide_query.h"

namespace glove::cpu {
namespace {

// The number of centroids whose scores are bounded together, so that they stay in the L1 cache. A multiple of
// every kernel's group of queries.
constexpr int64_t kBlockCentroids = 240;
constexpr int64_t kFewCentroids = 64;
constexpr double kRelativeSlack = 0x1p-18;
// The rounding error of a score in double where a row is far longer than the centroids.
constexpr double kRowSlack = 0x1p-46;
// What floats lose to underflow: half_square, and everything else.
constexpr double kUnderflow = 0x1p-126;
constexpr double kSmallSlack = 0x1p-100;
// A row shorter than this, in units of the longest centroid, is compared with all centroids.
constexpr double kShortRow = 0x1p-60;
constexpr int64_t kChunkBytes = 192 << 10;
constexpr size_t kExactBlock = 64;
constexpr float kLowest = -std::numeric_limits<float>::infinity();

// A cluster that a row may belong to, other than the one with the highest lower bound.
struct Candidate {
  int32_t row;  // within the tile
  int32_t cluster;
};

void offer(NearestTwo& nearest, int32_t cluster, double score) {
  const auto better = [&](double other_score, int32_t other) {
    return other < 0 || score > other_score || (score == other_score && cluster < other);
  };
  if (better(nearest.first_score, nearest.first)) {
    nearest.second = nearest.first;
    nearest.second_score = nearest.first_score;
    nearest.first = cluster;
    nearest.first_score = score;
  } else if (better(nearest.second_score, nearest.second)) {
    nearest.second = cluster;
    nearest.second_score = score;
  }
}

// Returns a query without a direction, all of whose sums are 0.
QuantizedQuery zero_query(int64_t dims) {
  QuantizedQuery query;
  query.codes.resize(static_cast<size_t>(component_groups(dims) * kTileComponents));
  query.scale = 1;
  return query;
}

}  // namespace

// Searches one tile at a time, on one thread.
class CentroidScan::TileSearch {
 public:
  TileSearch(const CentroidScan& scan, const InterruptCheck& interrupted)
      : scan_(scan), interrupted_(interrupted), wide_(wide_size(scan.points_.dims)) {}

  // Finds the clusters that may be among the `count` (1 or 2) best of each row. If it was stopped, none.
  void run(int64_t tile, int count) {
    sums_.resize(scan_.queries_.size() * kTileRows);
    masks_.resize(scan_.queries_.size());
    load_rows(tile);
    std::fill_n(bounds_.best, kTileRows, kLowest);
    std::fill_n(bounds_.second, kTileRows, kLowest);
    std::fill_n(bounds_.winner, kTileRows, -1);
    const TileFactors factors = {scales_, residuals_, inverse_norms_, slacks_};
    candidates_.clear();
    if (!score(tile, factors)) return sort_by_row();
    const float* thresholds = count == 1 ? bounds_.best : bounds_.second;
    scan_.cluster_kernels_.find_candidates(scan_.bounds_, factors, sums_.data(), thresholds, bounds_.winner,
                                           masks_.data());
    collect();
    sort_by_row();
  }

  int rows() const { return rows_; }
  // Whether a row of the tile is to be assigned.
  bool takes_part(int row) const { return (valid_ >> row & 1) != 0; }
  // Returns the cluster with the highest lower bound, -1 if no bound exists; others may also be the best.
  int32_t winner(int row) const { return bounds_.winner[row]; }
  std::span<const Candidate> others(int row) const {
    return {sorted_.data() + starts_[row], static_cast<size_t>(counts_[row])};
  }

  // Returns the two best of a row's clusters by their exact scores.
  NearestTwo decide(int64_t id, int row) {
    scan_.cluster_kernels_.widen(scan_.points_.vector(id), scan_.points_.dims, wide_.data());
    NearestTwo result;
    int32_t clusters[kExactBlock];
    size_t count = 0;
    if (winner(row) >= 0) clusters[count++] = winner(row);
    for (const Candidate& other : others(row)) {
      clusters[count++] = other.cluster;
      if (count < kExactBlock) continue;
      if (stopped()) break;
      offer_exact(id, {clusters, std::exchange(count, 0)}, result);
    }
    offer_exact(id, {clusters, count}, result);
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

  bool stopped() const { return interrupted_ && interrupted_(); }

  // Computes the scores of all centroids and the bounds that they imply. False: it was stopped.
  bool score(int64_t tile, const TileFactors& factors) {
    const int64_t groups = component_groups(scan_.points_.dims);
    const int8_t* codes = scan_.points_.codes + tile * groups * kTileRows * kTileComponents;
    const size_t packed_bytes = scan_.packed_.size() / scan_.queries_.size();
    for (size_t first = 0; first < scan_.queries_.size(); first += kBlockCentroids) {
      if (first > 0 && stopped()) return false;
      const size_t count = std::min<size_t>(kBlockCentroids, scan_.queries_.size() - first);
      int32_t* const sums = sums_.data() + first * kTileRows;
      scan_.cluster_kernels_.tile_sums(codes, groups, std::span(scan_.queries_).subspan(first, count),
                                       scan_.packed_.data() + first * packed_bytes, sums);
      scan_.cluster_kernels_.raise_bounds(std::span(scan_.bounds_).subspan(first, count),
                                          static_cast<int32_t>(first), factors, sums, bounds_);
    }
    return true;
  }

  void collect() {
    for (size_t c = 0; c < masks_.size(); ++c)
      for (uint32_t mask = masks_[c] & valid_; mask != 0; mask &= mask - 1)
        candidates_.push_back({std::countr_zero(mask), static_cast<int32_t>(c)});
  }

  void sort_by_row() {
    std::fill_n(counts_, kTileRows, 0);
    for (const Candidate& candidate : candidates_) ++counts_[candidate.row];
    int32_t next[kTileRows];
    int32_t start = 0;
    for (int row = 0; row < kTileRows; ++row) {
      next[row] = starts_[row] = start;
      start += counts_[row];
    }
    sorted_.resize(candidates_.size());
    for (const Candidate& candidate : candidates_)
      sorted_[static_cast<size_t>(next[candidate.row]++)] = candidate;
  }

  void offer_exact(int64_t id, std::span<const int32_t> clusters, NearestTwo& result) {
    const Points& points = scan_.points_;
    const Centroids& centroids = scan_.centroids_;
    const float* vectors[kExactBlock];
    double dots[kExactBlock];
    for (size_t i = 0; i < clusters.size(); ++i) vectors[i] = centroids.vector(clusters[i]);
    scan_.kernels_.exact_dots(wide_.data(), vectors, static_cast<int64_t>(clusters.size()), points.dims,
                              dots);
    for (size_t i = 0; i < clusters.size(); ++i)
      offer(result, clusters[i],
            cluster_score(centroids.metric, dots[i], points.norms_squared[id],
                          centroids.norms_squared[static_cast<size_t>(clusters[i])]));
  }

  const CentroidScan& scan_;
  const InterruptCheck& interrupted_;
  std::vector<int32_t> sums_;
  std::vector<uint32_t> masks_;
  std::vector<Candidate> candidates_;  // by cluster
  std::vector<Candidate> sorted_;      // by row, then cluster
  std::vector<double> wide_;           // a row in double, padded with zeros
  TileBounds bounds_;
  int32_t counts_[kTileRows];
  int32_t starts_[kTileRows];
  float scales_[kTileRows], residuals_[kTileRows], inverse_norms_[kTileRows], slacks_[kTileRows];
  int rows_ = 0;
  uint32_t valid_ = 0;
};

CentroidScan::CentroidScan(const Kernels& kernels, const Points& points, const Centroids& centroids)
    : kernels_(kernels),
      cluster_kernels_(centroids.count <= kFewCentroids ? *kernels.few_clusters : *kernels.many_clusters),
      points_(points),
      centroids_(centroids) {
  if (centroids.metric == Metric::kEuclidean) {
    const double largest = *std::max_element(centroids.norms_squared.begin(), centroids.norms_squared.end());
    int exponent = 0;
    std::frexp(std::sqrt(largest), &exponent);
    scale_ = std::ldexp(1.0, -exponent);
  }
}

Result<CentroidScan> CentroidScan::prepare(const Kernels& kernels, const Points& points,
                                           const Centroids& centroids, const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(points.dims == centroids.dims);
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  CentroidScan scan(kernels, points, centroids);
  InterruptPoll poll(interrupted);
  const auto dims = static_cast<size_t>(centroids.dims);
  for (int64_t cluster = 0; cluster < centroids.count; ++cluster) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    const double norm_squared = centroids.norms_squared[static_cast<size_t>(cluster)];
    scan.queries_.push_back(norm_squared > 0 ? quantize_query({centroids.vector(cluster), dims}, norm_squared,
                                                              scan.cluster_kernels_.max_code)
                                             : zero_query(centroids.dims));
    scan.bounds_.push_back(scan.bound_of(scan.queries_.back(), norm_squared));
  }
  scan.cluster_kernels_.pack(scan.queries_, component_groups(points.dims), scan.packed_);
  return scan;
}

CentroidBound CentroidScan::bound_of(const QuantizedQuery& query, double norm_squared) const {
  if (centroids_.metric == Metric::kCosine)
    return {query.bound.inverse_scale, query.bound.error_slope, query.bound.error_offset, 0, 0};
  // (|c|^2 - 2 D(x, c)) / 2|x|, up to its sign: |c| times the cosine, minus |c|^2 / 2|x|.
  const double length = std::sqrt(norm_squared) * scale_;
  const double half_square = length * length / 2;
  CentroidBound bound;
  bound.estimate = static_cast<float>(query.bound.inverse_scale * length);
  bound.slope = static_cast<float>(query.bound.error_slope * length * (1 + kRelativeSlack));
  bound.offset = static_cast<float>(query.bound.error_offset * length * (1 + kRelativeSlack));
  bound.half_square = static_cast<float>(half_square);
  bound.half_slack = static_cast<float>(half_square * kRelativeSlack + kUnderflow);
  return bound;
}

int64_t CentroidScan::tiles_per_chunk() const {
  const int64_t tile_bytes = component_groups(points_.dims) * kTileRows * kTileComponents;
  const int64_t by_bytes = (kChunkBytes + tile_bytes - 1) / tile_bytes;
  const int64_t by_products = kernels_.batch->chunk_products / (tile_bytes * centroids_.count);
  return std::max<int64_t>(1, std::min(by_bytes, by_products));
}

// Calls finish(search, first row) for each tile after the next one has been scanned: by then the vectors of
// the rows for which fetch(search, row) was true, which are not stored with the codes, are in the cache.
template <class Fetch, class Finish>
void CentroidScan::visit_tiles(int64_t first_tile, int64_t last_tile, int wanted,
                               const InterruptCheck& interrupted, Fetch fetch, Finish finish) const {
  TileSearch searches[] = {TileSearch(*this, interrupted), TileSearch(*this, interrupted)};
  for (int64_t tile = first_tile; tile <= last_tile; ++tile) {
    if (tile < last_tile) {
      TileSearch& search = searches[tile % 2];
      search.run(tile, wanted);
      for (int row = 0; row < search.rows(); ++row)
        if (fetch(search, row)) prefetch_row(points_, tile * kTileRows + row);
    }
    if (tile > first_tile) finish(searches[(tile - 1) % 2], (tile - 1) * kTileRows);
  }
}

void CentroidScan::visit(int64_t first_tile, int64_t last_tile, std::span<int32_t> labels,
                         const InterruptCheck& interrupted) const {
  const auto undecided = [](const TileSearch& search, int row) { return !search.others(row).empty(); };
  visit_tiles(first_tile, last_tile, 1, interrupted, undecided, [&](TileSearch& search, int64_t first) {
    for (int row = 0; row < search.rows(); ++row) {
      int32_t& label = labels[static_cast<size_t>(first + row)];
      if (!search.takes_part(row))
        label = -1;
      else
        label = undecided(search, row) ? search.decide(first + row, row).first : search.winner(row);
    }
  });
}

void CentroidScan::visit(int64_t first_tile, int64_t last_tile, std::span<NearestTwo> nearest,
                         const InterruptCheck& interrupted) const {
  const auto every = [](const TileSearch&, int) { return true; };
  visit_tiles(first_tile, last_tile, 2, interrupted, every, [&](TileSearch& search, int64_t first) {
    for (int row = 0; row < search.rows(); ++row)
      nearest[static_cast<size_t>(first + row)] =
          search.takes_part(row) ? search.decide(first + row, row) : NearestTwo();
  });
}

namespace {

// Fills `found` by CentroidScan::visit.
template <class Found>
Status visit_all(const Kernels& kernels, int threads, const Points& points, const Centroids& centroids,
                 std::span<Found> found, const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(const CentroidScan scan,
                         CentroidScan::prepare(kernels, points, centroids, interrupted));
  ThreadInterrupt interrupt(interrupted);
  const auto work = [&](int slot, int64_t first_tile, int64_t last_tile) {
    scan.visit(first_tile, last_tile, found, interrupt.of(slot));
  };
  GLOVE_RETURN_IF_ERROR(ThreadPool::for_pieces(threads, tile_count(points.rows), scan.tiles_per_chunk(),
                                               interrupt.of(0), work));
  return interrupt.stopped() ? interrupted_error() : Status();
}

}  // namespace

Status assign_rows(const Kernels& kernels, int threads, const Points& points, const Centroids& centroids,
                   std::span<int32_t> labels, const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(std::ssize(labels) == points.rows);
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  return visit_all(kernels, threads, points, centroids, labels, interrupted);
}

Status nearest_two(const Kernels& kernels, int threads, const Points& points, const Centroids& centroids,
                   std::span<NearestTwo> nearest, const InterruptCheck& interrupted) {
  return visit_all(kernels, threads, points, centroids, nearest, interrupted);
}

}  // namespace glove::cpu
