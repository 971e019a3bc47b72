// Typical kernels in a right form and in broken ones:
// cooperative groups, double buffers, and producers and consumers at named barriers.
// The names are as in probes.cu; all run in two blocks. pipelines.txt lists the verdicts.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

#define BLOCK(n) extern "C" __global__ void __launch_bounds__(n)

// cooperative groups
BLOCK(256) ok_cg_block(const int* in, int* out) {
  __shared__ int s[256];
  cg::thread_block b = cg::this_thread_block();
  s[b.thread_rank()] = in[b.thread_rank()];
  b.sync();
out[256 * blockIdx.x + b.thread_rank()] = s[255 - b.thread_rank()];
}
BLOCK(256) ok_cg_tile(const int* in, int* out) {
  __shared__ int s[256];
  auto b = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(b);
  s[b.thread_rank()] = in[b.thread_rank()];
  tile.sync();
out[256 * blockIdx.x + b.thread_rank()] = s[b.thread_rank() ^ 31];
}
BLOCK(256) race_cg_tile(const int* in, int* out) {
  __shared__ int s[256];
  auto b = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(b);
  s[b.thread_rank()] = in[b.thread_rank()];
  tile.sync();
out[256 * blockIdx.x + b.thread_rank()] = s[b.thread_rank() ^ 63];
}
BLOCK(256) ok_cg_tile16(const int* in, int* out) {
  __shared__ int s[256];
  auto b = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(b);
  s[b.thread_rank()] = in[b.thread_rank()];
  tile.sync();
out[256 * blockIdx.x + b.thread_rank()] = s[b.thread_rank() ^ 15];
}
BLOCK(256) race_cg_tile16(const int* in, int* out) {
  __shared__ int s[256];
  auto b = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(b);
  s[b.thread_rank()] = in[b.thread_rank()];
  tile.sync();
out[256 * blockIdx.x + b.thread_rank()] = s[b.thread_rank() ^ 31];
}
BLOCK(256) ok_cg_reduce(const int* in, int* out) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  int v = cg::reduce(tile, in[blockIdx.x * blockDim.x + threadIdx.x], cg::plus<int>());
  if (tile.thread_rank() == 0) atomicAdd(out, v);
}
// double buffering
BLOCK(256) ok_double_buffer(const float* in, float* out, int n) {
  __shared__ float buf[2][256];
  int t = threadIdx.x; float sum = 0;
  buf[0][t] = in[t];
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    if (k + 1 < n) buf[(k + 1) & 1][t] = in[(k + 1) * 256 + t];
    sum += buf[k & 1][255 - t];
    __syncthreads();
  }
out[256 * blockIdx.x + t] = sum;
}
BLOCK(256) race_double_buffer(const float* in, float* out, int n) {
  __shared__ float buf[2][256];
  int t = threadIdx.x; float sum = 0;
  buf[0][t] = in[t];
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    if (k + 1 < n) buf[(k + 1) & 1][t] = in[(k + 1) * 256 + t];
    sum += buf[k & 1][255 - t];
  }
out[256 * blockIdx.x + t] = sum;
}
BLOCK(256) ok_double_buffer_pointers(const float* in, float* out, int n) {
  __shared__ float a[256], b[256];
  float *cur = a, *nxt = b;
  int t = threadIdx.x; float sum = 0;
  cur[t] = in[t];
  __syncthreads();
  for (int k = 1; k < n; ++k) {
    nxt[t] = in[k * 256 + t];
    sum += cur[255 - t];
    __syncthreads();
    float* x = cur; cur = nxt; nxt = x;
  }
out[256 * blockIdx.x + t] = sum;
}
// named barriers producer/consumer
__device__ void nb_sync(int id, int n) { asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(n) : "memory"); }
__device__ void nb_arrive(int id, int n) { asm volatile("bar.arrive %0, %1;" :: "r"(id), "r"(n) : "memory"); }
BLOCK(256) ok_pc_16(const int* in, int* out) {
  __shared__ int s[2][128];
  int t = threadIdx.x;
  const int n = 16;
  if (t < 128) {
    for (int k = 0; k < n; ++k) { int b = k & 1; if (k >= 2) nb_sync(3 + b, 256); s[b][t] = in[k * 128 + t]; nb_arrive(1 + b, 256); }
  } else {
    int u = t - 128, sum = 0;
    for (int k = 0; k < n; ++k) { int b = k & 1; nb_sync(1 + b, 256); sum += s[b][127 - u]; if (k + 2 < n) nb_arrive(3 + b, 256); }
    out[256 * blockIdx.x + u] = sum;
  }
}
BLOCK(256) ok_pc_16_sync(const int* in, int* out) {
  __shared__ int s[2][128];
  int t = threadIdx.x;
  const int n = 16;
  if (t < 128) {
    for (int k = 0; k < n; ++k) { int b = k & 1; s[b][t] = in[k * 128 + t]; nb_sync(1 + b, 256); }
  } else {
    int u = t - 128, sum = 0;
    for (int k = 0; k < n; ++k) { int b = k & 1; nb_sync(1 + b, 256); sum += s[b][127 - u]; }
    out[256 * blockIdx.x + u] = sum;
  }
}
BLOCK(256) deadlock_pc(const int* in, int* out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  if (t < 128) { nb_sync(2, 256); s[t] = in[t]; nb_arrive(1, 256); }
  else { nb_sync(1, 256); nb_arrive(2, 256); out[256 * blockIdx.x + t - 128] = s[255 - t]; }
}
// rounds of an unknown number with two barriers each: what a block does in a round is told apart from another block's
BLOCK(64) ok_tile_stride(const float* in, float* out, int tiles) {
  __shared__ float s[64];
  int t = threadIdx.x;
  for (int k = blockIdx.x; k < tiles; k += gridDim.x) {
    s[t] = in[k * 64 + t];
    __syncthreads();
    out[k * 64 + t] = s[63 - t];
    __syncthreads();
  }
}
BLOCK(64) race_tile_stride(const float* in, float* out, int tiles) {  // blocks take the same tiles
  __shared__ float s[64];
  int t = threadIdx.x;
  for (int k = blockIdx.x; k < tiles; ++k) {
    s[t] = in[k * 64 + t];
    __syncthreads();
    out[k * 64 + t] = s[63 - t];
    __syncthreads();
  }
}
BLOCK(64) ok_rows(const float* in, float* out, int rows, int cols) {
  __shared__ float s[64];
  int t = threadIdx.x;
  for (int r = blockIdx.x; r < rows; r += gridDim.x) {
    float m = 0;
    for (int c = t; c < cols; c += 64) m += in[r * cols + c];
    s[t] = m;
    __syncthreads();
    for (int d = 32; d; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
    if (t == 0) out[r] = s[0];
    __syncthreads();
  }
}
BLOCK(64) ok_two_slots_one_barrier(const int* in, int* out, int n) {
  __shared__ int s[2][64];
  int t = threadIdx.x, x = 0;
  for (int k = 0; k < n; ++k) { s[k & 1][t] = in[k * 64 + t]; __syncthreads(); x += s[k & 1][63 - t]; }
  out[64 * blockIdx.x + t] = x;
}
BLOCK(64) race_one_slot_one_barrier(const int* in, int* out, int n) {
  __shared__ int s[64];
  int t = threadIdx.x, x = 0;
  for (int k = 0; k < n; ++k) { s[t] = in[k * 64 + t]; __syncthreads(); x += s[63 - t]; }
  out[64 * blockIdx.x + t] = x;
}
BLOCK(64) race_late_round(const int* in, int* out, int n) {  // one round of many lacks the second barrier
  __shared__ int s[64];
  int t = threadIdx.x, x = 0;
  for (int k = 0; k < n; ++k) {
    s[t] = in[k * 64 + t];
    __syncthreads();
    x += s[63 - t];
    if (k != 20) __syncthreads();
  }
  out[64 * blockIdx.x + t] = x;
}
// producers and consumers for an unknown number of rounds
BLOCK(256) ok_pc_unknown_sync(const float* in, float* out, int n) {
  __shared__ float s[128];
  int t = threadIdx.x;
  if (t < 128) {
    for (int k = 0; k < n; ++k) { s[t] = in[k * 128 + t]; nb_sync(1, 256); nb_sync(2, 256); }
  } else {
    float sum = 0;
    for (int k = 0; k < n; ++k) { nb_sync(1, 256); sum += s[255 - t]; nb_sync(2, 256); }
    out[128 * blockIdx.x + t - 128] = sum;
  }
}
BLOCK(256) deadlock_pc_unknown_sync(const float* in, float* out, int n) {  // consumers go one round more
  __shared__ float s[128];
  int t = threadIdx.x;
  if (t < 128) {
    for (int k = 0; k < n; ++k) { s[t] = in[k * 128 + t]; nb_sync(1, 256); nb_sync(2, 256); }
  } else {
    float sum = 0;
    for (int k = 0; k <= n; ++k) { nb_sync(1, 256); sum += s[255 - t]; nb_sync(2, 256); }
    out[128 * blockIdx.x + t - 128] = sum;
  }
}
BLOCK(96) ok_pc_tile_stride(const float* in, float* out, int tiles) {
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t >= 64) {
    for (int k = blockIdx.x; k < tiles; k += gridDim.x) {
      for (int j = t - 64; j < 64; j += 32) s[j] = in[k * 64 + j];
      nb_sync(1, 96);
      nb_sync(2, 96);
    }
  } else {
    for (int k = blockIdx.x; k < tiles; k += gridDim.x) { nb_sync(1, 96); out[k * 64 + t] = s[63 - t]; nb_sync(2, 96); }
  }
}
