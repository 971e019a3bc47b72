// Tiles of matrices that a warp loads and stores together (wmma).
#include <mma.h>

#include "twins.h"

using namespace nvcuda::wmma;
using Left = fragment<matrix_a, 16, 16, 16, half, row_major>;
using Right = fragment<matrix_b, 16, 16, 16, half, col_major>;
using Sum = fragment<accumulator, 16, 16, 16, float>;

__device__ void multiply(float* to, const half* a, const half* b, int row) {
  Left left;
  Right right;
  Sum sum;
  fill_fragment(sum, 0.0f);
  load_matrix_sync(left, a, row);
  load_matrix_sync(right, b, row);
  mma_sync(sum, left, right, sum);
  store_matrix_sync(to, sum, 16, mem_row_major);
}

// --block 32
KERNEL tile_in_shared(const half* a, const half* b, float* out) {
  __shared__ alignas(32) half s[2][256];
  for (int i = threadIdx.x; i < 256; i += 32) s[0][i] = a[i], s[1][i] = b[i];
  RIGHT(__syncwarp();)
  multiply(out, s[0], s[1], 16);
}

KERNEL tile_of_another_warp(const half* a, const half* b, float* out) {
  __shared__ alignas(32) half s[2][256];
  for (int i = threadIdx.x; i < 256; i += 128) s[0][i] = a[i], s[1][i] = b[i];
  EITHER(__syncthreads(), __syncwarp());
  if (threadIdx.x < 32) multiply(out, s[0], s[1], 16);
}

// --block 32
KERNEL tile_is_read_by_lanes(const half* a, const half* b, float* out) {
  __shared__ alignas(32) float s[256];
  multiply(s, a, b, 16);
  RIGHT(__syncwarp();)
  for (int i = threadIdx.x; i < 256; i += 32) out[i] = s[i];
}

KERNEL tile_of_each_warp(const half* a, const half* b, float* out) {
  const int warp = threadIdx.x / 32;
  multiply(out + EITHER(256, 128) * warp, a + 256 * warp, b, 16);
}

// --grid 2
KERNEL tile_of_each_block(const half* a, const half* b, float* out) {
  if (threadIdx.x < 32) multiply(out + EITHER(256, 0) * blockIdx.x, a + 256 * blockIdx.x, b, 16);
}

KERNEL tile_is_filled_again(const half* a, const half* b, float* out) {
  __shared__ alignas(32) half s[256];
  const int warp = threadIdx.x / 32;
  for (int k = 0; k < 3; ++k) {
    for (int i = threadIdx.x; i < 256; i += 128) s[i] = a[256 * k + i];
    __syncthreads();
    multiply(out + 256 * (4 * k + warp), s, b + 256 * warp, 16);
    RIGHT(__syncthreads();)
  }
}

// --block 32
KERNEL tile_in_place(const half* a, const half* b, float* c) {
  Left left;
  Right right;
  Sum sum;
  load_matrix_sync(sum, c, 16, mem_row_major);
  load_matrix_sync(left, a, 16);
  load_matrix_sync(right, b, 16);
  mma_sync(sum, left, right, sum);
  store_matrix_sync(c, sum, 16, mem_row_major);
  WRONGLY(load_matrix_sync(sum, c + 16, 16, mem_row_major);
          store_matrix_sync(c + 256, sum, 16, mem_row_major);)
}

KERNEL columns_of_warps(const half* a, const half* b, float* out) {
  __shared__ alignas(32) half s[16 * 72];
  const int warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < 16 * 72; i += 128) s[i] = a[i];
  __syncthreads();
  Left left;
  Right right;
  Sum sum;
  fill_fragment(sum, 0.0f);
  load_matrix_sync(left, s + 16 * warp, 72);
  load_matrix_sync(right, b, 16);
  mma_sync(sum, left, right, sum);
  store_matrix_sync(out + EITHER(16, 8) * warp, sum, 64, mem_row_major);
}

KERNEL rows_of_warps_in_columns(const half* a, const half* b, float* out) {
  const int warp = threadIdx.x / 32;
  Left left;
  Right right;
  Sum sum;
  fill_fragment(sum, 0.0f);
  load_matrix_sync(left, a + 256 * warp, 16);
  load_matrix_sync(right, b, 16);
  mma_sync(sum, left, right, sum);
  store_matrix_sync(out + 16 * warp, sum, EITHER(64, 48), mem_col_major);
}

KERNEL integer_tiles(const signed char* a, const signed char* b, int* out) {
  __shared__ alignas(32) int s[4][256];
  const int warp = threadIdx.x / 32;
  fragment<matrix_a, 16, 16, 16, signed char, row_major> left;
  fragment<matrix_b, 16, 16, 16, signed char, col_major> right;
  fragment<accumulator, 16, 16, 16, int> sum;
  fill_fragment(sum, 0);
  load_matrix_sync(left, a + 256 * warp, 16);
  load_matrix_sync(right, b, 16);
  mma_sync(sum, left, right, sum);
  store_matrix_sync(s[warp], sum, 16, mem_row_major);
  RIGHT(__syncthreads();)
  for (int i = threadIdx.x; i < 256; i += 128) out[i] = s[0][i] + s[1][i] + s[2][i] + s[3][i];
}

// The pipeline of a product of matrices: two stages of copies, tiles of each.
KERNEL pipeline_of_tiles(const half* a, const half* b, float* out) {
  __shared__ alignas(32) half s[2][4][256];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  Left left;
  Right right;
  Sum sum;
  fill_fragment(sum, 0.0f);
  const auto fill = [&](int k) {
    __pipeline_memcpy_async(&s[k % 2][warp][8 * lane], &a[1024 * k + 256 * warp + 8 * lane], 16);
    __pipeline_commit();
  };
  fill(0);
  for (int k = 0; k < 4; ++k) {
    if (k < 3) fill(k + 1);
    if (k < 3)
      __pipeline_wait_prior(EITHER(1, 2));
    else
      __pipeline_wait_prior(0);
    __syncthreads();
    for (int part = 0; part < 4; ++part) {
      load_matrix_sync(left, s[k % 2][part], 16);
      load_matrix_sync(right, b + 256 * (4 * k + part), 16);
      mma_sync(sum, left, right, sum);
    }
    __syncthreads();
  }
  store_matrix_sync(out + 256 * warp, sum, 16, mem_row_major);
}

// Each lane names a row, of which others get a part.
// --block 32
KERNEL rows_of_others(const int4* in, unsigned* out) {
  __shared__ alignas(16) int4 s[32];
  s[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  unsigned part[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(part[0]), "=r"(part[1]), "=r"(part[2]), "=r"(part[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(&s[threadIdx.x])))
               : "memory");
  RIGHT(__syncwarp();)
  s[threadIdx.x] = in[32 + threadIdx.x];
  for (int i = 0; i < 4; ++i) out[32 * i + threadIdx.x] = part[i];
}

// --block 32
KERNEL rows_by_others(const unsigned* in, int4* out) {
  __shared__ alignas(16) int4 s[32];
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(&s[threadIdx.x]))),
               "r"(in[threadIdx.x]), "r"(in[32 + threadIdx.x]), "r"(in[64 + threadIdx.x]),
               "r"(in[96 + threadIdx.x])
               : "memory");
  RIGHT(__syncwarp();)
  out[threadIdx.x] = s[threadIdx.x];
}

// --block 32
KERNEL rows_that_overlap(const unsigned* in, int4* out) {
  __shared__ alignas(16) int4 s[32];
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(&s[EITHER(threadIdx.x, threadIdx.x / 2)]))),
               "r"(in[threadIdx.x]), "r"(in[32 + threadIdx.x]), "r"(in[64 + threadIdx.x]),
               "r"(in[96 + threadIdx.x])
               : "memory");
  __syncwarp();
  out[threadIdx.x] = s[EITHER(threadIdx.x, threadIdx.x / 2)];
}
