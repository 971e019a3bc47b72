#include "cpu/cpu_analysis.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "base/cores.h"
#include "base/thread_pool.h"
#include "cpu/assign.h"
#include "cpu/kernels.h"
#include "cpu/moments.h"
#include "search/settings.h"

namespace glove {
namespace {

// The values in one chunk of work: enough to be worth scheduling, and a few ms at most.
constexpr int64_t kChunkValues = 256 << 10;
constexpr int64_t kExactBlock = 64;
constexpr size_t kRowsAhead = 8;  // changed rows that are prefetched
constexpr int64_t kLineFloats = 16;
// Each thread that assigns rows has its own sums. Together they use at most this many bytes.
constexpr int64_t kMostSumBytes = int64_t{256} << 20;

Status interrupted_error() {
  return {ErrorCode::kInterrupted, "interrupted"};
}

int64_t rows_per_chunk(int64_t dims) {
  return std::max(kExactBlock, kChunkValues / dims);
}

// Always inline, because GCC drops calls of functions that only prefetch.
[[gnu::always_inline]] inline void prefetch_row(const Points& points, int64_t row) {
  const float* const x = points.vector(row);
  for (int64_t j = 0; j < points.dims; j += kLineFloats) __builtin_prefetch(x + j);
}

// The sums that one thread accumulates.
struct PartialSums {
  std::vector<int64_t> sums;
  std::vector<int64_t> sizes;
  std::vector<int64_t> fixed;    // one row
  std::vector<int64_t> changed;  // the rows of one chunk that are moved

  explicit PartialSums(const FixedSums& total)
      : sums(total.sums.size()), sizes(total.sizes.size()), fixed(static_cast<size_t>(total.dims)) {}

  void add(int64_t cluster, int64_t sign) {
    if (cluster < 0) return;
    const auto dims = static_cast<int64_t>(fixed.size());
    int64_t* const sum = sums.data() + cluster * dims;
    for (int64_t j = 0; j < dims; ++j) sum[j] += sign * fixed[static_cast<size_t>(j)];
    sizes[static_cast<size_t>(cluster)] += sign;
  }
};

// RowMap::apply with the kernels.
class RowMapper {
 public:
  RowMapper(const cpu::Kernels& kernels, const RowMap& map, std::span<const float* const> matrix_rows)
      : kernels_(kernels),
        map_(map),
        matrix_rows_(matrix_rows),
        y_(static_cast<size_t>((map.dims_in + 7) / 8 * 8)),
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
      : kernels_(kernels), threads_(options.threads), settings_(options.settings) {}

  Status assign(const Points& points, const Centroids& centroids, std::span<int32_t> labels,
                const InterruptCheck& interrupted) override {
    const cpu::CentroidScan scan(kernels_, points, centroids);
    return for_tiles(scan, points, interrupted,
                     [&](int64_t first, int64_t last) { scan.assign(first, last, labels); });
  }

  Status nearest_two(const Points& points, const Centroids& centroids, std::span<NearestTwo> nearest,
                     const InterruptCheck& interrupted) override {
    const cpu::CentroidScan scan(kernels_, points, centroids);
    return for_tiles(scan, points, interrupted,
                     [&](int64_t first, int64_t last) { scan.nearest_two(first, last, nearest); });
  }

  Status move_rows(const Points& points, std::span<const int32_t> from, std::span<const int32_t> to,
                   FixedSums& sums, const InterruptCheck& interrupted) override {
    const int64_t step = rows_per_chunk(points.dims);
    const auto sum_bytes = static_cast<int64_t>(sums.sums.size() * sizeof(int64_t));
    GLOVE_ASSIGN_OR_RETURN(const int most_threads, thread_count());
    const int threads =
        static_cast<int>(std::clamp<int64_t>(kMostSumBytes / (sum_bytes + 1), 1, most_threads));
    std::vector<PartialSums> partial;
    partial.reserve(static_cast<size_t>(threads));
    for (int slot = 0; slot < threads; ++slot) partial.emplace_back(sums);
    const auto work = [&](int slot, int64_t chunk) {
      PartialSums& mine = partial[static_cast<size_t>(slot)];
      mine.changed.clear();
      for (int64_t row = chunk * step; row < std::min(points.rows, (chunk + 1) * step); ++row)
        if (from[static_cast<size_t>(row)] != to[static_cast<size_t>(row)]) mine.changed.push_back(row);
      for (size_t i = 0; i < mine.changed.size(); ++i) {
        if (i + kRowsAhead < mine.changed.size()) prefetch_row(points, mine.changed[i + kRowsAhead]);
        const int64_t row = mine.changed[i];
        kernels_.many_clusters->to_fixed(points.vector(row), sums.factor(points.norms_squared[row]),
                                         points.dims, mine.fixed.data());
        mine.add(from[static_cast<size_t>(row)], -1);
        mine.add(to[static_cast<size_t>(row)], 1);
      }
    };
    if (!ThreadPool::instance().run(threads, (points.rows + step - 1) / step, work, interrupted))
      return interrupted_error();
    for (const PartialSums& thread_sums : partial) {
      std::transform(sums.sums.begin(), sums.sums.end(), thread_sums.sums.begin(), sums.sums.begin(),
                     std::plus<>());
      std::transform(sums.sizes.begin(), sums.sizes.end(), thread_sums.sizes.begin(), sums.sizes.begin(),
                     std::plus<>());
    }
    return {};
  }

  Status dots(const Points& points, std::span<const float> vector, std::span<double> dots,
              const InterruptCheck& interrupted) override {
    std::vector<double> wide(vector.begin(), vector.end());
    wide.resize((wide.size() + 7) / 8 * 8);
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
    GLOVE_ASSIGN_OR_RETURN(const int threads, thread_count());
    return cpu::column_sums(kernels_, threads, points, weights, sums, interrupted);
  }

  Status gram_product(const Points& points, std::span<const float> vector, std::span<double> product,
                      const InterruptCheck& interrupted) override {
    GLOVE_ASSIGN_OR_RETURN(const int threads, thread_count());
    return cpu::gram_product(kernels_, threads, points, vector, product, interrupted);
  }

  Status second_moment(const Points& points, const MomentRows& rows, std::span<double> moment,
                       const InterruptCheck& interrupted) override {
    GLOVE_ASSIGN_OR_RETURN(const int threads, thread_count());
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

 private:
  Result<int> thread_count() const {
    if (threads_ > 0) return threads_;
    int threads = 0;
    if (settings_ != nullptr) {
      GLOVE_ASSIGN_OR_RETURN(threads, settings_->threads());
    }
    return threads > 0 ? threads : usable_cores();
  }

  // Calls work(slot, chunk) for all chunks.
  Status run(int64_t chunks, const InterruptCheck& interrupted, const ThreadPool::Work& work) const {
    GLOVE_ASSIGN_OR_RETURN(const int threads, thread_count());
    if (!ThreadPool::instance().run(threads, chunks, work, interrupted)) return interrupted_error();
    return {};
  }

  // Calls work(first tile, last tile) until all tiles of the points are covered.
  Status for_tiles(const cpu::CentroidScan& scan, const Points& points, const InterruptCheck& interrupted,
                   const std::function<void(int64_t, int64_t)>& work) const {
    const int64_t tiles = tile_count(points.rows);
    const int64_t step = scan.tiles_per_chunk();
    const auto chunk_work = [&](int, int64_t chunk) {
      work(chunk * step, std::min(tiles, (chunk + 1) * step));
    };
    return run((tiles + step - 1) / step, interrupted, chunk_work);
  }

  const cpu::Kernels& kernels_;
  int threads_;
  Settings* settings_;
};

}  // namespace

Result<std::unique_ptr<Analysis>> make_cpu_analysis(const CpuBackendOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(const cpu::Kernels* const kernels, cpu::choose_kernels(options.target));
  return std::unique_ptr<Analysis>(std::make_unique<CpuAnalysis>(*kernels, options));
}

}  // namespace glove
