// y = A^T (A x) of a double matrix.
#include <cooperative_groups.h>

#include "bench/labs/gpu/ladder.cuh"

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
constexpr int kFusedWarps = kFusedThreads / 32;
constexpr int kMostCluster = 8;
struct FusedSums {
  double of_warps[2][kFusedRows][kFusedWarps];
  double of_blocks[2][kFusedRows][kMostCluster];
  uint64_t arrived[2];  // mbarriers: all blocks have written their sums to a slot of of_blocks
};

__device__ uint32_t shared_address(const void* place) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(place));
}

// One thread of the block: `bytes` will be written to its shared memory before the barrier's phase ends.
__device__ void expect_bytes(uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

// Writes a value to the same place in the shared memory of another block of the cluster, and counts it there.
__device__ void write_to(int block, double* place, double value, uint64_t* barrier) {
  asm volatile(
      "{\n .reg .b32 to, counter;\n"
      " mapa.shared::cluster.u32 to, %0, %3;\n"
      " mapa.shared::cluster.u32 counter, %1, %3;\n"
      " st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [to], %2, [counter];\n}" ::"r"(
          shared_address(place)),
      "r"(shared_address(barrier)), "l"(__double_as_longlong(value)), "r"(block)
      : "memory");
}

__device__ void wait_for(uint64_t* barrier, uint32_t phase) {
  asm volatile(
      "{\n .reg .pred done;\n"
      "wait_%=:\n mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      " @!done bra wait_%=;\n}" ::"r"(shared_address(barrier)),
      "r"(phase)
      : "memory");
}

// The sum of kCount values in pairs, because an addition in double takes long.
template <int kCount>
__device__ double sum_in_pairs(const double* values) {
  if constexpr (kCount == 1)
    return values[0];
  else
    return sum_in_pairs<kCount / 2>(values) + sum_in_pairs<kCount / 2>(values + kCount / 2);
}

// The dot products of two rows, and their contribution to y. Called by all threads of the cluster.
__device__ void use_rows(const cooperative_groups::cluster_group& cluster, const FusedRows& rows,
                         const double2* xs, int slot, uint32_t phase, FusedSums& shared, double2* ys) {
  const int blocks = static_cast<int>(cluster.num_blocks());
#pragma unroll
  for (int r = 0; r < kFusedRows; ++r) {
    double products[kFusedPairs];
#pragma unroll
    for (int k = 0; k < kFusedPairs; ++k)
      products[k] = fma(rows.values[r][k].y, xs[k].y, rows.values[r][k].x * xs[k].x);
    double sum = sum_in_pairs<kFusedPairs>(products);
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    if (threadIdx.x % 32 == 0) shared.of_warps[slot][r][threadIdx.x / 32] = sum;
  }
  __syncthreads();
  if (threadIdx.x < kFusedRows * blocks) {
    const int r = static_cast<int>(threadIdx.x) / blocks;
    const int target = static_cast<int>(threadIdx.x) % blocks;
    if (threadIdx.x == 0)
      expect_bytes(&shared.arrived[slot], kFusedRows * blocks * static_cast<int>(sizeof(double)));
    write_to(target, &shared.of_blocks[slot][r][cluster.block_rank()],
             sum_in_pairs<kFusedWarps>(shared.of_warps[slot][r]), &shared.arrived[slot]);
  }
  wait_for(&shared.arrived[slot], phase);
#pragma unroll
  for (int r = 0; r < kFusedRows; ++r) {
    const double dot = sum_in_pairs<kMostCluster>(shared.of_blocks[slot][r]);  // zeros past the last block
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
  for (int i = static_cast<int>(threadIdx.x); i < 2 * kFusedRows * kMostCluster; i += kFusedThreads)
    (&shared.of_blocks[0][0][0])[i] = 0;
  if (threadIdx.x < 2) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&shared.arrived[threadIdx.x]))
                 : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
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
  cluster.sync();  // the zeros are written before a neighbour writes its sums
  FusedRows even, odd;
  load_rows(a, first, last, columns, begin, pairs, even);
  uint32_t phase = 0;
  for (int64_t row = first; row < last; row += 2 * kFusedRows, phase ^= 1) {
    load_rows(a, row + kFusedRows, last, columns, begin, pairs, odd);
    use_rows(cluster, even, xs, 0, phase, shared, ys);
    load_rows(a, row + 2 * kFusedRows, last, columns, begin, pairs, even);
    use_rows(cluster, odd, xs, 1, phase, shared, ys);
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

// The sums of all blocks of rows, a thread per column.
__global__ void __launch_bounds__(256)
    add_blocks(const double* sums, int64_t blocks, int64_t columns, double* y) {
  const int64_t column = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (column >= columns) return;
  double sum = 0;
#pragma unroll 16
  for (int64_t block = 0; block < blocks; ++block) sum += sums[block * columns + column];
  y[column] = sum;
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

}  // namespace

void time_gram_product(int64_t rows, int64_t columns) {
  const std::string size = std::to_string(rows) + " x " + std::to_string(columns);
  const Array<double> a(rows * columns), x(columns), dots(rows), y(columns), wanted(columns);
  fill(a, 1);
  fill(x, 1ull << 60);
  const int repeats = a.size() > (int64_t{1} << 30) ? 5 : 15;
  const double bytes = static_cast<double>(a.size()) * 8;
  int block_rows = 16;
  while (block_rows < 512 && block_rows * 256 <= rows) block_rows *= 2;
  const int64_t blocks = (rows + block_rows - 1) / block_rows;
  const Array<double> sums(blocks * columns);
  const auto grid = [](int64_t count) { return static_cast<unsigned>((count + 255) / 256); };
  const auto lab = [&] {
    thread_per_row<<<grid(rows), 256>>>(a.data(), x.data(), rows, columns, dots.data());
    thread_per_column<<<grid(columns), 256>>>(a.data(), dots.data(), rows, columns, wanted.data());
  };
  const auto add = [&] { add_blocks<<<grid(columns), 256>>>(sums.data(), blocks, columns, y.data()); };
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

}  // namespace glove::labs
