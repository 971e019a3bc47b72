// Small kernels with one defect each, and others that look like it and have none. The name says the verdict:
// ok_ proved; race_, same_ (a race of equal values), divergence_, deadlock_, count_, recycling_, undefined_, bounds_
// the defect; arrive_ a barrier at which nobody waits; unproved_ what cannot be decided; unsupported_ what is not
// modelled. probes.txt lists the verdicts with their lines.
#include <cstdint>

#define BLOCK(n) extern "C" __global__ void __launch_bounds__(n)

__shared__ int s[1024];

BLOCK(64) race_no_barrier(int* out) { s[threadIdx.x] = out[threadIdx.x]; out[64 + threadIdx.x] = s[threadIdx.x ^ 32]; }
BLOCK(64) ok_barrier(int* out) { s[threadIdx.x] = threadIdx.x; __syncthreads(); out[threadIdx.x] = s[63 - threadIdx.x]; }
BLOCK(64) race_after_last_barrier(int* out) {
  s[threadIdx.x] = threadIdx.x; __syncthreads(); out[threadIdx.x] = s[threadIdx.x]; s[(threadIdx.x + 1) & 63] = 1; }
BLOCK(64) race_vector_overlap(int* out) {
  if (threadIdx.x < 16) reinterpret_cast<int4*>(s)[threadIdx.x] = make_int4(1, 2, 3, 4);
  if (threadIdx.x >= 32) out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) race_missing_syncwarp(int* out) { s[threadIdx.x] = threadIdx.x; out[threadIdx.x] = s[31 - threadIdx.x]; }
BLOCK(32) ok_syncwarp(int* out) { s[threadIdx.x] = threadIdx.x; __syncwarp(); out[threadIdx.x] = s[31 - threadIdx.x]; }
BLOCK(32) race_half_syncwarp(int* out) {
  s[threadIdx.x] = threadIdx.x;
  if (threadIdx.x < 16) __syncwarp(0xffff); else __syncwarp(0xffff0000);
  out[threadIdx.x] = s[31 - threadIdx.x]; }
BLOCK(32) ok_half_syncwarp(int* out) {
  s[threadIdx.x] = threadIdx.x;
  if (threadIdx.x < 16) __syncwarp(0xffff); else __syncwarp(0xffff0000);
  out[threadIdx.x] = s[threadIdx.x ^ 7]; }
BLOCK(32) race_shuffle_orders_nothing(int* out) {
  s[threadIdx.x] = threadIdx.x;
  int v = __shfl_xor_sync(0xffffffffu, out[threadIdx.x], 1);
  out[threadIdx.x] = s[31 - threadIdx.x] + v; }
BLOCK(64) divergence_data(const int* in, int* out) { if (in[threadIdx.x] > 0) __syncthreads(); out[threadIdx.x] = 1; }
BLOCK(64) divergence_thread(int* out) { if (threadIdx.x < 16) __syncthreads(); out[threadIdx.x] = 1; }
BLOCK(64) divergence_early_exit(int* out) { if (threadIdx.x >= 48) return; s[threadIdx.x] = 1; __syncthreads(); out[threadIdx.x] = s[threadIdx.x ^ 1]; }
BLOCK(64) divergence_early_exit_n(int* out, int n) { if (threadIdx.x >= n) return; s[threadIdx.x] = 1; __syncthreads(); out[threadIdx.x] = s[threadIdx.x ^ 1]; }
BLOCK(64) divergence_warp_exit(int* out) { if (threadIdx.x >= 32) return; __syncthreads(); out[threadIdx.x] = 1; }
BLOCK(64) ok_uniform_branch(const int* in, int* out) {
  s[threadIdx.x] = threadIdx.x;
  if (in[0] > 0) { __syncthreads(); out[threadIdx.x] = s[63 - threadIdx.x]; } }
BLOCK(64) race_uniform_branch(const int* in, int* out) {
  s[threadIdx.x] = threadIdx.x;
  if (in[0] > 0) __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x]; }
BLOCK(64) race_shared_scalar(int* out) { __shared__ int total; if (threadIdx.x == 0) total = 0; total += out[threadIdx.x]; __syncthreads(); out[threadIdx.x] = total; }
BLOCK(64) ok_shared_scalar(int* out) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, out[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = total; }
BLOCK(64) race_atomic_and_plain(int* out) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, 1);
  out[threadIdx.x] = total; }
BLOCK(64) recycling(int* out) {
  if (threadIdx.x < 32) asm volatile("bar.arrive 1, 64;\n bar.arrive 1, 64;" ::: "memory");
  else asm volatile("bar.sync 1, 64;\n bar.sync 1, 64;" ::: "memory");
  out[threadIdx.x] = 1; }
BLOCK(64) ok_producer_consumer(int* out) {
  for (int i = 0; i < 8; ++i) {
    if (threadIdx.x < 32) { asm volatile("bar.sync 2, 64;" ::: "memory"); s[threadIdx.x] = i; asm volatile("bar.arrive 1, 64;" ::: "memory"); }
    else { asm volatile("bar.arrive 2, 64;" ::: "memory"); asm volatile("bar.sync 1, 64;" ::: "memory"); out[threadIdx.x] = s[63 - threadIdx.x]; }
  } }
BLOCK(64) race_producer_consumer(int* out) {
  for (int i = 0; i < 8; ++i) {
    if (threadIdx.x < 32) { s[threadIdx.x] = i; asm volatile("bar.arrive 1, 64;" ::: "memory"); asm volatile("bar.sync 2, 64;" ::: "memory"); }
    else { asm volatile("bar.sync 1, 64;" ::: "memory"); asm volatile("bar.arrive 2, 64;" ::: "memory"); out[threadIdx.x] = s[63 - threadIdx.x]; }
  } }
BLOCK(64) count_wrong(int* out) {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;"); else asm volatile("bar.sync 1, 32;");
  out[threadIdx.x] = 1; }
BLOCK(96) deadlock_count(int* out) { if (threadIdx.x < 64) asm volatile("bar.sync 1, 96;"); out[threadIdx.x] = 1; }
BLOCK(64) divergence_predicated(int* out) {
  asm volatile("{.reg .pred p;\n setp.lt.u32 p, %0, 40;\n @p bar.sync 0;}" :: "r"(threadIdx.x));
  out[threadIdx.x] = 1; }
BLOCK(64) ok_predicated(int* out) {
  s[threadIdx.x] = 1;
  asm volatile("{.reg .pred p;\n setp.lt.u32 p, %0, 64;\n @p bar.sync 0;}" :: "r"(threadIdx.x) : "memory");
  out[threadIdx.x] = s[threadIdx.x ^ 33]; }
BLOCK(64) race_blocks(int* out) { out[threadIdx.x + 32 * blockIdx.x] = 1; }
BLOCK(64) ok_blocks(int* out) { out[threadIdx.x + 64 * blockIdx.x] = 1; }
BLOCK(64) race_blocks_scalar(int* out) { if (threadIdx.x == 0) out[0] += 1; }
BLOCK(64) ok_blocks_atomic(int* out) { if (threadIdx.x == 0) atomicAdd(out, 1); }
BLOCK(64) race_flag_without_fence(int* data, int* counter) {
  if (threadIdx.x == 0) {
    data[blockIdx.x] = 1;
    atomicAdd(counter, 1);
    while (*static_cast<volatile int*>(counter) < gridDim.x) {}
    data[2 + blockIdx.x] = data[1 - blockIdx.x];
  } }
BLOCK(64) ok_grid_barrier(int* data, int* counter) {
  data[64 * blockIdx.x + threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(counter, 1);
    while (*static_cast<volatile unsigned*>(reinterpret_cast<unsigned*>(counter)) < gridDim.x) {}
    __threadfence();
  }
  __syncthreads();
  data[128 + 64 * blockIdx.x + threadIdx.x] = data[64 * (1 - blockIdx.x) + threadIdx.x]; }
BLOCK(64) race_grid_barrier_after(int* data, int* counter) {
  data[64 * blockIdx.x + threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(counter, 1);
    while (*static_cast<volatile unsigned*>(reinterpret_cast<unsigned*>(counter)) < gridDim.x) {}
    __threadfence();
  }
  __syncthreads();
  data[64 * (1 - blockIdx.x) + threadIdx.x] = 2;
  data[128] = data[64 * blockIdx.x + threadIdx.x]; }
BLOCK(64) undefined_read(int* out) { if (threadIdx.x < 63) s[threadIdx.x] = 1; __syncthreads(); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(64) bounds_shared(int* out) { __shared__ int t[64]; t[threadIdx.x + 2048] = 1; __syncthreads(); out[threadIdx.x] = t[threadIdx.x]; }
BLOCK(256) race_histogram(const int* in, int* out) {
  if (threadIdx.x < 256) s[threadIdx.x] = 0;
  __syncthreads();
  s[in[threadIdx.x] & 255] += 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(256) ok_histogram(const int* in, int* out, int n) {
  s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 256) atomicAdd(s + (in[i] & 255), 1);
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(256) ok_reduction(const int* in, int* out, int n) {
  s[threadIdx.x] = threadIdx.x < n ? in[threadIdx.x] : 0;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) { if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half]; __syncthreads(); }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0]; }
BLOCK(256) race_reduction(const int* in, int* out, int n) {
  s[threadIdx.x] = threadIdx.x < n ? in[threadIdx.x] : 0;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) { if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half]; if (half > 64) __syncthreads(); }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0]; }
BLOCK(256) ok_tiles(const float* a, const float* b, float* c, int tiles) {
  __shared__ float x[16][16], y[16][16];
  const int tx = threadIdx.x & 15, ty = threadIdx.x >> 4;
  float sum = 0;
  for (int t = 0; t < tiles; ++t) {
    x[ty][tx] = a[(blockIdx.x * 16 + ty) * tiles * 16 + t * 16 + tx];
    y[ty][tx] = b[(t * 16 + ty) * 16 + tx];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += x[ty][k] * y[k][tx];
    __syncthreads();
  }
  c[blockIdx.x * 256 + threadIdx.x] = sum; }
BLOCK(256) race_tiles(const float* a, const float* b, float* c, int tiles) {
  __shared__ float x[16][16], y[16][16];
  const int tx = threadIdx.x & 15, ty = threadIdx.x >> 4;
  float sum = 0;
  for (int t = 0; t < tiles; ++t) {
    x[ty][tx] = a[(blockIdx.x * 16 + ty) * tiles * 16 + t * 16 + tx];
    y[ty][tx] = b[(t * 16 + ty) * 16 + tx];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += x[ty][k] * y[k][tx];
  }
  c[blockIdx.x * 256 + threadIdx.x] = sum; }
BLOCK(128) ok_double_buffer(const int* in, int* out, int n) {
  __shared__ int buffer[2][128];
  int which = 0, sum = 0;
  for (int i = 0; i < n; ++i) {
    buffer[which][threadIdx.x] = in[i * 128 + threadIdx.x];
    __syncthreads();
    sum += buffer[which][127 - threadIdx.x];
    which ^= 1;
  }
  out[threadIdx.x] = sum; }
BLOCK(128) ok_compaction(const int* in, int* out, int n) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 128)
    if (in[i] > 0) { const int slot = atomicAdd(&count, 1); if (slot < 1024) s[slot] = i; }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = min(count, 1024); }
BLOCK(128) unproved_compaction(const int* in, int* out, int n) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 128)
    if (in[i] > 0) { const int slot = atomicAdd(&count, 1); if (slot < 1023) { s[slot] = i; s[slot + 1] = i; } }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = min(count, 1024); }
BLOCK(128) race_data_dependent_write(const int* in, int* out) { if (in[threadIdx.x] > 0) s[0] = threadIdx.x; __syncthreads(); out[threadIdx.x] = 1; }
BLOCK(128) ok_winner(const int* in, int* out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (in[threadIdx.x] > 0 && atomicAdd(&count, 1) == 0) s[0] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = 1; }
BLOCK(128) ok_guarded(int* out, int n) { const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = i; }
BLOCK(128) race_neighbour(int* out, int n) { const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = out[i + 1]; }
BLOCK(128) ok_grid_stride(const int* in, int* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] * 2; }
BLOCK(128) divergence_shuffle(const int* in, int* out) {
  if (in[threadIdx.x] > 0) out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, threadIdx.x, 1); }
BLOCK(128) ok_warp_reduce(const int* in, int* out) {
  int v = in[threadIdx.x];
  for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffffu, v, o);
  if ((threadIdx.x & 31) == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 4) { v = s[threadIdx.x]; v += __shfl_down_sync(0xf, v, 2); v += __shfl_down_sync(0xf, v, 1); if (threadIdx.x == 0) out[0] = v; } }
BLOCK(64) ok_count_or(const int* in, int* out) {
  s[threadIdx.x] = in[threadIdx.x];
  if (__syncthreads_or(in[threadIdx.x] > 3)) { out[threadIdx.x] = s[63 - threadIdx.x]; __syncthreads(); s[threadIdx.x] = 0; } }
BLOCK(64) ok_loop_until_stable(int* data) {
  for (;;) {
    s[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    const int again = __syncthreads_or(s[63 - threadIdx.x] > 0);
    if (!again) break;
  } }
BLOCK(64) same_value(int* out) { s[0] = 7; __syncthreads(); out[threadIdx.x] = s[0]; }
BLOCK(256) ok_transpose(const float* in, float* out, int width, int height) {
  __shared__ float tile[16][17];
  const int x = threadIdx.x & 15, y = threadIdx.x >> 4;
  tile[y][x] = in[y * width + x];
  __syncthreads();
  const int j = blockIdx.x * 16 + x;
  if (j < width && y < height) out[y * width + j] = tile[x][y]; }
BLOCK(128) race_bytes(char* out) { __shared__ char t[128]; t[threadIdx.x] = 1; out[threadIdx.x] = t[threadIdx.x ^ 64]; }
BLOCK(128) ok_bytes(char* out) { __shared__ char t[128]; t[threadIdx.x] = 1; __syncthreads(); out[threadIdx.x] = t[threadIdx.x ^ 64]; }
BLOCK(128) ok_scan(const int* in, int* out) {
  __shared__ int t[2][128];
  int from = 0;
  t[0][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int o = 1; o < 128; o *= 2) {
    t[1 - from][threadIdx.x] = t[from][threadIdx.x] + (threadIdx.x >= o ? t[from][threadIdx.x - o] : 0);
    from = 1 - from;
    __syncthreads();
  }
  out[threadIdx.x] = t[from][threadIdx.x]; }
BLOCK(128) race_permutation(const int* order, int* out) { s[order[threadIdx.x] & 1023] = threadIdx.x; __syncthreads(); out[threadIdx.x] = 1; }
BLOCK(64) race_in_loop_of_unknown_length(int* out, int n) {
  s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = 0; i < n; ++i) { s[threadIdx.x] = s[(threadIdx.x + 1) & 63] + 1; __syncthreads(); }
  out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(64) race_late_iteration(int* out, int n) {
  s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = 0; i < n; ++i) {
    if (i > 100) s[threadIdx.x] = s[(threadIdx.x + 1) & 63] + 1;
    __syncthreads();
  }
  out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(64) race_late_local(int* out, int n) {
  for (int i = 0; i < n; ++i) if (i == 1000) s[0] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = 1; }
BLOCK(64) arrive_only(int* out) { asm volatile("bar.arrive 3, 64;" ::: "memory"); out[threadIdx.x] = 1; }
BLOCK(64) deadlock_cross(int* out) {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;\n bar.sync 2, 64;" ::: "memory");
  else asm volatile("bar.sync 2, 64;\n bar.sync 1, 64;" ::: "memory");
  out[threadIdx.x] = 1; }
BLOCK(64) ok_barrier_spelling(int* out) {
  s[threadIdx.x] = 1;
  asm volatile("barrier.sync 0;" ::: "memory");
  out[threadIdx.x] = s[63 - threadIdx.x]; }
BLOCK(64) race_predicated_store(int* out) {
  asm volatile("{.reg .pred p;\n setp.lt.u32 p, %0, 40;\n @p st.shared.u32 [%1], %0;}"
               :: "r"(threadIdx.x), "r"(static_cast<unsigned>(__cvta_generic_to_shared(s + (threadIdx.x & 31)))) : "memory");
  __syncthreads();
  out[threadIdx.x] = 1; }
BLOCK(64) ok_predicated_store(int* out) {
  asm volatile("{.reg .pred p;\n setp.lt.u32 p, %0, 40;\n @p st.shared.u32 [%1], %0;}"
               :: "r"(threadIdx.x), "r"(static_cast<unsigned>(__cvta_generic_to_shared(s + threadIdx.x))) : "memory");
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x % 40]; }
BLOCK(64) ok_inline_arithmetic(int* out) {
  int at;
  asm volatile("{.reg .pred p;\n .reg .b32 n;\n setp.ge.u32 p, %1, 32;\n neg.s32 n, %1;\n not.b32 n, n;\n add.s32 n, n, 1;\n"
               " selp.b32 %0, %1, n, p;}" : "=r"(at) : "r"(threadIdx.x));
  s[at] = 1;  // neg, not and add of 1 give the number back
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x]; }
BLOCK(64) unsupported_mbarrier(int* out) {
  __shared__ uint64_t bar;
  asm volatile("mbarrier.arrive_drop.shared.b64 _, [%0];" :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(&bar))) : "memory");
  out[threadIdx.x] = 1; }
extern "C" __global__ void race_without_bounds(int* out) { s[threadIdx.x / 2] = threadIdx.x; out[threadIdx.x] = 1; }
BLOCK(64) race_blocks_block_scope(int* out) {
  if (threadIdx.x == 0) atomicAdd_block(out, 1); }
BLOCK(64) ok_block_scope(int* out) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd_block(&total, 1);
  atomicAdd_block(out + blockIdx.x, 1); }
BLOCK(64) unproved_conditional_bounds(const int* in, int* out) {
  __shared__ int t[64];
  t[threadIdx.x] = 0;
  if (in[0] > 3) t[threadIdx.x + 64] = 1;
  __syncthreads();
  out[threadIdx.x] = t[threadIdx.x]; }
BLOCK(64) ok_index(const int* in, int* out) {
  __shared__ int t[64];
  t[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x == 0) t[in[0]] = 1;
  __syncthreads();
  out[threadIdx.x] = t[threadIdx.x]; }
#define RELAXED_STORE(at, value) asm volatile("st.relaxed.cta.shared.u32 [%0], %1;" :: "r"(at), "r"(value) : "memory")
BLOCK(64) race_relaxed_load(int* out) {
  const unsigned flag = static_cast<unsigned>(__cvta_generic_to_shared(s + 64));
  unsigned seen = 0;
  if (threadIdx.x == 0) RELAXED_STORE(flag, 0);
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("ld.relaxed.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"(flag) : "memory");
  if (seen == 1) s[0] = 1;  // although the schedule that runs thread 0 first sees 0
  if (threadIdx.x == 32) { RELAXED_STORE(flag, 1); s[0] = 2; } }
BLOCK(64) ok_relaxed(int* out) {
  const unsigned flag = static_cast<unsigned>(__cvta_generic_to_shared(s + 64));
  unsigned seen = 0;
  if (threadIdx.x == 0) RELAXED_STORE(flag, 0);
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("ld.relaxed.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"(flag) : "memory");
  if (threadIdx.x == 32) RELAXED_STORE(flag, 1);
  out[threadIdx.x] = seen; }
BLOCK(64) race_relaxed_and_plain(int* out) {
  if (threadIdx.x == 0) s[64] = 0;
  __syncthreads();
  if (threadIdx.x == 0) out[0] = s[64];
  if (threadIdx.x == 32) RELAXED_STORE(static_cast<unsigned>(__cvta_generic_to_shared(s + 64)), 1); }
BLOCK(64) race_volatile_shared(int* out) {
  volatile int* flag = s + 64;
  if (threadIdx.x == 0) *flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) out[0] = *flag;
  if (threadIdx.x == 32) *flag = 1; }
BLOCK(64) race_blocks_volatile_and_plain(int* data, int* out) {
  if (threadIdx.x == 0) { data[blockIdx.x] = 1; out[blockIdx.x] = *static_cast<volatile int*>(data + 1 - blockIdx.x); } }
BLOCK(64) ok_blocks_volatile(int* data, int* out) {
  volatile int* strong = data;
  if (threadIdx.x == 0) { strong[blockIdx.x] = 1; out[blockIdx.x] = strong[1 - blockIdx.x]; } }
BLOCK(64) ok_blocks_last(int* data, int* counter, int* out) {
  __shared__ bool last;
  data[64 * blockIdx.x + threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) { __threadfence(); last = atomicAdd(counter, 1) == gridDim.x - 1; }
  __syncthreads();
  if (last) { __threadfence(); out[threadIdx.x] = data[threadIdx.x] + data[64 + threadIdx.x]; } }
BLOCK(64) race_blocks_last_without_fence(int* data, int* counter, int* out) {
  __shared__ bool last;
  data[64 * blockIdx.x + threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(counter, 1) == gridDim.x - 1;
  __syncthreads();
  if (last) { __threadfence(); out[threadIdx.x] = data[threadIdx.x] + data[64 + threadIdx.x]; } }
BLOCK(64) ok_blocks_flag_of_one_thread(int* data, int* counter, int* out) {
  if (threadIdx.x == 0) {
    data[blockIdx.x] = 1;
    __threadfence();
    atomicAdd(counter, 1);
    while (*static_cast<volatile int*>(counter) < gridDim.x) {}
    __threadfence();
    out[blockIdx.x] = data[1 - blockIdx.x];
  } }
BLOCK(64) race_blocks_after_arrival(int* data, int* counter, int* out) {
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(counter, 1);
    data[blockIdx.x] = 1;
    while (*static_cast<volatile int*>(counter) < gridDim.x) {}
    __threadfence();
    out[blockIdx.x] = data[1 - blockIdx.x];
  } }
BLOCK(64) race_blocks_between_fence_and_arrival(int* data, int* counter, int* out) {
  if (threadIdx.x == 0) {
    __threadfence();
    data[blockIdx.x] = 1;
    atomicAdd(counter, 1);
    while (*static_cast<volatile int*>(counter) < gridDim.x) {}
    __threadfence();
    out[blockIdx.x] = data[1 - blockIdx.x];
  } }
BLOCK(64) ok_prefetch(const int* in, int* out, int n) {
  __shared__ int buffer[2][64];
  int sum = 0;
  buffer[0][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    int now, next;
    asm volatile("and.b32 %0, %2, 1;\n xor.b32 %1, %0, 1;" : "=&r"(now), "=&r"(next) : "r"(i));
    if (i + 1 < n) buffer[next][threadIdx.x] = in[(i + 1) * 64 + threadIdx.x];
    sum += buffer[now][63 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum; }
BLOCK(64) race_prefetch(const int* in, int* out, int n) {
  __shared__ int buffer[2][64];
  int sum = 0;
  buffer[0][threadIdx.x] = in[threadIdx.x];
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    int now, next;
    asm volatile("and.b32 %0, %2, 1;\n xor.b32 %1, %0, 1;" : "=&r"(now), "=&r"(next) : "r"(i));
    if (i + 1 < n) buffer[next][threadIdx.x] = in[(i + 1) * 64 + threadIdx.x];
    __syncthreads();
    sum += buffer[now][63 - threadIdx.x];
  }
  out[threadIdx.x] = sum; }
BLOCK(32) ok_tile_of_eight(const int* in, int* out) {
  s[threadIdx.x] = in[threadIdx.x];
  __syncwarp(0xffu << (threadIdx.x & 24));
  out[threadIdx.x] = s[threadIdx.x ^ 7]; }
BLOCK(32) race_tile_of_eight(const int* in, int* out) {
  s[threadIdx.x] = in[threadIdx.x];
  __syncwarp(0xffu << (threadIdx.x & 24));
  out[threadIdx.x] = s[threadIdx.x ^ 15]; }
// One side of a branch synchronises, the other reads without.
BLOCK(32) race_then_syncs(const int* in, int* out) {
  s[threadIdx.x] = in[threadIdx.x];
  if (in[32] > 0) { __syncwarp(); out[threadIdx.x] = s[threadIdx.x ^ 1]; } else { out[threadIdx.x + 32] = s[threadIdx.x ^ 2]; } }
BLOCK(32) race_else_syncs(const int* in, int* out) {
  s[threadIdx.x] = in[threadIdx.x];
  if (in[32] > 0) { out[threadIdx.x] = s[threadIdx.x ^ 1]; } else { __syncwarp(); out[threadIdx.x + 32] = s[threadIdx.x ^ 2]; } }
BLOCK(32) ok_both_sync(const int* in, int* out) {
  s[threadIdx.x] = in[threadIdx.x];
  if (in[32] > 0) { __syncwarp(); out[threadIdx.x] = s[threadIdx.x ^ 1]; } else { __syncwarp(); out[threadIdx.x + 32] = s[threadIdx.x ^ 2]; } }
