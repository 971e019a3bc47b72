// 3 x 3 convolution of a float32 matrix; values beyond the border are 0.
#include <memory>

#include "bench/labs/gpu/ladder.cuh"

namespace glove::labs {
namespace {

struct Weights3 {
  float w[3][3];
};

// The sum of weight times value over the weights' rows and columns, rising; zeros beyond the border.
__device__ float at_or_zero(const float* in, int64_t rows, int64_t columns, int64_t i, int64_t j) {
  return i >= 0 && i < rows && j >= 0 && j < columns ? in[i * columns + j] : 0.0f;
}

// Lab: a thread per value, 16 x 16 threads.
__global__ void convolve_plain(const float* in, Weights3 weights, int64_t rows, int64_t columns, float* out) {
  const int64_t j = static_cast<int64_t>(blockIdx.x) * 16 + threadIdx.x;
  const int64_t i = static_cast<int64_t>(blockIdx.y) * 16 + threadIdx.y;
  if (i >= rows || j >= columns) return;
  float sum = 0;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      sum = __fadd_rn(sum, __fmul_rn(weights.w[a][b], at_or_zero(in, rows, columns, i + 1 - a, j + 1 - b)));
  out[i * columns + j] = sum;
}

// A tile with its border in shared memory.
__global__ void __launch_bounds__(256)
    convolve_shared(const float* in, Weights3 weights, int64_t rows, int64_t columns, float* out) {
  __shared__ float tile[10][34];
  const int64_t j0 = static_cast<int64_t>(blockIdx.x) * 32, i0 = static_cast<int64_t>(blockIdx.y) * 8;
  for (int t = threadIdx.x; t < 340; t += 256)
    tile[t / 34][t % 34] = at_or_zero(in, rows, columns, i0 + t / 34 - 1, j0 + t % 34 - 1);
  __syncthreads();
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  if (i0 + y >= rows || j0 + x >= columns) return;
  float sum = 0;
#pragma unroll
  for (int a = 0; a < 3; ++a)
#pragma unroll
    for (int b = 0; b < 3; ++b) sum = __fadd_rn(sum, __fmul_rn(weights.w[a][b], tile[y + 2 - a][x + 2 - b]));
  out[(i0 + y) * columns + j0 + x] = sum;
}

// A warp computes 128 columns of kRows rows: four columns per thread, all rows loaded at once in pieces of 16
// bytes, neighbours' values by shuffles. REQUIRES: the number of columns is a multiple of 4.
template <int kRows>
__global__ void __launch_bounds__(128)
    convolve_registers(const float* in, Weights3 weights, int64_t rows, int64_t columns, float* out) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int64_t j = (static_cast<int64_t>(blockIdx.x) * 128 + threadIdx.x) * 4;
  const int64_t i0 = static_cast<int64_t>(blockIdx.y) * kRows;
  const bool inside = j < columns;
  float4 x[kRows + 2];
  float left[kRows + 2], right[kRows + 2];
#pragma unroll
  for (int r = 0; r < kRows + 2; ++r) {
    const int64_t i = i0 + r - 1;
    const bool present = inside && i >= 0 && i < rows;
    x[r] = present ? __ldg(reinterpret_cast<const float4*>(in + i * columns + j)) : float4{0, 0, 0, 0};
    left[r] = right[r] = 0.0f;
    if (lane == 0 && present && j > 0) left[r] = __ldg(in + i * columns + j - 1);
    if (lane == 31 && present && j + 4 < columns) right[r] = __ldg(in + i * columns + j + 4);
  }
#pragma unroll
  for (int r = 0; r < kRows + 2; ++r) {
    const float from_left = __shfl_up_sync(0xffffffffu, x[r].w, 1);
    const float from_right = __shfl_down_sync(0xffffffffu, x[r].x, 1);
    if (lane > 0) left[r] = from_left;
    if (lane < 31) right[r] = from_right;
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    float sums[4] = {};
#pragma unroll
    for (int a = 0; a < 3; ++a) {
      const int from = r + 2 - a;
      const float values[6] = {left[from], x[from].x, x[from].y, x[from].z, x[from].w, right[from]};
#pragma unroll
      for (int c = 0; c < 4; ++c)
#pragma unroll
        for (int b = 0; b < 3; ++b)
          sums[c] = __fadd_rn(sums[c], __fmul_rn(weights.w[a][b], values[c + 2 - b]));
    }
    if (inside && i0 + r < rows)
      __stcs(reinterpret_cast<float4*>(out + (i0 + r) * columns + j),
             float4{sums[0], sums[1], sums[2], sums[3]});
  }
}

}  // namespace

void time_convolution(int64_t rows, int64_t columns) {
  const std::string size = std::to_string(rows) + " x " + std::to_string(columns);
  const Weights3 weights = {{{0.2f, 0.5f, -0.8f}, {-0.3f, 0.6f, -0.9f}, {0.4f, 0.7f, 0.1f}}};
  // Three pairs of arrays in turn, so that no input is in the cache.
  std::vector<std::unique_ptr<Array<float>>> in, out;
  for (uint64_t i = 0; i < 3; ++i) {
    in.push_back(std::make_unique<Array<float>>(rows * columns));
    out.push_back(std::make_unique<Array<float>>(rows * columns));
    fill(*in.back(), i << 40);
  }
  const double bytes = static_cast<double>(rows * columns) * 8;
  const auto grid = [&](int64_t width, int64_t height) {
    return dim3(static_cast<unsigned>((columns + width - 1) / width),
                static_cast<unsigned>((rows + height - 1) / height));
  };
  using Work = std::function<void(const float*, float*)>;
  std::vector<float> expected;
  const auto run = [&](const char* name, const Work& work, bool same) {
    out[0]->poison();
    work(in[0]->data(), out[0]->data());
    require(cudaGetLastError(), name);
    const std::vector<float> got = out[0]->host();
    if (expected.empty()) expected = got;
    size_t turn = 0;
    const double us = median_us(
        [&] {
          turn = (turn + 1) % 3;
          work(in[turn]->data(), out[turn]->data());
        },
        15, 6);
    report("convolution", size, name, us, bytes, same ? (got == expected ? 0.0 : INFINITY) : 0.0);
  };
  run(
      "a thread per value, 16 x 16 (lab)",
      [&](const float* from, float* to) {
        convolve_plain<<<grid(16, 16), dim3(16, 16)>>>(from, weights, rows, columns, to);
      },
      true);
  run(
      "tiles in shared memory",
      [&](const float* from, float* to) {
        convolve_shared<<<grid(32, 8), 256>>>(from, weights, rows, columns, to);
      },
      true);
  if (columns % 4 == 0) {
    run(
        "registers, 4 columns x 4 rows per thread",
        [&](const float* from, float* to) {
          convolve_registers<4><<<grid(512, 4), 128>>>(from, weights, rows, columns, to);
        },
        true);
    run(
        "registers, 4 columns x 8 rows per thread",
        [&](const float* from, float* to) {
          convolve_registers<8><<<grid(512, 8), 128>>>(from, weights, rows, columns, to);
        },
        true);
    run(
        "registers, 4 columns x 16 rows per thread",
        [&](const float* from, float* to) {
          convolve_registers<16><<<grid(512, 16), 128>>>(from, weights, rows, columns, to);
        },
        true);
  }
  run(
      "a copy",
      [&](const float* from, float* to) {
        cudaMemcpyAsync(to, from, static_cast<size_t>(rows * columns) * 4, cudaMemcpyDeviceToDevice);
      },
      false);
}

}  // namespace glove::labs
