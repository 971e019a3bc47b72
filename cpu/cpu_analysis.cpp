#include "cpu/cpu_analysis.h"

#include <algorithm>
#include <vector>

#include "base/thread_pool.h"
#include "cpu/analysis/cpu_pass.h"
#include "cpu/analysis/moments.h"
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/wide_query.h"

namespace glove {
namespace {

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
                                                  const InterruptCheck&) override {
    GLOVE_ASSIGN_OR_RETURN(const int threads, options_.thread_count());
    const auto make = count > cpu::kMostBoundedClusters ? cpu::make_code_pass : cpu::make_bounded_pass;
    return make(kernels_, threads, points, metric, count);
  }

  Status dots(const Points& points, std::span<const float> vector, std::span<double> dots,
              const InterruptCheck& interrupted) override {
    GLOVE_ASSIGN_OR_RETURN(const int threads, options_.thread_count());
    return cpu::dots(kernels_, threads, points, vector, dots, interrupted);
  }

  Status sum_rows(const Points& points, const RowSums& what, const InterruptCheck& interrupted) override {
    GLOVE_ASSIGN_OR_RETURN(const int threads, options_.thread_count());
    return cpu::sum_rows(kernels_, threads, points, what, interrupted);
  }

  Status map_rows(const Points& points, const RowMap& map, std::span<float> out,
                  const InterruptCheck& interrupted) override {
    std::vector<const float*> matrix_rows;
    if (!map.matrix.empty())
      for (int64_t o = 0; o < map.dims_out; ++o) matrix_rows.push_back(map.matrix.data() + o * map.dims_in);
    GLOVE_ASSIGN_OR_RETURN(const int threads, options_.thread_count());
    const int64_t step =
        std::max<int64_t>(1, cpu::rows_per_chunk(points.dims) / std::max<int64_t>(1, map.dims_out / 8));
    const auto work = [&](int, int64_t first, int64_t last) {
      RowMapper mapper(kernels_, map, matrix_rows);
      for (int64_t row = first; row < last; ++row)
        mapper.apply(points.vector(row), out.data() + row * map.dims_out);
    };
    return ThreadPool::for_pieces(threads, points.rows, step, interrupted, work);
  }

 private:
  const cpu::Kernels& kernels_;
  const CpuBackendOptions options_;
};

}  // namespace

Result<std::unique_ptr<Analysis>> make_cpu_analysis(const CpuBackendOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(const cpu::Kernels* const kernels, cpu::choose_kernels(options.target));
  return std::unique_ptr<Analysis>(std::make_unique<CpuAnalysis>(*kernels, options));
}

}  // namespace glove
