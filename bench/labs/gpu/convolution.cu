// 3 x 3 convolution of a float32 matrix; values beyond the border are 0.
#include <memory>

#include "bench/labs/gpu/ladder.cuh"
#include "gpu/kernels/convolve.cuh"

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

// The sum that defines the convolution with `side` x `side` weights.
template <class Value>
__global__ void convolve_definition(gpu::ConvolveParams<Value> params) {
  const int j = static_cast<int>(blockIdx.x) * 256 + static_cast<int>(threadIdx.x);
  const int64_t i = blockIdx.y;
  if (j >= params.columns) return;
  Value sum = 0;
  for (int a = 0; a < params.height; ++a)
    for (int b = 0; b < params.width; ++b) {
      const int64_t row = i + params.height / 2 - a;
      const int column = j + params.width / 2 - b;
      if (row >= 0 && row < params.rows && column >= 0 && column < params.columns)
        sum = gpu::plus_product(sum, params.weights[a * params.width + b],
                                params.in[row * params.columns + column]);
    }
  params.out[i * params.columns + j] = sum;
}

// The kernel of gpu/kernels/convolve.cuh on three matrices in turn.
template <class Value>
void time_shipped(int64_t rows, int64_t columns, int side, const char* name) {
  const Array<Value> weights(side * side), expected(rows * columns);
  fill(weights, uint64_t{7} << 40);
  std::vector<std::unique_ptr<Array<Value>>> in, out;
  for (uint64_t i = 0; i < 3; ++i) {
    in.push_back(std::make_unique<Array<Value>>(rows * columns));
    out.push_back(std::make_unique<Array<Value>>(rows * columns));
    fill(*in.back(), i << 40);
    out.back()->poison();
  }
  const auto params = [&](size_t turn, Value* to) {
    return gpu::ConvolveParams<Value>{
        in[turn]->data(), weights.data(), rows, static_cast<int32_t>(columns), side, side, 0, rows, to};
  };
  const dim3 grid(static_cast<unsigned>((columns + 255) / 256), static_cast<unsigned>(rows));
  convolve_definition<<<grid, 256>>>(params(0, expected.data()));
  require(gpu::launch_convolve_rows(params(0, out[0]->data()), nullptr), name);
  const double error = out[0]->host() == expected.host() ? 0.0 : INFINITY;
  size_t turn = 0;
  const double us = median_us(
      [&] {
        turn = (turn + 1) % 3;
        require(gpu::launch_convolve_rows(params(turn, out[turn]->data()), nullptr), name);
      },
      9, side > 3 ? 1 : 6);
  report("convolution", std::to_string(rows) + " x " + std::to_string(columns), name, us,
         static_cast<double>(rows * columns) * 2 * sizeof(Value), error);
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
  time_shipped<float>(rows, columns, 3, "float32, as it ships");
  time_shipped<double>(rows, columns, 3, "double, as it ships");
  time_shipped<double>(rows, columns, 15, "double, 15 x 15");
  run(
      "a copy",
      [&](const float* from, float* to) {
        cudaMemcpyAsync(to, from, static_cast<size_t>(rows * columns) * 4, cudaMemcpyDeviceToDevice);
      },
      false);
}

}  // namespace glove::labs
