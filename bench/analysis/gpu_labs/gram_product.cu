// y = A^T (A x) of a double matrix.
#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include "bench/analysis/gpu_labs/ladder.cuh"
#include "gpu/kernels/moments.h"

namespace glove::labs {
namespace {

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

// Reads A once. A cluster of blocks of threads shares the columns of a block of rows: each thread keeps its
// part of x and of the sums of y in registers, and copies its part of the next rows to shared memory, several
// steps ahead. A dot product is the sum over the threads of a warp, the warps of a block and the blocks of
// the cluster, each in a fixed order, so the result depends on the shape alone. The blocks exchange the sums
// of a step while they multiply the next rows. REQUIRES: an even number of columns, at most 8 *
// kFusedColumns.
constexpr int kFusedThreads = 512;
constexpr int kFusedWarps = kFusedThreads / 32;
constexpr int kFusedPairs = 4;
constexpr int kFusedRows = 2;
constexpr int kFusedColumns = 2 * kFusedPairs * kFusedThreads;
constexpr int kMostStages = 4;
constexpr int64_t kMostStageBytes = 220 << 10;

struct FusedTask {
  const double* a;
  const double* x;
  int64_t rows, columns;
  int block_rows;  // that a cluster adds
  int stages;      // of rows in shared memory
  double* sums;    // [blocks of rows, columns]
};

// What a block of threads works on.
class FusedBlock {
 public:
  __device__ FusedBlock(const FusedTask& task, double2* stages)
      : task_(task), cluster_(cooperative_groups::this_cluster()), stages_(stages) {
    const int blocks = static_cast<int>(cluster_.num_blocks());
    share_ = static_cast<int>((task.columns / 2 + blocks - 1) / blocks);
    begin_ = static_cast<int64_t>(cluster_.block_rank()) * share_ * 2;
    pairs_ = static_cast<int>(max(int64_t{0}, min(int64_t{share_}, (task.columns - begin_) / 2)));
    first_ = static_cast<int64_t>(blockIdx.x / blocks) * task.block_rows;
    last_ = min(task.rows, first_ + task.block_rows);
#pragma unroll
    for (int k = 0; k < kFusedPairs; ++k) {
      x_[k] = pair(k) < pairs_ ? reinterpret_cast<const double2*>(task.x + begin_)[pair(k)] : double2{0, 0};
      y_[k] = double2{0, 0};
    }
  }

  __device__ int steps() const {
    return static_cast<int>((last_ - first_ + kFusedRows - 1) / kFusedRows);
  }

  // Begins to copy the rows of a step. Each thread copies what it reads itself.
  __device__ void copy(int step) {
#pragma unroll
    for (int r = 0; r < kFusedRows; ++r) {
      const int64_t row = first_ + int64_t{step} * kFusedRows + r;
      const auto* const from = reinterpret_cast<const double2*>(task_.a + row * task_.columns + begin_);
#pragma unroll
      for (int k = 0; k < kFusedPairs; ++k)
        if (pair(k) < pairs_ && row < last_) __pipeline_memcpy_async(at(step, r, k), from + pair(k), 16);
    }
    __pipeline_commit();
  }

  // The dot products of a step within this warp.
  __device__ void multiply(int step, double (*of_warps)[kFusedWarps]) const {
#pragma unroll
    for (int r = 0; r < kFusedRows; ++r) {
      double sum = 0;
#pragma unroll
      for (int k = 0; k < kFusedPairs; ++k)
        if (present(step, r, k)) sum = fma(at(step, r, k)->y, x_[k].y, fma(at(step, r, k)->x, x_[k].x, sum));
#pragma unroll
      for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
      if (threadIdx.x % 32 == 0) of_warps[r][threadIdx.x / 32] = sum;
    }
  }

  // Sends this block's sums to the blocks of the cluster.
  __device__ void send(const double (*of_warps)[kFusedWarps], double (*of_blocks)[8]) const {
    const auto blocks = static_cast<int>(cluster_.num_blocks());
    const auto thread = static_cast<int>(threadIdx.x);
    if (thread >= kFusedRows * blocks) return;
    const int r = thread / blocks;
    double sum = 0;
#pragma unroll
    for (int w = 0; w < kFusedWarps; ++w) sum += of_warps[r][w];
    *cluster_.map_shared_rank(&of_blocks[r][cluster_.block_rank()], thread % blocks) = sum;
  }

  // Adds the rows of a step, with the dot products that have come from the blocks.
  __device__ void add(int step, const double (*of_blocks)[8]) {
    const auto blocks = static_cast<int>(cluster_.num_blocks());
#pragma unroll
    for (int r = 0; r < kFusedRows; ++r) {
      double dot = 0;
      for (int b = 0; b < blocks; ++b) dot += of_blocks[r][b];
#pragma unroll
      for (int k = 0; k < kFusedPairs; ++k)
        if (present(step, r, k)) {
          y_[k].x = fma(dot, at(step, r, k)->x, y_[k].x);
          y_[k].y = fma(dot, at(step, r, k)->y, y_[k].y);
        }
    }
  }

  __device__ void store() const {
    const int64_t block = blockIdx.x / cluster_.num_blocks();
    auto* const out = reinterpret_cast<double2*>(task_.sums + block * task_.columns + begin_);
#pragma unroll
    for (int k = 0; k < kFusedPairs; ++k)
      if (pair(k) < pairs_) out[pair(k)] = y_[k];
  }

  __device__ const cooperative_groups::cluster_group& cluster() const {
    return cluster_;
  }

 private:
  __device__ static int pair(int k) {
    return static_cast<int>(threadIdx.x) + k * kFusedThreads;
  }
  __device__ bool present(int step, int r, int k) const {
    return pair(k) < pairs_ && first_ + int64_t{step} * kFusedRows + r < last_;
  }
  __device__ double2* at(int step, int r, int k) const {
    return stages_ + (step % task_.stages * kFusedRows + r) * share_ + pair(k);
  }

  const FusedTask& task_;
  const cooperative_groups::cluster_group cluster_;
  double2* const stages_;
  int share_, pairs_;  // pairs of columns per block, and of this one
  int64_t begin_, first_, last_;
  double2 x_[kFusedPairs], y_[kFusedPairs];
};

__global__ void __launch_bounds__(kFusedThreads, 1) fused_kernel(const __grid_constant__ FusedTask task) {
  extern __shared__ double2 stages[];
  // Two slots, because a block may be a step ahead of its neighbours.
  __shared__ double of_warps[2][kFusedRows][kFusedWarps];
  __shared__ double of_blocks[2][kFusedRows][8];
  FusedBlock block(task, stages);
  const int steps = block.steps();
  for (int step = 0; step + 1 < task.stages; ++step) block.copy(step);
  for (int step = 0; step < steps; ++step) {
    if (task.stages == 3)
      __pipeline_wait_prior(1);
    else
      __pipeline_wait_prior(2);
    block.multiply(step, of_warps[step % 2]);
    if (step > 0) {
      block.cluster().barrier_wait();
      block.add(step - 1, of_blocks[(step - 1) % 2]);
    }
    block.copy(step + task.stages - 1);
    __syncthreads();
    block.send(of_warps[step % 2], of_blocks[step % 2]);
    block.cluster().barrier_arrive();
  }
  block.cluster().barrier_wait();
  block.add(steps - 1, of_blocks[(steps - 1) % 2]);
  block.store();
  block.cluster().sync();  // nobody writes to the shared memory of a block that has ended
}

void launch_fused(FusedTask task, int cluster) {
  const auto blocks = static_cast<unsigned>((task.rows + task.block_rows - 1) / task.block_rows);
  const int64_t share = (task.columns / 2 + cluster - 1) / cluster;
  const int64_t stage_bytes = kFusedRows * share * 16;
  task.stages = kMostStages * stage_bytes <= kMostStageBytes ? kMostStages : kMostStages - 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks * static_cast<unsigned>(cluster);
  config.blockDim = kFusedThreads;
  config.dynamicSmemBytes = static_cast<size_t>(task.stages * stage_bytes);
  require(cudaFuncSetAttribute(fused_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(config.dynamicSmemBytes)),
          "shared memory");
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  config.attrs = &attribute;
  config.numAttrs = 1;
  require(cudaLaunchKernelEx(&config, fused_kernel, task), "fused");
}

}  // namespace

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
    const std::string name = "one read of A: clusters of " + std::to_string(cluster);
    run(name.c_str(), 1, [&] {
      launch_fused({a.data(), x.data(), rows, columns, block_rows, 0, sums.data()}, cluster);
      add();
    });
  }
}

}  // namespace glove::labs
