// Covariance of float32 rows in double: the kernels that ship, and the lab's.
#include "analysis/moments.h"
#include "bench/labs/gpu/ladder.cuh"
#include "gpu/kernels/moments.h"
#include "gpu/layout/gram_plan.h"

namespace glove::labs {
namespace {

// A thread per entry of the triangle and block of rows, as the lab's kernel with its sum in a register.
__global__ void __launch_bounds__(256)
    plain_moment(const float* rows, int64_t count, int dims, const float* center, double* sums) {
  const int j = static_cast<int>(blockIdx.x * 16 + threadIdx.x % 16);
  const int i = static_cast<int>(blockIdx.y * 16 + threadIdx.x / 16);
  const int64_t first = static_cast<int64_t>(blockIdx.z) * glove::kMomentBlock;
  if (i >= dims || j >= dims || i > j) return;
  double sum = 0;
  for (int64_t row = first; row < min(count, first + glove::kMomentBlock); ++row)
    sum = fma(static_cast<double>(rows[row * dims + i] - center[i]),
              static_cast<double>(rows[row * dims + j] - center[j]), sum);
  sums[(static_cast<int64_t>(blockIdx.z) * dims + i) * dims + j] = sum;
}

}  // namespace

void time_covariance(int64_t rows, int dims) {
  using namespace glove;
  using namespace glove::gpu;
  const std::string size = std::to_string(rows) + " x " + std::to_string(dims);
  const Array<float> x(rows * dims), center(dims);
  fill(x, 7);
  fill(center, 1ull << 60);
  const int64_t blocks = (rows + kMomentBlock - 1) / kMomentBlock;
  const double bytes = static_cast<double>(x.size()) * 4;
  const GramPlan plan = plan_gram(dims);
  const Array<GramTile> tiles(static_cast<int64_t>(plan.tiles.size()));
  const Array<GramGroup> groups(static_cast<int64_t>(plan.groups.size()));
  cudaMemcpy(tiles.data(), plan.tiles.data(), plan.tiles.size() * sizeof(GramTile), cudaMemcpyHostToDevice);
  cudaMemcpy(groups.data(), plan.groups.data(), plan.groups.size() * sizeof(GramGroup),
             cudaMemcpyHostToDevice);
  const GramShape shape = {static_cast<int32_t>(plan.groups.size()),
                           plan.warps,
                           plan.panel,
                           plan.width,
                           tiles.data(),
                           groups.data()};
  const int64_t step = std::min(blocks, std::max<int64_t>(1, (int64_t{256} << 20) / (plan.size() * 8)));
  const Array<double> sums(std::max(step * plan.size(), step * dims * dims)), total(plan.size()),
      columns(dims), column_total(dims);
  const Array<double> square(static_cast<int64_t>(dims) * dims);
  const auto in_groups = [&](const Array<double>& out, const std::function<void(int64_t, int32_t)>& launch) {
    cudaMemsetAsync(out.data(), 0, static_cast<size_t>(out.size()) * 8);
    for (int64_t first = 0; first < blocks; first += step) {
      const auto count = static_cast<int32_t>(std::min(step, blocks - first));
      launch(first, count);
      require(launch_add_blocks(sums.data(), count, out.size(), out.data(), nullptr), "add");
    }
  };
  const auto params = [&](int64_t first) {
    return MomentParams{x.data(), rows, dims, nullptr, static_cast<int32_t>(first), sums.data()};
  };
  const auto plain = [&] {
    in_groups(square, [&](int64_t first, int32_t count) {
      const auto side = static_cast<unsigned>((dims + 15) / 16);
      plain_moment<<<dim3(side, side, static_cast<unsigned>(count)), 256>>>(
          x.data() + first * kMomentBlock * dims, rows - first * kMomentBlock, dims, center.data(),
          sums.data());
    });
  };
  const auto moment_by = [&](bool tensor_cores) {
    in_groups(total, [&](int64_t first, int32_t count) {
      require(launch_second_moment(params(first), shape, center.data(), count, tensor_cores, nullptr),
              "moment");
    });
  };
  const auto moment = [&] { moment_by(true); };
  const auto mean = [&] {
    in_groups(column_total, [&](int64_t first, int32_t count) {
      require(launch_column_sums(params(first), count, nullptr), "columns");
    });
  };
  const Array<float> vector(dims);
  fill(vector, 99);
  const auto product = [&] {
    in_groups(column_total, [&](int64_t first, int32_t count) {
      require(launch_gram_product(params(first), vector.data(), count, nullptr), "product");
    });
  };
  const double plain_us = median_us(plain, 1);
  const std::vector<double> wanted = square.host();
  report("covariance", size, "a thread per entry and block of rows (lab, with blocks)", plain_us, bytes, 0);
  const auto error_of = [&](bool tensor_cores) {
    sums.poison();
    moment_by(tensor_cores);
    std::vector<double> got(wanted.size(), NAN);
    unfold_gram(plan, total.host(), dims, got);
    for (int i = 0; i < dims; ++i)
      for (int j = i; j < dims; ++j)
        if (const auto at = static_cast<size_t>(i) * static_cast<size_t>(dims) + static_cast<size_t>(j);
            !(got[at] == wanted[at]))
          return static_cast<double>(INFINITY);
    return 0.0;
  };
  report("covariance", size, "the same plan with fma, centred", median_us([&] { moment_by(false); }, 10),
         bytes, error_of(false));
  const double error = error_of(true);
  report("covariance", size, "tensor cores, 32 x 32 sums per warp, centred", median_us(moment, 10), bytes,
         error);
  report("covariance", size, "column sums", median_us(mean, 10), bytes, 0);
  report("covariance", size, "column sums, then the second moment",
         median_us(
             [&] {
               mean();
               moment();
             },
             10),
         bytes, error);
  report("atax float32", size, "teams of 8 lanes, rows again from the cache", median_us(product, 10), bytes,
         0);
}

}  // namespace glove::labs
