#include "gpu/kernels/moments.h"

#include "analysis/moments.h"
#include "gpu/warp/exact_dot.cuh"

namespace glove::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kStepRows = kThreads / 8;  // a team of eight lanes per row
constexpr int kRowsInFlight = 8;
constexpr int kBlocksInFlight = 16;

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
      for (int i = 0; i < kRowsInFlight; ++i) {
        const double factor = factors[first + i];
        if (factor != 0.0) sum = __dadd_rn(sum, __dmul_rn(factor, static_cast<double>(x[i])));
      }
    }
    sums[j] = sum;
  }
}

// A block of threads per block of rows. vector: null for column sums, whose factors are the weights.
__global__ void __launch_bounds__(kThreads)
    row_sums_kernel(const __grid_constant__ MomentParams params, const float* vector) {
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
    double factor = 0.0;
    if (vector != nullptr) {
      factor = team_exact_dot(vector, team < count ? rows + static_cast<int64_t>(team) * dims : nullptr, dims,
                              thread & 31);
    } else if (team < count) {
      factor = params.weights != nullptr ? params.weights[first + team] : 1.0;
    }
    __syncthreads();
    if ((thread & 7) == 0) factors[team] = factor;
    __syncthreads();
    add_rows(rows, count, dims, factors, column_sums);
  }
  double* const out = params.sums + static_cast<int64_t>(blockIdx.x) * dims;
  for (int j = thread; j < dims; j += kThreads) out[j] = column_sums[j];
}

// --- Second moments ---------------------------------------------------------------------------------------

// The values that a thread brings to the buffer: number i is value threadIdx.x + i * blockDim.x of it.
class GramLoader {
 public:
  __device__ GramLoader(const MomentParams& params, const GramShape& shape, const GramGroup& group,
                        const float* center)
      : params_(params), width_(shape.width) {
#pragma unroll
    for (int i = 0; i < kMostGramLoads; ++i) {
      const int at = place(i);
      const int row = at / width_;
      const int column = at - row * width_;
      const int component = column < shape.panel ? group.left + column : group.right + column - shape.panel;
      const bool used = row < kGramRows && component < params.dims;
      offsets_[i] = used ? row * params.dims + component : -1;
      centers_[i] = used ? __ldg(center + component) : 0.0f;
    }
  }

  // Reads kGramRows rows from `first` on; those from `end` on count as zeros, and so do rows of weight 0.
  template <bool kWeighted>
  __device__ void read(int64_t first, int64_t end) {
    const float* const rows = params_.vectors + first * params_.dims;
    const int64_t past = (end - first) * params_.dims;
#pragma unroll
    for (int i = 0; i < kMostGramLoads; ++i) {
      const bool present = offsets_[i] >= 0 && offsets_[i] < past;
      values_[i] = present ? __ldg(rows + offsets_[i]) : centers_[i];
      if (kWeighted) weights_[i] = present ? __ldg(params_.weights + first + place(i) / width_) : 0.0;
    }
  }

  // Writes what was read as y to the buffer: [kGramRows, width].
  template <bool kWeighted>
  __device__ void write(double* buffer) const {
#pragma unroll
    for (int i = 0; i < kMostGramLoads; ++i) {
      if (place(i) >= kGramRows * width_) continue;
      float y = 0.0f;
      if (!kWeighted) {
        y = __fsub_rn(values_[i], centers_[i]);  // rounds as the same in double and then to float does
      } else if (weights_[i] != 0.0) {
        const double product = __dmul_rn(weights_[i], static_cast<double>(values_[i]));
        y = __double2float_rn(__dsub_rn(product, static_cast<double>(centers_[i])));
      }
      buffer[place(i)] = static_cast<double>(y);
    }
  }

 private:
  __device__ int place(int i) const {
    return static_cast<int>(threadIdx.x + i * blockDim.x);
  }

  const MomentParams& params_;
  const int width_;
  int offsets_[kMostGramLoads];
  float centers_[kMostGramLoads];
  float values_[kMostGramLoads];
  double weights_[kMostGramLoads];
};

__device__ void add_products(const double* left, const double* right, int step, int width,
                             double (&sums)[kGramTile][kGramTile]) {
#pragma unroll
  for (int row = 0; row < kGramRows; ++row) {
    double a[kGramTile], b[kGramTile];
#pragma unroll
    for (int i = 0; i < kGramTile; ++i) a[i] = left[row * width + i * step];
#pragma unroll
    for (int j = 0; j < kGramTile; ++j) b[j] = right[row * width + j * step];
#pragma unroll
    for (int i = 0; i < kGramTile; ++i)
#pragma unroll
      for (int j = 0; j < kGramTile; ++j) sums[i][j] = __fma_rn(a[i], b[j], sums[i][j]);
  }
}

// blockIdx.x: the group of tiles; blockIdx.y: the block of rows. The next rows are read while the sums of the
// last ones are computed.
template <bool kWeighted>
__global__ void __launch_bounds__(kMostGramThreads)
    second_moment_kernel(const __grid_constant__ MomentParams params, const __grid_constant__ GramShape shape,
                         const float* center) {
  __shared__ double buffers[2][kGramRows * kMostGramWidth];
  GramTile tile = shape.tiles[blockIdx.x * shape.threads + threadIdx.x];
  if (tile.left < 0) tile = {0, 0};  // its sums are not used
  const int step = shape.panel / kGramTile;
  const int64_t begin = (int64_t{params.first_block} + blockIdx.y) * kMomentBlock;
  const int64_t end = min(params.rows, begin + kMomentBlock);
  GramLoader loader(params, shape, shape.group_of[blockIdx.x], center);
  double sums[kGramTile][kGramTile] = {};
  int current = 0;
  loader.read<kWeighted>(begin, end);
  loader.write<kWeighted>(buffers[current]);
  __syncthreads();
  for (int64_t first = begin; first < end; first += kGramRows) {
    const bool more = first + kGramRows < end;
    if (more) loader.read<kWeighted>(first + kGramRows, end);
    add_products(buffers[current] + tile.left, buffers[current] + tile.right, step, shape.width, sums);
    current ^= 1;
    if (more) loader.write<kWeighted>(buffers[current]);
    __syncthreads();
  }
  double* const out =
      params.sums + (int64_t{blockIdx.y} * gridDim.x + blockIdx.x) * kTileProducts * shape.threads;
#pragma unroll
  for (int i = 0; i < kGramTile; ++i)
#pragma unroll
    for (int j = 0; j < kGramTile; ++j) out[(i * kGramTile + j) * shape.threads + threadIdx.x] = sums[i][j];
}

__global__ void __launch_bounds__(kThreads)
    add_blocks_kernel(const double* sums, int32_t blocks, int64_t size, double* total) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= size) return;
  double sum = total[i];
  for (int32_t first = 0; first < blocks; first += kBlocksInFlight) {
    double values[kBlocksInFlight];
#pragma unroll
    for (int b = 0; b < kBlocksInFlight; ++b)
      values[b] = first + b < blocks ? __ldg(sums + (first + b) * size + i) : 0.0;
#pragma unroll
    for (int b = 0; b < kBlocksInFlight; ++b)
      if (first + b < blocks) sum = __dadd_rn(sum, values[b]);
  }
  total[i] = sum;
}

cudaError_t launch_row_sums(const MomentParams& params, const float* vector, int32_t blocks,
                            cudaStream_t stream) {
  const auto bytes = static_cast<size_t>(params.dims) * sizeof(double);
  row_sums_kernel<<<static_cast<unsigned>(blocks), kThreads, bytes, stream>>>(params, vector);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_column_sums(const MomentParams& params, int32_t blocks, cudaStream_t stream) {
  return launch_row_sums(params, nullptr, blocks, stream);
}

cudaError_t launch_gram_product(const MomentParams& params, const float* vector, int32_t blocks,
                                cudaStream_t stream) {
  return launch_row_sums(params, vector, blocks, stream);
}

cudaError_t launch_second_moment(const MomentParams& params, const GramShape& shape, const float* center,
                                 int32_t blocks, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(shape.groups), static_cast<unsigned>(blocks));
  const auto threads = static_cast<unsigned>(shape.threads);
  if (params.weights != nullptr)
    second_moment_kernel<true><<<grid, threads, 0, stream>>>(params, shape, center);
  else
    second_moment_kernel<false><<<grid, threads, 0, stream>>>(params, shape, center);
  return cudaGetLastError();
}

cudaError_t launch_add_blocks(const double* sums, int32_t blocks, int64_t size, double* total,
                              cudaStream_t stream) {
  const auto grid = static_cast<unsigned>((size + kThreads - 1) / kThreads);
  add_blocks_kernel<<<grid, kThreads, 0, stream>>>(sums, blocks, size, total);
  return cudaGetLastError();
}

}  // namespace glove::gpu
