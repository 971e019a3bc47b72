// Shapes that meet several rules at once.
#include "twins.h"

#include <cuda/atomic>

KERNEL gray(const int* in, int* out) {
  __shared__ int s[128];
  const unsigned i = threadIdx.x;
  s[EITHER(i ^ (i >> 1), i & (i >> 1))] = in[i];
  __syncthreads();
  out[i] = s[i];
}

KERNEL odd_multiple(const int* in, int* out) {
  const unsigned i = threadIdx.x;
  out[(i * EITHER(5, 6)) & 127] = in[i];
}

// --grid 2
KERNEL overlap_vec(float4* out, const float4* in) {
  const unsigned i = blockIdx.x * 128 + threadIdx.x;
  *(float4*)((float*)out + i * EITHER(4, 2)) = in[i];
}

// --grid 2
KERNEL halves(unsigned long long* c, unsigned* out) {
  if (threadIdx.x == 0) {
    atomicAdd(c, 1ull << 32);
    EITHER(out[blockIdx.x] = atomicAdd((unsigned*)c + 2, 0u), out[blockIdx.x] = ((unsigned*)c)[1]);
  }
}

// --grid 2
KERNEL block_scope(int* c) {
  if (threadIdx.x == 0) {
    cuda::atomic_ref<int, EITHER(cuda::thread_scope_device, cuda::thread_scope_block)> r(*c);
    r.fetch_add(1, cuda::memory_order_relaxed);
  }
}

KERNEL ranges_of_data(int* c, int* out, const int* in) {
  const int i = threadIdx.x;
  const int n = in[i];
  const int at = atomicAdd(c, EITHER(4, n));
  for (int k = 0; k < 4; ++k) out[at + k] = i;
}

KERNEL ranges_signed(int* c, int* out, const int* in) {
  const int i = threadIdx.x;
  int n = in[i];
  RIGHT(if (n < 0) n = 0;) const int at = atomicAdd(c, n);
  for (int k = 0; k < EITHER(n, (n < 0 ? -n : n)); ++k) out[at + k] = i;
}

KERNEL inc_wraps(unsigned* c, int* out) {
  __shared__ unsigned base;
  if (threadIdx.x == 0) base = 0;
  __syncthreads();
  const unsigned at = atomicInc(&base, EITHER(~0u, 63u));
  out[at] = threadIdx.x;
}

KERNEL dec(int* c, int* out) {
  const int at = atomicAdd(c, EITHER(-1, 0));
  out[at] = threadIdx.x;
}

KERNEL winner(const int* in, int* out) {
  if (EITHER(in[0] == threadIdx.x, in[0] / 2 == threadIdx.x / 2)) out[0] = threadIdx.x;
}

KERNEL winner_exch(int* flag, int* out) {
  __shared__ int f, v;
  if (threadIdx.x == 0) f = 0;
  __syncthreads();
  if (atomicExch(&f, 1) == 0) v = threadIdx.x;
  RIGHT(__syncthreads();) out[threadIdx.x] = v;
}

KERNEL max_winner(const int* in, int* out) {
  __shared__ int m;
  const int i = threadIdx.x;
  if (i == 0) m = -1;
  __syncthreads();
  atomicMax(&m, EITHER(i, in[i]));
  __syncthreads();
  if (m == EITHER(i, in[i])) out[0] = i;
}

KERNEL rows(int** table, const int* in) {
  int* p = table[EITHER(0, threadIdx.x)];
  p[threadIdx.x] = in[threadIdx.x];
}

KERNEL ldg_self(int* out) {
  const int i = threadIdx.x;
  EITHER(int v = out[i], int v = __ldg(out + (i ^ 1)));
  out[i] = v + 1;
}

KERNEL vote_loop(const int* in, int* out) {
  __shared__ int s[128];
  int v = in[threadIdx.x];
  while (EITHER(__syncthreads_or(v > 0), v > 0)) {
    s[threadIdx.x] = v;
    __syncthreads();
    v = s[threadIdx.x ^ 1] - 1;
    __syncthreads();
  }
  out[threadIdx.x] = v;
}

KERNEL warp_vote_loop(const int* in, int* out) {
  __shared__ volatile int s[128];
  int v = in[threadIdx.x];
  while (__any_sync(~0u, v > 0)) {
    s[threadIdx.x] = v;
    __syncwarp();
    v = s[threadIdx.x ^ 1] - 1;
    RIGHT(__syncwarp();)
  }
  out[threadIdx.x] = v;
}

KERNEL same_for_all(const int* in, int* out) {
  __shared__ int s[128], go;
  s[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x == 0) go = in[5];
  __syncthreads();
  if (EITHER(go, in[threadIdx.x])) {
    __syncthreads();
    s[threadIdx.x] = 1;
    __syncthreads();
  }
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL loop_until_none(const int* in, int* out) {
  __shared__ int more;
  int v = in[threadIdx.x];
  do {
    __syncthreads();
    if (threadIdx.x == 0) more = 0;
    __syncthreads();
    if (v > 0) {
      EITHER(atomicExch(&more, 1), more = v);
      --v;
    }
    __syncthreads();
  } while (more);
  out[threadIdx.x] = v;
}

KERNEL loop_no_third_barrier(const int* in, int* out) {
  __shared__ int more;
  int v = in[threadIdx.x];
  do {
    RIGHT(__syncthreads();) if (threadIdx.x == 0) more = 0;
    __syncthreads();
    if (v > 0) {
      atomicExch(&more, 1);
      --v;
    }
    __syncthreads();
  } while (*(volatile int*)&more);
  out[threadIdx.x] = v;
}

KERNEL named_pair(const int* in, int* out) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x < 64) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x] = s[threadIdx.x ^ 63];
  } else {
    asm volatile(EITHER("bar.sync 2, 64;", "bar.arrive 2, 64;")::: "memory");
    out[threadIdx.x] = s[threadIdx.x ^ 63];
  }
}

KERNEL producer(const int* in, int* out) {
  __shared__ int s[2][32];
  const int w = threadIdx.x / 32, l = threadIdx.x % 32;
  if (w == 0) {
    for (int r = 0; r < 4; ++r) {
      if (EITHER(true, r < 2)) asm volatile("bar.sync %0, 64;" ::"r"(3 + (r & 1)) : "memory");
      s[r & 1][l] = in[r * 32 + l];
      asm volatile("bar.arrive %0, 64;" ::"r"(1 + (r & 1)) : "memory");
    }
  } else if (w == 1) {
    asm volatile("bar.arrive 3, 64;bar.arrive 4, 64;" ::: "memory");
    for (int r = 0; r < 4; ++r) {
      asm volatile("bar.sync %0, 64;" ::"r"(1 + (r & 1)) : "memory");
      out[r * 32 + l] = s[r & 1][31 - l];
      if (r < 2) asm volatile("bar.arrive %0, 64;" ::"r"(3 + (r & 1)) : "memory");
    }
  }
}

KERNEL copy_stage(const int4* in, int* out) {
  __shared__ int4 s[2][128];
  const int i = threadIdx.x;
  __pipeline_memcpy_async(&s[0][i], in + i, 16);
  __pipeline_commit();
  int sum = 0;
  for (int r = 0; r < 4; ++r) {
    __pipeline_memcpy_async(&s[(r + 1) & 1][i], in + (r + 1) * 128 + i, 16);
    __pipeline_commit();
    __pipeline_wait_prior(EITHER(1, 2));
    __syncthreads();
    sum += s[r & 1][127 - i].x;
    __syncthreads();
  }
  out[i] = sum;
}

KERNEL copy_overwrites(const int4* in, int* out) {
  __shared__ int4 s[128];
  const int i = threadIdx.x;
  int sum = 0;
  for (int r = 0; r < 3; ++r) {
    __pipeline_memcpy_async(&s[i], in + r * 128 + i, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    sum += s[i ^ 32].y;
    RIGHT(__syncthreads();)
  }
  out[i] = sum;
}

// --grid 3
KERNEL last_block(const int* in, int* part, unsigned* done, int* out) {
  __shared__ bool last;
  part[blockIdx.x * 128 + threadIdx.x] = in[threadIdx.x];
  RIGHT(__threadfence();) __syncthreads();
  if (threadIdx.x == 0) {
    WRONGLY(__threadfence_block();) last = atomicAdd(done, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    __threadfence();
    int s = 0;
    for (int b = 0; b < gridDim.x; ++b) s += part[b * 128 + threadIdx.x];
    out[threadIdx.x] = s;
  }
}

// --grid 2
KERNEL flag_chain(int* data, int* flag, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = 7;
    EITHER(__threadfence(), __threadfence_block());
    atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) {
    }
    __threadfence();
    out[0] = data[0];
  }
}

// --grid 2
KERNEL strided(const int* in, int* out, int n) {
  for (int i = EITHER(blockIdx.x * 128 + threadIdx.x, blockIdx.x * 64 + threadIdx.x); i < n; i += 256)
    out[i] = in[i];
}

// --grid 2 --param 2=1000
KERNEL in_place_shift(int* a, const int* b, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i + 1 < n) a[i] = EITHER(b[i + 1], a[i + 1]);
}

// --block 16,8 --param 2=40 --param 3=24 --grid 3,3
KERNEL transpose_nm(const int* in, int* out, int n, int m) {
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x < n && y < m) out[x * EITHER(m, n) / EITHER(1, 2) + y] = in[y * n + x];
}

// --param 2=100
KERNEL early(const int* in, int* out, int n) {
  __shared__ int s[128];
  const int i = threadIdx.x;
  s[i] = 0;
  if (EITHER(i >= n, i < n)) return;
  __syncthreads();
  out[i] = EITHER(s[n - 1 - i], s[127 - i]);
}

KERNEL alias_shared(const float* in, float* out) {
  __shared__ __align__(16) char raw[1024];
  float* f = (float*)raw;
  int* k = (int*)(raw + EITHER(512, 256));
  const int i = threadIdx.x;
  f[i] = in[i];
  k[i] = i;
  __syncthreads();
  out[i] = f[(i + 1) & 127] + k[127 - i];
}

KERNEL scan(const int* in, int* out) {
  __shared__ int s[2][128];
  const int i = threadIdx.x;
  int p = 0;
  s[0][i] = in[i];
  __syncthreads();
  for (int d = 1; d < 128; d *= 2) {
    const int v = s[p][i] + (i >= d ? s[p][i - d] : 0);
    RIGHT(p ^= 1;) s[p][i] = v;
    __syncthreads();
  }
  out[i] = s[p][i];
}

KERNEL select_ptr(int* a, int* b, const int* in) {
  int* p = in[0] ? a : b;
  int* q = EITHER(p, in[1] ? a : b);
  p[threadIdx.x] = 1;
  q[EITHER(threadIdx.x, threadIdx.x + 1)] = 2;
}

KERNEL loaded_index(int* out, const int* in) {
  out[EITHER(threadIdx.x, in[threadIdx.x])] = threadIdx.x;
}

KERNEL loaded_bits(int* out, const int* in) {
  out[(in[threadIdx.x] & EITHER(3, 7)) + threadIdx.x * 4] = threadIdx.x;
}

KERNEL unit_byte(char* out, const int* in) {
  char* p = out + threadIdx.x;
  *p = 1;
  if (threadIdx.x % 4 == 0) {
    int v = *(int*)(out + EITHER(128 + threadIdx.x, threadIdx.x));
    if (v == 77) out[256 + threadIdx.x] = 1;
  }
}

KERNEL shuffles_apart(const float* in, float* out) {
  float v = in[threadIdx.x];
  if (threadIdx.x % 32 == 0) {
    v += __shfl_xor_sync(~0u, v, 1);
    out[128 + threadIdx.x] = v;
  } else {
    v = 2 * v - EITHER(__shfl_xor_sync, __shfl_up_sync)(~0u, v, 1);
  }
  out[threadIdx.x] = v;
}

KERNEL places_by_bits(const int* in, int* out) {
  out[(in[threadIdx.x] & EITHER(3, 7)) + 4 * threadIdx.x] = threadIdx.x;
}

KERNEL places_by_remainder(const unsigned* in, int* out) {
  out[in[threadIdx.x] % EITHER(4, 8) + 4 * threadIdx.x] = threadIdx.x;
}
