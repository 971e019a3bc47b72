#include "cpu/cpu_analysis.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/thread_interrupt.h"
#include "base/thread_pool.h"
#include "cpu/analysis/assign.h"
#include "cpu/analysis/bounded_pass.h"
#include "cpu/analysis/convolve.h"
#include "cpu/analysis/moments.h"
#include "cpu/analysis/partial_sums.h"
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/prefetch_row.h"
#include "cpu/kernels/wide_query.h"

namespace glove {
namespace {

// The values in one chunk of work: enough to be worth scheduling, and a few ms at most.
constexpr int64_t kChunkValues = 256 << 10;
constexpr int64_t kExactBlock = 64;
constexpr size_t kRowsAhead = 8;  // changed rows that are prefetched
// Each thread that assigns rows has its own sums. Together they use at most this many bytes.
constexpr int64_t kMostSumBytes = int64_t{256} << 20;

int64_t rows_per_chunk(int64_t dims) {
  return std::max(kExactBlock, kChunkValues / dims);
}

// RowMap::apply with the kernels.
class RowMapper {
 public:
  RowMapper(const cpu::Kernels& kernels, const RowMap& map, std::span<const float* const> matrix_rows)
      : kernels_(kernels),
        map_(map),
        matrix_rows_(matrix_rows),
        y_(cpu::wide_size(map.dims_in)),
        center_(static_cast<size_t>(map.dims_in)),
        dots_(static_cast<size_t>(map.dims_out)) {
    std::copy(map.mean.begin(), map.mean.end(), center_.begin());
  }

  void apply(const float* x, float* z) {
    kernels_.moment->center_row(x, 1, center_.data(), map_.dims_in, y_.data());
    const double* values = y_.data();
    if (!matrix_rows_.empty()) {
      kernels_.exact_dots(y_.data(), matrix_rows_.data(), map_.dims_out, map_.dims_in, dots_.data());
      values = dots_.data();
    }
    std::transform(values, values + map_.dims_out, z, [](double value) { return static_cast<float>(value); });
    if (map_.normalize) normalize_vector({z, static_cast<size_t>(map_.dims_out)});
  }

 private:
  const cpu::Kernels& kernels_;
  const RowMap& map_;
  std::span<const float* const> matrix_rows_;
  std::vector<double> y_;  // padded with zeros
  std::vector<double> center_;
  std::vector<double> dots_;
};

class CpuAnalysis final : public Analysis {
 public:
  CpuAnalysis(const cpu::Kernels& kernels, const CpuBackendOptions& options)
      : kernels_(kernels), options_(options) {}

  Result<std::unique_ptr<KMeansPass>> kmeans_pass(const Points& points, Metric metric, int64_t count,
                                                  const InterruptCheck& interrupted) override {
    if (count > cpu::kMostBoundedClusters) return Analysis::kmeans_pass(points, metric, count, interrupted);
    GLOVE_ASSIGN_OR_RETURN(const int threads, threads_with_sums(count * points.dims));
    return cpu::make_bounded_pass(*this, kernels_, threads, points, metric, count);
  }

  Status assign(const Points& points, const Centroids& centroids, std::span<int32_t> labels,
                const InterruptCheck& interrupted) override {
    GLOVE_ASSIGN_OR_RETURN(const cpu::CentroidScan scan,
                           cpu::CentroidScan::prepare(kernels_, points, centroids, interrupted));
    return for_tiles(scan, points, interrupted, [&](int64_t first, int64_t last, const InterruptCheck& stop) {
      scan.assign(first, last, labels, stop);
    });
  }

  Status nearest_two(const Points& points, const Centroids& centroids, std::span<NearestTwo> nearest,
                     const InterruptCheck& interrupted) override {
    GLOVE_ASSIGN_OR_RETURN(const cpu::CentroidScan scan,
                           cpu::CentroidScan::prepare(kernels_, points, centroids, interrupted));
    return for_tiles(scan, points, interrupted, [&](int64_t first, int64_t last, const InterruptCheck& stop) {
      scan.nearest_two(first, last, nearest, stop);
    });
  }

  Status move_rows(const Points& points, std::span<const int32_t> from, std::span<const int32_t> to,
                   FixedSums& sums, const InterruptCheck& interrupted) override {
    const int64_t step = rows_per_chunk(points.dims);
    GLOVE_ASSIGN_OR_RETURN(const int threads, threads_with_sums(static_cast<int64_t>(sums.sums.size())));
    std::vector<cpu::PartialSums> partial(static_cast<size_t>(threads), cpu::PartialSums(sums));
    const auto work = [&](int slot, int64_t chunk) {
      std::vector<int64_t> changed;
      for (int64_t row = chunk * step; row < std::min(points.rows, (chunk + 1) * step); ++row)
        if (from[static_cast<size_t>(row)] != to[static_cast<size_t>(row)]) changed.push_back(row);
      for (size_t i = 0; i < changed.size(); ++i) {
        if (i + kRowsAhead < changed.size()) cpu::prefetch_row(points, changed[i + kRowsAhead]);
        const auto row = static_cast<size_t>(changed[i]);
        partial[static_cast<size_t>(slot)].move(*kernels_.many_clusters, sums, points, changed[i], from[row],
                                                to[row]);
      }
    };
    if (!ThreadPool::instance().run(threads, (points.rows + step - 1) / step, work, interrupted))
      return interrupted_error();
    for (const cpu::PartialSums& thread_sums : partial) thread_sums.add_to(sums);
    return {};
  }

  Status dots(const Points& points, std::span<const float> vector, std::span<double> dots,
              const InterruptCheck& interrupted) override {
    const std::vector<double> wide = cpu::widen(vector);
    const int64_t step = rows_per_chunk(points.dims);
    const auto work = [&](int, int64_t chunk) {
      const float* rows[kExactBlock] = {};
      const int64_t end = std::min(points.rows, (chunk + 1) * step);
      for (int64_t first = chunk * step; first < end; first += kExactBlock) {
        const int64_t count = std::min(kExactBlock, end - first);
        for (int64_t i = 0; i < count; ++i) rows[i] = points.vector(first + i);
        kernels_.exact_dots(wide.data(), rows, count, points.dims, dots.data() + first);
      }
    };
    return run((points.rows + step - 1) / step, interrupted, work);
  }

  Status column_sums(const Points& points, std::span<const double> weights, std::span<double> sums,
                     const InterruptCheck& interrupted) override {
    GLOVE_ASSIGN_OR_RETURN(const int threads, options_.thread_count());
    return cpu::column_sums(kernels_, threads, points, weights, sums, interrupted);
  }

  Status gram_product(const Points& points, std::span<const float> vector, std::span<double> product,
                      const InterruptCheck& interrupted) override {
    GLOVE_ASSIGN_OR_RETURN(const int threads, options_.thread_count());
    return cpu::gram_product(kernels_, threads, points, vector, product, interrupted);
  }

  Status second_moment(const Points& points, const MomentRows& rows, std::span<double> moment,
                       const InterruptCheck& interrupted) override {
    GLOVE_ASSIGN_OR_RETURN(const int threads, options_.thread_count());
    return cpu::second_moment(kernels_, threads, points, rows, moment, interrupted);
  }

  Status map_rows(const Points& points, const RowMap& map, std::span<float> out,
                  const InterruptCheck& interrupted) override {
    std::vector<const float*> matrix_rows;
    if (!map.matrix.empty())
      for (int64_t o = 0; o < map.dims_out; ++o) matrix_rows.push_back(map.matrix.data() + o * map.dims_in);
    const int64_t step =
        std::max<int64_t>(1, rows_per_chunk(points.dims) / std::max<int64_t>(1, map.dims_out / 8));
    const auto work = [&](int, int64_t chunk) {
      RowMapper mapper(kernels_, map, matrix_rows);
      for (int64_t row = chunk * step; row < std::min(points.rows, (chunk + 1) * step); ++row)
        mapper.apply(points.vector(row), out.data() + row * map.dims_out);
    };
    return run((points.rows + step - 1) / step, interrupted, work);
  }

  Result<Grid> convolve(const Grid& grid, std::span<const Grid> kernels,
                        const InterruptCheck& interrupted) override {
    GLOVE_ASSIGN_OR_RETURN(const int threads, options_.thread_count());
    return cpu::convolve(kernels_, threads, grid, kernels, interrupted);
  }

 private:
  // Returns the number of threads that may have `sums` integers of their own each.
  Result<int> threads_with_sums(int64_t sums) const {
    GLOVE_ASSIGN_OR_RETURN(const int threads, options_.thread_count());
    const int64_t bytes = sums * static_cast<int64_t>(sizeof(int64_t));
    return static_cast<int>(std::clamp<int64_t>(kMostSumBytes / (bytes + 1), 1, threads));
  }

  // Calls work(slot, chunk) for all chunks.
  Status run(int64_t chunks, const InterruptCheck& interrupted, const ThreadPool::Work& work) const {
    GLOVE_ASSIGN_OR_RETURN(const int threads, options_.thread_count());
    if (!ThreadPool::instance().run(threads, chunks, work, interrupted)) return interrupted_error();
    return {};
  }

  // Calls work(first tile, last tile, interrupted) until all tiles of the points are covered.
  Status for_tiles(const cpu::CentroidScan& scan, const Points& points, const InterruptCheck& interrupted,
                   const std::function<void(int64_t, int64_t, const InterruptCheck&)>& work) const {
    const int64_t tiles = tile_count(points.rows);
    const int64_t step = scan.tiles_per_chunk();
    ThreadInterrupt interrupt(interrupted);
    const auto chunk_work = [&](int slot, int64_t chunk) {
      work(chunk * step, std::min(tiles, (chunk + 1) * step), interrupt.of(slot));
    };
    GLOVE_RETURN_IF_ERROR(run((tiles + step - 1) / step, interrupt.of(0), chunk_work));
    if (interrupt.stopped()) return interrupted_error();
    return {};
  }

  const cpu::Kernels& kernels_;
  const CpuBackendOptions options_;
};

}  // namespace

Result<std::unique_ptr<Analysis>> make_cpu_analysis(const CpuBackendOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(const cpu::Kernels* const kernels, cpu::choose_kernels(options.target));
  return std::unique_ptr<Analysis>(std::make_unique<CpuAnalysis>(*kernels, options));
}

}  // namespace glove
