#include "gpu/kernels/packed_rows.h"

#include "gpu/kernels/launch.cuh"
#include "gpu/layout/tile.h"

namespace glove::gpu {
namespace {

constexpr int kPackThreads = 256;

// Block b packs tile b: consecutive threads write consecutive words of a row, and find the tile in the cache.
__global__ void __launch_bounds__(kPackThreads)
    packed_rows_kernel(const DevicePart part, const int groups, uint32_t* rows) {
  const int words = static_cast<int>(packed_row_bytes(part.dims) / 4);
  const int64_t tile = blockIdx.x;
  const int64_t first_row = tile * kRowsPerTile;
  const uint32_t* codes = reinterpret_cast<const uint32_t*>(part.level.codes) + first_row * groups;
  for (int i = static_cast<int>(threadIdx.x); i < words * kRowsPerTile; i += kPackThreads) {
    const int row = i / words;
    const int word = i % words;
    uint32_t value = 0;
    if (word < groups) value = codes[word * kRowsPerTile + row];
    if (word == words - 2) value = __float_as_uint(part.level.scales[first_row + row]);
    if (word == words - 1) value = __float_as_uint(part.level.residuals[first_row + row]);
    rows[first_row * words + i] = value;
  }
}

}  // namespace

cudaError_t launch_packed_rows(const DevicePart& part, std::byte* rows, cudaStream_t stream) {
  return launch(packed_rows_kernel, {tile_count(part.rows), kPackThreads}, stream, part,
                static_cast<int>(component_groups(part.dims)), reinterpret_cast<uint32_t*>(rows));
}

}  // namespace glove::gpu
