// Typical kernels in a right form and in broken ones:
// reductions, scans, histograms, transposes, products of matrices, stencils, sorting and compaction.
// The names are as in probes.cu; all run in two blocks. kernels.txt lists the verdicts.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#define BLOCK(n) extern "C" __global__ void __launch_bounds__(n)

// reductions
BLOCK(256) ok_reduce_shfl(const float* in, float* out, int n) {
  __shared__ float warp_sums[32];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += in[i];
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  if ((threadIdx.x & 31) == 0) warp_sums[threadIdx.x >> 5] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? warp_sums[threadIdx.x] : 0;
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}
BLOCK(256) race_reduce_shfl(const float* in, float* out, int n) {
  __shared__ float warp_sums[32];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += in[i];
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  if ((threadIdx.x & 31) == 0) warp_sums[threadIdx.x >> 5] = v;
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? warp_sums[threadIdx.x] : 0;
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}
BLOCK(256) ok_reduce_dynamic(const float* in, float* out, unsigned n) {
  extern __shared__ float sd[];
  unsigned t = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + t;
  float m = i < n ? in[i] : 0;
  if (i + blockDim.x < n) m += in[i + blockDim.x];
  sd[t] = m;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 32; s >>= 1) { if (t < s) sd[t] = m = m + sd[t + s]; __syncthreads(); }
  if (t < 32) {
    if (blockDim.x >= 64) m += sd[t + 32];
    for (int o = 16; o; o /= 2) m += __shfl_down_sync(0xffffffff, m, o);
  }
  if (t == 0) out[blockIdx.x] = m;
}
BLOCK(256) race_reduce_volatile_tail(const int* in, int* out, int n) {  // old warp-synchronous code
  __shared__ int sd[256];
  int t = threadIdx.x;
  sd[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int s = 128; s > 32; s >>= 1) { if (t < s) sd[t] += sd[t + s]; __syncthreads(); }
  if (t < 32) {
    volatile int* v = sd;
    v[t] += v[t + 32]; v[t] += v[t + 16]; v[t] += v[t + 8]; v[t] += v[t + 4]; v[t] += v[t + 2]; v[t] += v[t + 1];
  }
  if (t == 0) out[blockIdx.x] = sd[0];
}
BLOCK(256) ok_reduce_syncwarp_tail(const int* in, int* out, int n) {
  __shared__ int sd[256];
  int t = threadIdx.x;
  sd[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int s = 128; s > 32; s >>= 1) { if (t < s) sd[t] += sd[t + s]; __syncthreads(); }
  if (t < 32) {
    int v = sd[t];
    for (int o = 32; o; o >>= 1) { int w = sd[t + o]; __syncwarp(); v += w; sd[t] = v; __syncwarp(); }
  }
  if (t == 0) out[blockIdx.x] = sd[0];
}
// scans
BLOCK(256) ok_scan_blelloch(const int* in, int* out, int n) {
  __shared__ int temp[512];
  int t = threadIdx.x, offset = 1;
  temp[2 * t] = in[2 * t]; temp[2 * t + 1] = in[2 * t + 1];
  for (int d = 256; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) { int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1; temp[bi] += temp[ai]; }
    offset *= 2;
  }
  if (t == 0) temp[511] = 0;
  for (int d = 1; d < 512; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) { int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1; int x = temp[ai]; temp[ai] = temp[bi]; temp[bi] += x; }
  }
  __syncthreads();
  out += 512 * blockIdx.x; out[2 * t] = temp[2 * t]; out[2 * t + 1] = temp[2 * t + 1];
}
BLOCK(256) race_scan_hillis(const int* in, int* out) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  for (int o = 1; o < 256; o <<= 1) { if (t >= o) s[t] += s[t - o]; __syncthreads(); }
out[256 * blockIdx.x + t] = s[t];
}
BLOCK(256) ok_scan_hillis(const int* in, int* out) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  for (int o = 1; o < 256; o <<= 1) { int v = t >= o ? s[t - o] : 0; __syncthreads(); s[t] += v; __syncthreads(); }
out[256 * blockIdx.x + t] = s[t];
}
BLOCK(256) ok_scan_warp(const int* in, int* out, int n) {
  __shared__ int sums[8];
  int t = threadIdx.x, lane = t & 31, w = t >> 5, i = blockIdx.x * 256 + t;
  int v = i < n ? in[i] : 0;
  for (int o = 1; o < 32; o <<= 1) { int u = __shfl_up_sync(~0u, v, o); if (lane >= o) v += u; }
  if (lane == 31) sums[w] = v;
  __syncthreads();
  if (w == 0 && lane < 8) {
    int x = sums[lane];
    for (int o = 1; o < 8; o <<= 1) { int u = __shfl_up_sync(0xff, x, o); if (lane >= o) x += u; }
    sums[lane] = x;
  }
  __syncthreads();
  if (w > 0) v += sums[w - 1];
  if (i < n) out[i] = v;
}
// histograms
BLOCK(256) ok_histogram(const unsigned char* in, unsigned* hist, int n) {
  __shared__ unsigned h[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) h[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&h[in[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&hist[i], h[i]);
}
BLOCK(256) unproved_histogram_no_init_barrier(const unsigned char* in, unsigned* hist, int n) {
  __shared__ unsigned h[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) h[i] = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&h[in[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&hist[i], h[i]);
}
BLOCK(256) race_histogram_plain(const unsigned char* in, unsigned* hist, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) hist[in[i]]++;
}
BLOCK(256) ok_histogram_warp_private(const unsigned char* in, unsigned* hist, int n) {
  __shared__ unsigned h[8][64];
  int w = threadIdx.x >> 5;
  for (int i = threadIdx.x; i < 8 * 64; i += blockDim.x) (&h[0][0])[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&h[w][in[i] >> 2], 1);
  __syncthreads();
  if (threadIdx.x < 64) { unsigned s = 0; for (int k = 0; k < 8; ++k) s += h[k][threadIdx.x]; atomicAdd(hist + threadIdx.x, s); }
}
// transposes
BLOCK(256) ok_transpose_32x8(const float* in, float* out, int width, int height) {  // block 32x8
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}
BLOCK(256) race_transpose_32x8(const float* in, float* out, int width, int height) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}
// GEMM
BLOCK(256) ok_gemm_16x16(const float* A, const float* B, float* C, int M, int N, int Kd) {  // block 16x16
  __shared__ float As[16][16], Bs[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float acc = 0;
  for (int t = 0; t < (Kd + 15) / 16; ++t) {
    int k = t * 16;
    As[threadIdx.y][threadIdx.x] = row < M && k + threadIdx.x < Kd ? A[row * Kd + k + threadIdx.x] : 0;
    Bs[threadIdx.y][threadIdx.x] = col < N && k + threadIdx.y < Kd ? B[(k + threadIdx.y) * N + col] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) acc += As[threadIdx.y][i] * Bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = acc;
}
BLOCK(256) race_gemm_16x16(const float* A, const float* B, float* C, int M, int N, int Kd) {
  __shared__ float As[16][16], Bs[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float acc = 0;
  for (int t = 0; t < (Kd + 15) / 16; ++t) {
    int k = t * 16;
    As[threadIdx.y][threadIdx.x] = row < M && k + threadIdx.x < Kd ? A[row * Kd + k + threadIdx.x] : 0;
    Bs[threadIdx.y][threadIdx.x] = col < N && k + threadIdx.y < Kd ? B[(k + threadIdx.y) * N + col] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) acc += As[threadIdx.y][i] * Bs[i][threadIdx.x];
  }
  if (row < M && col < N) C[row * N + col] = acc;
}
// stencils
BLOCK(256) ok_stencil(const float* in, float* out, int n) {
  __shared__ float s[256 + 6];
  int g = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + 3;
  s[l] = g < n ? in[g] : 0;
  if (threadIdx.x < 3) { s[l - 3] = g >= 3 ? in[g - 3] : 0; s[l + 256] = g + 256 < n ? in[g + 256] : 0; }
  __syncthreads();
  float r = 0;
  for (int o = -3; o <= 3; ++o) r += s[l + o];
  if (g < n) out[g] = r;
}
BLOCK(256) race_stencil(const float* in, float* out, int n) {
  __shared__ float s[256 + 6];
  int g = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + 3;
  s[l] = g < n ? in[g] : 0;
  __syncthreads();
  if (threadIdx.x < 3) { s[l - 3] = g >= 3 ? in[g - 3] : 0; s[l + 256] = g + 256 < n ? in[g + 256] : 0; }
  float r = 0;
  for (int o = -3; o <= 3; ++o) r += s[l + o];
  if (g < n) out[g] = r;
}
BLOCK(256) race_stencil_in_place(float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
}
BLOCK(256) ok_stencil_iterated(const float* in, float* out, int n, int steps) {
  __shared__ float a[2][258];
  int t = threadIdx.x + 1, cur = 0;
  a[0][t] = in[threadIdx.x]; 
  if (threadIdx.x == 0) { a[0][0] = a[0][257] = a[1][0] = a[1][257] = 0; }
  __syncthreads();
  for (int k = 0; k < steps; ++k) {
    a[cur ^ 1][t] = (a[cur][t - 1] + a[cur][t] + a[cur][t + 1]) / 3;
    cur ^= 1;
    __syncthreads();
  }
out[256 * blockIdx.x + threadIdx.x] = a[cur][t];
}
BLOCK(256) race_stencil_iterated(const float* in, float* out, int n, int steps) {
  __shared__ float a[2][258];
  int t = threadIdx.x + 1, cur = 0;
  a[0][t] = in[threadIdx.x]; 
  if (threadIdx.x == 0) { a[0][0] = a[0][257] = a[1][0] = a[1][257] = 0; }
  __syncthreads();
  for (int k = 0; k < steps; ++k) {
    a[cur ^ 1][t] = (a[cur][t - 1] + a[cur][t] + a[cur][t + 1]) / 3;
    cur ^= 1;
    if (k & 1) __syncthreads();
  }
out[256 * blockIdx.x + threadIdx.x] = a[cur][t];
}
// bitonic
BLOCK(256) ok_bitonic(int* data) {
  __shared__ int s[256];
  unsigned t = threadIdx.x;
  s[t] = data[blockIdx.x * 256 + t];
  __syncthreads();
  for (unsigned k = 2; k <= 256; k <<= 1)
    for (unsigned j = k >> 1; j > 0; j >>= 1) {
      unsigned p = t ^ j;
      if (p > t) { int a = s[t], b = s[p]; if ((a > b) == ((t & k) == 0)) { s[t] = b; s[p] = a; } }
      __syncthreads();
    }
  data[blockIdx.x * 256 + t] = s[t];
}
BLOCK(256) race_bitonic(int* data) {
  __shared__ int s[256];
  unsigned t = threadIdx.x;
  s[t] = data[blockIdx.x * 256 + t];
  __syncthreads();
  for (unsigned k = 2; k <= 256; k <<= 1) {
    for (unsigned j = k >> 1; j > 0; j >>= 1) {
      unsigned p = t ^ j;
      if (p > t) { int a = s[t], b = s[p]; if ((a > b) == ((t & k) == 0)) { s[t] = b; s[p] = a; } }
    }
    __syncthreads();
  }
  data[blockIdx.x * 256 + t] = s[t];
}
// warp aggregated atomics
BLOCK(256) ok_compact_aggregated(const int* in, int* out, int* counter, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool keep = i < n && in[i] > 0;
  unsigned mask = __ballot_sync(~0u, keep);
  int lane = threadIdx.x & 31, leader = __ffs(mask) - 1, base = 0;
  if (keep) {
    if (lane == leader) base = atomicAdd(counter, __popc(mask));
    base = __shfl_sync(mask, base, leader);
    out[base + __popc(mask & ((1u << lane) - 1))] = in[i];
  }
}
BLOCK(256) unproved_compact_coalesced(const int* in, int* out, int* counter, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0) {
    auto g = cg::coalesced_threads();
    int base;
    if (g.thread_rank() == 0) base = atomicAdd(counter, g.size());
    base = g.shfl(base, 0);
    out[base + g.thread_rank()] = in[i];
  }
}
BLOCK(256) ok_compact_simple(const int* in, int* out, int* counter, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0) out[atomicAdd(counter, 1)] = in[i];
}
BLOCK(256) race_compact_simple(const int* in, int* out, int* counter, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0) { int s = *counter; *counter = s + 1; out[s] = in[i]; }
}
