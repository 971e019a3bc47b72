// The ladders of the course labs on a GPU: y = A^T (A x) of a double matrix, 3 x 3 convolution of a float32
// matrix, and the covariance of 2,196,016 x 300 float32 rows in double. Each step is checked against plain
// kernels, on poisoned outputs, before it is timed. gpu_labs.py has the yardsticks. One JSON object per line:
// medians of events around a step, in microseconds.
//
//   gpu_labs_bench [covariance|convolution|atax|small]     small: sizes for a check
#include <cooperative_groups.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/moments.h"
#include "gpu/gram_plan.h"
#include "gpu/kernels/moments.h"

namespace {

namespace cg = cooperative_groups;

void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

template <class T>
class Array {
 public:
  explicit Array(int64_t size) : size_(size) {
    require(cudaMalloc(&data_, static_cast<size_t>(size) * sizeof(T)), "cudaMalloc");
  }
  ~Array() { cudaFree(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* data() const { return data_; }
  int64_t size() const { return size_; }
  void poison() const { require(cudaMemset(data_, 0xff, static_cast<size_t>(size_) * sizeof(T)), "poison"); }
  std::vector<T> host() const {
    std::vector<T> values(static_cast<size_t>(size_));
    require(cudaMemcpy(values.data(), data_, values.size() * sizeof(T), cudaMemcpyDeviceToHost), "copy");
    return values;
  }

 private:
  T* data_ = nullptr;
  int64_t size_;
};

__host__ __device__ double random_value(uint64_t i) {
  uint64_t z = (i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>(static_cast<int64_t>((z ^ (z >> 31)) >> 11)) * 0x1p-53 - 0.5;
}

template <class T>
__global__ void fill_kernel(T* data, int64_t size, uint64_t seed) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step)
    data[i] = static_cast<T>(random_value(seed + static_cast<uint64_t>(i)));
}

template <class T>
void fill(const Array<T>& array, uint64_t seed) {
  fill_kernel<<<2048, 256>>>(array.data(), array.size(), seed);
  require(cudaGetLastError(), "fill");
}

// The median time of the work, which is enqueued `batch` times between two events: launches of short work
// then overlap, as they do in a program.
double median_us(const std::function<void()>& work, int repeats, int batch = 1) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<float> times;
  for (int i = 0; i < repeats + 2; ++i) {
    cudaEventRecord(begin);
    for (int j = 0; j < batch; ++j) work();
    cudaEventRecord(end);
    require(cudaEventSynchronize(end), "timing");
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    if (i >= 2) times.push_back(ms / static_cast<float>(batch));
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] * 1e3;
}

void report(const char* work, const std::string& size, const char* step, double us, double bytes,
            double error) {
  std::printf(
      "{\"work\": \"%s\", \"size\": \"%s\", \"step\": \"%s\", \"us\": %.2f, \"tb_s\": %.3f, \"error\": "
      "%.3g}\n",
      work, size.c_str(), step, us, bytes / us * 1e-6, error);
  std::fflush(stdout);
}

// The largest difference relative to the largest value; infinite if a value is not finite.
template <class T>
double difference(const std::vector<T>& got, const std::vector<T>& wanted) {
  double largest = 0, error = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(static_cast<double>(got[i]))) return INFINITY;
    largest = std::max(largest, std::fabs(static_cast<double>(wanted[i])));
    error = std::max(error, std::fabs(static_cast<double>(got[i]) - static_cast<double>(wanted[i])));
  }
  return error / largest;
}

// --- y = A^T (A x) ----------------------------------------------------------------------------------------

// Lab: a thread per row; neighbouring threads read addresses that lie a row apart.
__global__ void thread_per_row(const double* a, const double* x, int64_t rows, int64_t columns,
                               double* dots) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  double sum = 0;
  for (int64_t j = 0; j < columns; ++j) sum += a[row * columns + j] * x[j];
  dots[row] = sum;
}

// Lab: a thread per column; neighbouring threads read neighbouring addresses.
__global__ void thread_per_column(const double* a, const double* dots, int64_t rows, int64_t columns,
                                  double* y) {
  const int64_t column = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  double sum = 0;
  for (int64_t i = 0; i < rows; ++i) sum += dots[i] * a[i * columns + column];
  y[column] = sum;
}

// A block per row, with coalesced loads.
__global__ void __launch_bounds__(256)
    block_per_row(const double* a, const double* x, int64_t columns, double* dots) {
  __shared__ double sums[256];
  const double* const row = a + blockIdx.x * columns;
  double sum = 0;
#pragma unroll 4
  for (int64_t j = threadIdx.x; j < columns; j += 256) sum += row[j] * x[j];
  sums[threadIdx.x] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) dots[blockIdx.x] = sums[0];
}

// A thread per column and block of rows: as many threads as a device wants.
__global__ void __launch_bounds__(256) column_blocks(const double* a, const double* dots, int64_t rows,
                                                     int64_t columns, int block_rows, double* sums) {
  const int64_t column = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (column >= columns) return;
  const int64_t first = static_cast<int64_t>(blockIdx.y) * block_rows;
  const int64_t last = min(rows, first + block_rows);
  double sum = 0;
#pragma unroll 8
  for (int64_t i = first; i < last; ++i) sum += dots[i] * a[i * columns + column];
  sums[blockIdx.y * columns + column] = sum;
}

// Reads A once. A cluster of blocks of threads shares the columns of a block of rows: x and the sums of y
// stay in registers, and so do two rows, whose successors are already on their way. A dot product is the sum
// over the threads of a warp, the warps of a block and the blocks of the cluster, each in a fixed order, so
// the result depends on the shape alone. REQUIRES: an even number of columns, at most 8 * kFusedColumns.
constexpr int kFusedThreads = 512;
constexpr int kFusedPairs = 4;
constexpr int kFusedRows = 2;
constexpr int kFusedColumns = 2 * kFusedPairs * kFusedThreads;

struct FusedRows {
  double2 values[kFusedRows][kFusedPairs];
};

__device__ void load_rows(const double* a, int64_t first, int64_t last, int64_t columns, int64_t begin,
                          int pairs, FusedRows& rows) {
#pragma unroll
  for (int r = 0; r < kFusedRows; ++r)
#pragma unroll
    for (int k = 0; k < kFusedPairs; ++k) {
      const int pair = static_cast<int>(threadIdx.x) + k * kFusedThreads;
      rows.values[r][k] = double2{0, 0};
      if (first + r < last && pair < pairs)
        rows.values[r][k] =
            __ldcs(reinterpret_cast<const double2*>(a + (first + r) * columns + begin) + pair);
    }
}

// The shared memory of a block; two slots, because a block may be a step ahead of its neighbours.
struct FusedSums {
  double of_warps[2][kFusedRows][kFusedThreads / 32];
  double of_blocks[2][kFusedRows][8];
};

// The dot products of two rows, and their contribution to y. Called by all threads of the cluster.
__device__ void use_rows(const cg::cluster_group& cluster, const FusedRows& rows, const double2* xs, int slot,
                         FusedSums& shared, double2* ys) {
  const int blocks = static_cast<int>(cluster.num_blocks());
#pragma unroll
  for (int r = 0; r < kFusedRows; ++r) {
    double sum = 0;
#pragma unroll
    for (int k = 0; k < kFusedPairs; ++k)
      sum = fma(rows.values[r][k].y, xs[k].y, fma(rows.values[r][k].x, xs[k].x, sum));
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    if (threadIdx.x % 32 == 0) shared.of_warps[slot][r][threadIdx.x / 32] = sum;
  }
  __syncthreads();
  if (threadIdx.x < kFusedRows * blocks) {
    const int r = static_cast<int>(threadIdx.x) / blocks;
    const int target = static_cast<int>(threadIdx.x) % blocks;
    double sum = 0;
#pragma unroll
    for (int w = 0; w < kFusedThreads / 32; ++w) sum += shared.of_warps[slot][r][w];
    *cluster.map_shared_rank(&shared.of_blocks[slot][r][cluster.block_rank()], target) = sum;
  }
  cluster.sync();
#pragma unroll
  for (int r = 0; r < kFusedRows; ++r) {
    double dot = 0;
    for (int b = 0; b < blocks; ++b) dot += shared.of_blocks[slot][r][b];
#pragma unroll
    for (int k = 0; k < kFusedPairs; ++k) {
      ys[k].x = fma(dot, rows.values[r][k].x, ys[k].x);
      ys[k].y = fma(dot, rows.values[r][k].y, ys[k].y);
    }
  }
}

__global__ void __launch_bounds__(kFusedThreads, 1)
    fused_kernel(const double* a, const double* x, int64_t rows, int64_t columns, int block_rows,
                 double* sums) {
  __shared__ FusedSums shared;
  const cg::cluster_group cluster = cg::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  const int blocks = static_cast<int>(cluster.num_blocks());
  const int64_t share = (columns / 2 + blocks - 1) / blocks * 2;
  const int64_t begin = rank * share;
  const int pairs = static_cast<int>(max(int64_t{0}, min(share, columns - begin)) / 2);
  const int64_t first = static_cast<int64_t>(blockIdx.x / blocks) * block_rows;
  const int64_t last = min(rows, first + block_rows);
  double2 xs[kFusedPairs], ys[kFusedPairs];
#pragma unroll
  for (int k = 0; k < kFusedPairs; ++k) {
    const int pair = static_cast<int>(threadIdx.x) + k * kFusedThreads;
    xs[k] = pair < pairs ? reinterpret_cast<const double2*>(x + begin)[pair] : double2{0, 0};
    ys[k] = double2{0, 0};
  }
  // The rows are loaded into two sets of registers in turn: moving them from one to the other would wait for
  // them before the next loads begin.
  FusedRows even, odd;
  load_rows(a, first, last, columns, begin, pairs, even);
  for (int64_t row = first; row < last; row += 2 * kFusedRows) {
    load_rows(a, row + kFusedRows, last, columns, begin, pairs, odd);
    use_rows(cluster, even, xs, 0, shared, ys);
    load_rows(a, row + 2 * kFusedRows, last, columns, begin, pairs, even);
    use_rows(cluster, odd, xs, 1, shared, ys);
  }
  double2* const out =
      reinterpret_cast<double2*>(sums + static_cast<int64_t>(blockIdx.x / blocks) * columns + begin);
#pragma unroll
  for (int k = 0; k < kFusedPairs; ++k) {
    const int pair = static_cast<int>(threadIdx.x) + k * kFusedThreads;
    if (pair < pairs) out[pair] = ys[k];
  }
  cluster.sync();  // nobody writes to the shared memory of a block that has ended
}

void launch_fused(const double* a, const double* x, int64_t rows, int64_t columns, int block_rows,
                  int cluster, double* sums) {
  const auto blocks = static_cast<unsigned>((rows + block_rows - 1) / block_rows);
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks * static_cast<unsigned>(cluster);
  config.blockDim = kFusedThreads;
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  config.attrs = &attribute;
  config.numAttrs = 1;
  require(cudaLaunchKernelEx(&config, fused_kernel, a, x, rows, columns, block_rows, sums), "fused");
}

void time_gram_product(int64_t rows, int64_t columns) {
  const std::string size = std::to_string(rows) + " x " + std::to_string(columns);
  const Array<double> a(rows * columns), x(columns), dots(rows), y(columns), wanted(columns);
  fill(a, 1);
  fill(x, 1ull << 60);
  const int repeats = a.size() > (int64_t{1} << 30) ? 5 : 15;
  const double bytes = static_cast<double>(a.size()) * 8;
  int block_rows = 16;
  while (block_rows < 128 && block_rows * 256 <= rows) block_rows *= 2;
  const int64_t blocks = (rows + block_rows - 1) / block_rows;
  const Array<double> sums(blocks * columns);
  const auto grid = [](int64_t count) { return static_cast<unsigned>((count + 255) / 256); };
  const auto lab = [&] {
    thread_per_row<<<grid(rows), 256>>>(a.data(), x.data(), rows, columns, dots.data());
    thread_per_column<<<grid(columns), 256>>>(a.data(), dots.data(), rows, columns, wanted.data());
  };
  const auto add = [&] {
    cudaMemsetAsync(y.data(), 0, static_cast<size_t>(columns) * 8);
    require(
        glove::gpu::launch_add_blocks(sums.data(), static_cast<int32_t>(blocks), columns, y.data(), nullptr),
        "add");
  };
  const auto coalesced = [&] {
    block_per_row<<<static_cast<unsigned>(rows), 256>>>(a.data(), x.data(), columns, dots.data());
    column_blocks<<<dim3(grid(columns), static_cast<unsigned>(blocks)), 256>>>(
        a.data(), dots.data(), rows, columns, block_rows, sums.data());
    add();
  };
  const double lab_us = median_us(lab, a.size() > (int64_t{1} << 30) ? 1 : 3);
  const std::vector<double> expected = wanted.host();
  report("atax", size, "a thread per row, then a thread per column (lab)", lab_us, 2 * bytes, 0);
  const auto run = [&](const char* name, double reads, const std::function<void()>& work) {
    y.poison();
    sums.poison();
    work();
    const double error = difference(y.host(), expected);
    report("atax", size, name, median_us(work, repeats, a.size() > (int64_t{1} << 26) ? 1 : 6), reads * bytes,
           error);
  };
  run("a block per row, then blocks of columns", 2, coalesced);
  for (int cluster = 1; cluster <= 8; ++cluster) {
    const int64_t least = (columns + kFusedColumns - 1) / kFusedColumns;
    if (cluster < least || (cluster > least + 1 && cluster != 8)) continue;
    const std::string name = "one read of A: rows in registers, clusters of " + std::to_string(cluster);
    run(name.c_str(), 1, [&] {
      launch_fused(a.data(), x.data(), rows, columns, block_rows, cluster, sums.data());
      add();
    });
  }
}

// --- 3 x 3 convolution ------------------------------------------------------------------------------------

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

// --- Covariance of float32 rows in double -----------------------------------------------------------------

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
                           plan.threads,
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
  const auto moment = [&] {
    in_groups(total, [&](int64_t first, int32_t count) {
      require(launch_second_moment(params(first), shape, center.data(), count, nullptr), "moment");
    });
  };
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
  sums.poison();
  moment();
  std::vector<double> got(wanted.size(), NAN);
  unfold_gram(plan, total.host(), dims, got);
  double error = 0;
  for (int i = 0; i < dims; ++i)
    for (int j = i; j < dims; ++j)
      if (const auto at = static_cast<size_t>(i) * static_cast<size_t>(dims) + static_cast<size_t>(j);
          !(got[at] == wanted[at]))
        error = INFINITY;
  report("covariance", size, "tiles of 8 x 8 in registers, centred", median_us(moment, 10), bytes, error);
  report("covariance", size, "column sums", median_us(mean, 10), bytes, 0);
  report("covariance", size, "column sums, then the tiles",
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

}  // namespace

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  const auto wanted = [&](const char* work) { return only.empty() || only == work; };
  if (only == "small") {
    time_gram_product(301, 700);
    time_gram_product(77, 9002);
    time_convolution(33, 132);
    time_convolution(7, 5);
    time_covariance(5000, 37);
  }
  if (wanted("covariance")) {
    time_covariance(341479, 100);
    time_covariance(2196016, 300);
  }
  if (wanted("convolution")) {
    time_convolution(4096, 4096);
    time_convolution(6000, 8000);
    time_convolution(8192, 8192);
  }
  if (wanted("atax")) {
    time_gram_product(2000, 3000);
    time_gram_product(4096, 4096);
    time_gram_product(16000, 16000);
    time_gram_product(65536, 25600);
  }
  return 0;
}
