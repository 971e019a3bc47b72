#include "gpu/kernels/moments.h"

#include "analysis/moments.h"
#include "gpu/kernels/launch.cuh"
#include "gpu/layout/tile.h"
#include "gpu/primitives/warp/exact_dot.cuh"
#include "gpu/primitives/warp/matrix.cuh"

namespace glove::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kStepRows = kThreads / 8;  // a team of eight lanes per row
constexpr int kRowsInFlight = 8;
constexpr int kColumnThreads = 64;
constexpr int kColumnRows = 32;  // in flight
constexpr int kBlocksInFlight = 16;
constexpr unsigned kCheckBlocks = 32;

// sum + factor * x, or sum if the factor is 0. Without a branch, so that the products of other rows need not
// wait.
__device__ double add_product(double sum, double factor, float x) {
  const double next = __dadd_rn(sum, __dmul_rn(factor, static_cast<double>(x)));
  return factor != 0.0 ? next : sum;
}

// Adds `count` rows with these factors to the columns' sums. A factor of 0 leaves its row out.
//   rows  [count, dims];  factors  [kStepRows], zeros past count;  sums  [dims]
__device__ void add_rows(const float* rows, int count, int dims, const double* factors, double* sums) {
  for (int j = static_cast<int>(threadIdx.x); j < dims; j += kThreads) {
    double sum = sums[j];
    for (int first = 0; first < count; first += kRowsInFlight) {
      float x[kRowsInFlight];
#pragma unroll
      for (int i = 0; i < kRowsInFlight; ++i)
        x[i] = first + i < count ? __ldg(rows + static_cast<int64_t>(first + i) * dims + j) : 0.0f;
#pragma unroll
      for (int i = 0; i < kRowsInFlight; ++i) sum = add_product(sum, factors[first + i], x[i]);
    }
    sums[j] = sum;
  }
}

// Reads one column of kColumnRows rows; 0 past the last.
__device__ void read_column(const float* rows, int count, int dims, float (&x)[kColumnRows]) {
#pragma unroll
  for (int i = 0; i < kColumnRows; ++i)
    x[i] = i < count ? __ldg(rows + static_cast<int64_t>(i) * dims) : 0.0f;
}

// blockIdx.x: the columns, one per thread; blockIdx.y: the block of rows. The next rows are read while the
// last ones are added.
template <bool kWeighted>
__global__ void __launch_bounds__(kColumnThreads)
    column_sums_kernel(const __grid_constant__ MomentParams params) {
  const int j = static_cast<int>(blockIdx.x * kColumnThreads + threadIdx.x);
  if (j >= params.dims) return;
  const int64_t begin = (int64_t{params.first_block} + blockIdx.y) * kMomentBlock;
  const auto count = static_cast<int>(min(params.rows - begin, int64_t{kMomentBlock}));
  const float* rows = params.vectors + begin * params.dims + j;
  double sum = 0.0;
  float x[kColumnRows], next[kColumnRows];
  read_column(rows, count, params.dims, x);
  for (int first = 0; first < count; first += kColumnRows) {
    rows += int64_t{kColumnRows} * params.dims;
    read_column(rows, count - first - kColumnRows, params.dims, next);
#pragma unroll
    for (int i = 0; i < kColumnRows; ++i) {
      if (!kWeighted) {
        sum = __dadd_rn(sum, static_cast<double>(x[i]));  // 0 past the last row
      } else {
        const double weight = first + i < count ? __ldg(params.weights + begin + first + i) : 0.0;
        sum = add_product(sum, weight, x[i]);
      }
      x[i] = next[i];
    }
  }
  params.sums[int64_t{blockIdx.y} * params.dims + j] = sum;
}

// A block of threads per block of rows.
__global__ void __launch_bounds__(kThreads)
    gram_product_kernel(const __grid_constant__ MomentParams params, const float* vector) {
  extern __shared__ double column_sums[];  // [dims]
  __shared__ double factors[kStepRows];
  const auto thread = static_cast<int>(threadIdx.x);
  const int dims = params.dims;
  const int64_t begin = (int64_t{params.first_block} + blockIdx.x) * kMomentBlock;
  const int64_t end = min(params.rows, begin + kMomentBlock);
  for (int j = thread; j < dims; j += kThreads) column_sums[j] = 0.0;
  for (int64_t first = begin; first < end; first += kStepRows) {
    const auto count = static_cast<int>(min(int64_t{kStepRows}, end - first));
    const float* const rows = params.vectors + first * dims;
    const int team = thread / 8;
    const double dot = team_exact_dot(
        vector, team < count ? rows + static_cast<int64_t>(team) * dims : nullptr, dims, thread & 31);
    __syncthreads();
    if ((thread & 7) == 0) factors[team] = dot;  // 0 without a row
    __syncthreads();
    add_rows(rows, count, dims, factors, column_sums);
  }
  double* const out = params.sums + static_cast<int64_t>(blockIdx.x) * dims;
  for (int j = thread; j < dims; j += kThreads) out[j] = column_sums[j];
}

// --- Second moments ---------------------------------------------------------------------------------------

// Doubles from row to row of the buffer. Those of four rows that a warp reads together fall into different
// banks.
__host__ __device__ constexpr int gram_stride(int width) {
  return width + 4;
}

// Brings rows to the buffer, a value of a component at a time. Components past the last repeat the last
// one; their sums are not used.
template <bool kWeighted>
class GramLoader {
 public:
  //   center  [dims]
  __device__ GramLoader(const MomentParams& params, const GramShape& shape, const float* center)
      : params_(params) {
    const GramGroup group = shape.group_of[blockIdx.x];
#pragma unroll
    for (int i = 0; i < kMostGramLoads; ++i) {
      const auto place = static_cast<int>(threadIdx.x + i * blockDim.x);
      const int row = place / shape.width;
      const int column = place - row * shape.width;
      const int component = min(
          column < shape.panel ? group.left + column : group.right + column - shape.panel, params.dims - 1);
      places_[i] = row < kGramRows ? row * gram_stride(shape.width) + column : -1;
      offsets_[i] = min(row, kGramRows - 1) * params.dims + component;
      centers_[i] = __ldg(center + component);
    }
  }

  // Reads kGramRows rows from `first` on; those from `end` on count as zeros, and so do rows of weight 0.
  __device__ void read(int64_t first, int64_t end) {
    const float* const rows = params_.vectors + first * params_.dims;
    if (!kWeighted && first + kGramRows <= end) {
#pragma unroll
      for (int i = 0; i < kMostGramLoads; ++i) values_[i] = __ldg(rows + offsets_[i]);
      return;
    }
    const auto count = static_cast<int>(min(int64_t{kGramRows}, end - first));
#pragma unroll
    for (int i = 0; i < kMostGramLoads; ++i) {
      const int row = offsets_[i] / params_.dims;
      values_[i] = row < count ? __ldg(rows + offsets_[i]) : centers_[i];
      if (kWeighted) weights_[i] = row < count ? __ldg(params_.weights + first + row) : 0.0;
    }
  }

  // Writes what was read as y to the buffer: [kGramRows, gram_stride(width)].
  __device__ void write(double* buffer) const {
#pragma unroll
    for (int i = 0; i < kMostGramLoads; ++i) {
      if (places_[i] < 0) continue;
      float y = 0.0f;
      if (!kWeighted) {
        y = __fsub_rn(values_[i], centers_[i]);  // rounds as the same in double and then to float does
      } else if (weights_[i] != 0.0) {
        const double product = __dmul_rn(weights_[i], static_cast<double>(values_[i]));
        y = __double2float_rn(__dsub_rn(product, static_cast<double>(centers_[i])));
      }
      buffer[places_[i]] = static_cast<double>(y);
    }
  }

 private:
  const MomentParams& params_;
  int places_[kMostGramLoads];  // -1: past the rows
  int offsets_[kMostGramLoads];
  float centers_[kMostGramLoads];
  float values_[kMostGramLoads];
  double weights_[kWeighted ? kMostGramLoads : 1];
};

// A lane's part of the sums of a tile: of blocks of 16 by 8 components (gram_pair).
constexpr int kLeftBlocks = kGramTile / 16;
constexpr int kRightBlocks = kGramTile / 8;
struct GramSums {
  double value[kLeftBlocks][kRightBlocks][4] = {};

  // Adds the rows of a buffer. left, right: as in GramTile.
  template <bool kTensorCores>
  __device__ void add(const double* buffer, int left, int right, int stride, int lane) {
#pragma unroll
    for (int row = 0; row < kGramRows; row += 8) {
      const double* const upper = buffer + (row + lane % 4) * stride + lane / 4;
      const double* const lower = upper + 4 * stride;
      double a[kLeftBlocks][4], b[kRightBlocks][2];
#pragma unroll
      for (int i = 0; i < kLeftBlocks; ++i) {
        a[i][0] = upper[left + 16 * i];
        a[i][1] = upper[left + 16 * i + 8];
        a[i][2] = lower[left + 16 * i];
        a[i][3] = lower[left + 16 * i + 8];
      }
#pragma unroll
      for (int j = 0; j < kRightBlocks; ++j) {
        b[j][0] = upper[right + 8 * j];
        b[j][1] = lower[right + 8 * j];
      }
#pragma unroll
      for (int i = 0; i < kLeftBlocks; ++i)
#pragma unroll
        for (int j = 0; j < kRightBlocks; ++j) {
          if constexpr (kTensorCores)
            multiply_with_tensor_cores(value[i][j], a[i], b[j]);
          else
            multiply_with_fma(value[i][j], a[i], b[j]);
        }
    }
  }
};

// blockIdx.x: the group of tiles, one per warp; blockIdx.y: the block of rows. The next rows are read while
// the sums of the last ones are computed.
template <bool kWeighted, bool kTensorCores>
__global__ void __launch_bounds__(kMostGramWarps* kWarpLanes)
    second_moment_kernel(const __grid_constant__ MomentParams params, const __grid_constant__ GramShape shape,
                         const float* center) {
  extern __shared__ double buffers[];  // [2][kGramRows, gram_stride(width)]
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const auto own_tile = static_cast<int>(blockIdx.x * shape.warps + threadIdx.x / kWarpLanes);
  // verify: range tile
  const GramTile tile = shape.tiles[own_tile];
  const int left = max(int{tile.left}, 0);  // the sums of a warp without a tile are not used
  const int right = max(int{tile.right}, 0);
  const int stride = gram_stride(shape.width);
  const int64_t begin = (int64_t{params.first_block} + blockIdx.y) * kMomentBlock;
  const int64_t end = min(params.rows, begin + kMomentBlock);
  GramLoader<kWeighted> loader(params, shape, center);
  GramSums sums;
  double* current = buffers;
  double* next = buffers + kGramRows * stride;
  loader.read(begin, end);
  loader.write(current);
  __syncthreads();
  for (int64_t first = begin; first < end; first += kGramRows) {
    const bool more = first + kGramRows < end;
    if (more) loader.read(first + kGramRows, end);
    sums.template add<kTensorCores>(current, left, right, stride, lane);
    if (more) loader.write(next);
    __syncthreads();
    double* const done = current;
    current = next;
    next = done;
  }
  double* const out =
      params.sums + (int64_t{blockIdx.y} * gridDim.x * shape.warps + own_tile) * kLaneProducts * kWarpLanes;
#pragma unroll
  for (int k = 0; k < kLaneProducts; ++k) out[k * kWarpLanes + lane] = sums.value[k / 16][k % 16 / 4][k % 4];
}

// Values of 24 bits, whose products are exact, of very different sizes, so that the order of their sum shows.
__device__ double check_value(uint32_t number) {
  uint64_t z = (number + uint64_t{1}) * 0x9E3779B97F4A7C15u;  // SplitMix64 (Steele et al., OOPSLA 2014)
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  const auto exponent = static_cast<uint32_t>(z >> 40) % 40 + 107;
  return static_cast<double>(__uint_as_float((static_cast<uint32_t>(z) & 0x807fffffu) | exponent << 23));
}

// Each warp adds the products of two pairs of random matrices to random sums.
__global__ void __launch_bounds__(kThreads) check_products_kernel(uint32_t* differences) {
  constexpr int kPairs = 2;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const uint32_t base = (blockIdx.x * kThreads + threadIdx.x) / kWarpLanes * 1024;
  const auto left = [&](int row, int k) { return check_value(base + static_cast<uint32_t>(row * 16 + k)); };
  const auto right = [&](int k, int column) {
    return check_value(base + 256 + static_cast<uint32_t>(column * 16 + k));
  };
  const auto start = [&](int i) { return check_value(base + 512 + static_cast<uint32_t>(lane * 4 + i)); };
  const int g = lane / 4;
  const int t = lane % 4;
  double sums[4] = {start(0), start(1), start(2), start(3)};
  for (int k = 0; k < 8 * kPairs; k += 8)
    multiply_with_tensor_cores(
        sums, {left(g, k + t), left(g + 8, k + t), left(g, k + t + 4), left(g + 8, k + t + 4)},
        {right(k + t, g), right(k + t + 4, g)});
  uint32_t different = 0;
  for (int i = 0; i < 4; ++i) {
    double sum = start(i);
    for (int k = 0; k < 8 * kPairs; ++k) sum = __fma_rn(left(g + i / 2 * 8, k), right(k, 2 * t + i % 2), sum);
    if (__double_as_longlong(sum) != __double_as_longlong(sums[i])) ++different;
  }
  if (different > 0) atomicAdd(differences, different);
}

__device__ void read_blocks(const double* sums, int32_t blocks, int64_t size,
                            double (&values)[kBlocksInFlight]) {
#pragma unroll
  for (int b = 0; b < kBlocksInFlight; ++b) values[b] = b < blocks ? __ldg(sums + b * size) : 0.0;
}

__global__ void __launch_bounds__(kThreads)
    add_blocks_kernel(const double* sums, int32_t blocks, int64_t size, double* total) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= size) return;
  double sum = total[i];
  double values[kBlocksInFlight], next[kBlocksInFlight];
  sums += i;
  read_blocks(sums, blocks, size, values);
  for (int32_t left = blocks; left > 0; left -= kBlocksInFlight) {
    sums += kBlocksInFlight * size;
    read_blocks(sums, left - kBlocksInFlight, size, next);
#pragma unroll
    for (int b = 0; b < kBlocksInFlight; ++b) {
      sum = __dadd_rn(sum, values[b]);  // 0 past the last block
      values[b] = next[b];
    }
  }
  total[i] = sum;
}

}  // namespace

cudaError_t launch_column_sums(const MomentParams& params, int32_t blocks, cudaStream_t stream) {
  return launch(params.weights != nullptr ? column_sums_kernel<true> : column_sums_kernel<false>,
                {(params.dims + kColumnThreads - 1) / kColumnThreads, kColumnThreads, 0, 0, blocks}, stream,
                params);
}

cudaError_t launch_gram_product(const MomentParams& params, const float* vector, int32_t blocks,
                                cudaStream_t stream) {
  return launch(gram_product_kernel, {blocks, kThreads, params.dims * int64_t{sizeof(double)}}, stream,
                params, vector);
}

cudaError_t launch_second_moment(const MomentParams& params, const GramShape& shape, const float* center,
                                 int32_t blocks, bool tensor_cores, cudaStream_t stream) {
  const int64_t bytes = int64_t{2} * kGramRows * gram_stride(shape.width) * int64_t{sizeof(double)};
  const bool weighted = params.weights != nullptr;
  const auto kernel =
      weighted ? (tensor_cores ? second_moment_kernel<true, true> : second_moment_kernel<true, false>)
               : (tensor_cores ? second_moment_kernel<false, true> : second_moment_kernel<false, false>);
  return launch(kernel, {shape.groups, shape.warps * kWarpLanes, bytes, 0, blocks}, stream, params, shape,
                center);
}

cudaError_t launch_check_products(uint32_t* differences, cudaStream_t stream) {
  return launch(check_products_kernel, {kCheckBlocks, kThreads}, stream, differences);
}

cudaError_t launch_add_blocks(const double* sums, int32_t blocks, int64_t size, double* total,
                              cudaStream_t stream) {
  return launch(add_blocks_kernel, {(size + kThreads - 1) / kThreads, kThreads}, stream, sums, blocks, size,
                total);
}

}  // namespace glove::gpu
