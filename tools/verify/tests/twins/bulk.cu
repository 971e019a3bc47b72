// Bulk copies (cp.async.bulk), and pipelines of them.
#include <cuda_fp16.h>
#include <cuda/barrier>
#include <cuda/ptx>

#include "twins.h"

using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace ptx = cuda::ptx;

__device__ void wait(uint64_t* barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

__device__ void arrive(uint64_t* barrier) {
  ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, barrier);
}

__device__ void expect(uint64_t* barrier, unsigned bytes) {
  ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, barrier, bytes);
}

__device__ void load(void* to, const void* from, unsigned bytes, uint64_t* barrier) {
  ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, to, from, bytes, barrier);
}

__device__ void begin(uint64_t* barrier, unsigned count) {
  ptx::mbarrier_init(barrier, count);
  ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
}

// ldmatrix: each lane names a row.
__device__ void matrices(unsigned (&to)[4], const half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
}

KERNEL one_copy(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ alignas(128) int s[1024];
  if (threadIdx.x == 0) begin(&barrier, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&barrier, 4096);
    load(s, in, 4096, &barrier);
  }
  EITHER(wait(&barrier, 0), __syncthreads());
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL as_many_bytes(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ alignas(128) int s[1024];
  if (threadIdx.x == 0) begin(&barrier, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&barrier, EITHER(4096, 8192));
    load(s, in, 4096, &barrier);
  }
  wait(&barrier, 0);
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL shown_to_the_copy(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ alignas(128) int s[1024];
  if (threadIdx.x == 0) EITHER(begin(&barrier, 1), ptx::mbarrier_init(&barrier, 1));
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&barrier, 4096);
    load(s, in, 4096, &barrier);
  }
  wait(&barrier, 0);
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL copy_of_a_barrier_object(const int* in, int* out) {
  __shared__ Barrier barrier;
  __shared__ alignas(128) int s[1024];
  if (threadIdx.x == 0) {
    init(&barrier, 128);
    cuda::device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::experimental::cp_async_bulk_global_to_shared(s, in, 4096, barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, 4096);
  } else {
    token = barrier.arrive();
  }
  RIGHT(barrier.wait(std::move(token));)
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL memory_that_was_read(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ alignas(128) int s[128];
  int sum = 0;
  if (threadIdx.x == 0) begin(&barrier, 1);
  __syncthreads();
  for (int k = 0; k < 4; ++k) {
    if (threadIdx.x == 0) {
      expect(&barrier, 512);
      load(s, in + 128 * k, 512, &barrier);
    }
    wait(&barrier, k % 2);
    sum += s[127 - threadIdx.x];
    RIGHT(__syncthreads();)
  }
  out[threadIdx.x] = sum;
}

KERNEL memory_that_was_written(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ alignas(128) int s[128];
  if (threadIdx.x == 0) begin(&barrier, 1);
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[128 + threadIdx.x] = s[127 - threadIdx.x];
  RIGHT(ptx::fence_proxy_async(ptx::space_shared);)
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&barrier, 512);
    load(s, in, 512, &barrier);
  }
  wait(&barrier, 0);
  out[threadIdx.x] = s[127 - threadIdx.x];
}

// A producing warp keeps four stages full for three warps that consume, as CUTLASS's pipelines do.
// --param 2=11
KERNEL pipeline(const int* in, int* out, int n) {
  __shared__ uint64_t full[4], empty[4];
  __shared__ alignas(128) int s[4][96];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; ++i) ptx::mbarrier_init(&full[i], 1), ptx::mbarrier_init(&empty[i], 96);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 0; k < n; ++k) {
      wait(&empty[k % 4], (k / 4 + 1) % 2);
      expect(&full[k % 4], 384);
      load(s[k % EITHER(4, 3)], in + 96 * k, 384, &full[k % 4]);
    }
  } else if (threadIdx.x >= 32) {
    int sum = 0;
    for (int k = 0; k < n; ++k) {
      wait(&full[k % 4], k / 4 % 2);
      sum += s[k % EITHER(4, 3)][127 - threadIdx.x];
      arrive(&empty[k % 4]);
    }
    out[threadIdx.x] = sum;
  }
}

// Two copies fill a stage; one lane of each consuming warp frees it.
// --param 3=9
KERNEL pipeline_of_two_operands(const int* a, const int* b, int* out, int n) {
  __shared__ uint64_t full[3], empty[3];
  __shared__ alignas(128) int s[3][2][96];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 3; ++i) ptx::mbarrier_init(&full[i], 1), ptx::mbarrier_init(&empty[i], 3);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  int stage = 0, phase = 0;
  const auto next = [&] {
    if (++stage == 3) stage = 0, phase ^= 1;
  };
  if (threadIdx.x < 32) {
    if (threadIdx.x != 0) return;
    for (int k = 0; k < n; ++k, next()) {
      wait(&empty[stage], phase ^ 1);
      expect(&full[stage], 768);
      load(s[stage][0], a + 96 * k, 384, &full[stage]);
      load(s[stage][1], b + 96 * k, 384, &full[stage]);
    }
    return;
  }
  int sum = 0;
  for (int k = 0; k < n; ++k, next()) {
    wait(&full[stage], phase);
    sum += s[stage][0][127 - threadIdx.x] * s[stage][1][threadIdx.x - 32];
    RIGHT(__syncwarp();)
    if (threadIdx.x % 32 == 0) arrive(&empty[stage]);
  }
  out[threadIdx.x] = sum;
}

// The consumers begin with the stages that a prologue has filled.
// --param 2=10
KERNEL pipeline_with_prologue(const int* in, int* out, int n) {
  __shared__ uint64_t full[2];
  __shared__ alignas(128) int s[2][128];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) ptx::mbarrier_init(&full[i], 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    for (int k = 0; k < 2; ++k) {
      expect(&full[k], 512);
      load(s[k], in + 128 * k, 512, &full[k]);
    }
  }
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < n; ++k) {
    wait(&full[k % 2], k / 2 % 2);
    sum += s[k % 2][127 - threadIdx.x];
    RIGHT(__syncthreads();)
    if (threadIdx.x == 0 && k + 2 < n) {
      expect(&full[k % 2], 512);
      load(s[k % 2], in + 128 * (k + 2), 512, &full[k % 2]);
    }
  }
  out[threadIdx.x] = sum;
}

KERNEL copy_to_global(const int* in, int* out) {
  __shared__ alignas(128) int s[128];
  s[threadIdx.x] = in[127 - threadIdx.x];
  RIGHT(ptx::fence_proxy_async(ptx::space_shared);)
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, s, 512);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}

KERNEL reuse_behind_a_copy_to_global(const int* in, int* out) {
  __shared__ alignas(128) int s[128];
  for (int k = 0; k < 3; ++k) {
    s[threadIdx.x] = in[128 * k + 127 - threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + 128 * k, s, 512);
      ptx::cp_async_bulk_commit_group();
      RIGHT(ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());)
    }
    __syncthreads();
  }
}

KERNEL expected_by_one_of_two(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ alignas(128) int s[256];
  if (threadIdx.x == 0) begin(&barrier, 2);
  __syncthreads();
  if (threadIdx.x % 64 == 0) {
    const int half = threadIdx.x / 64;
    EITHER(expect(&barrier, 512), if (half == 0) expect(&barrier, 512); else arrive(&barrier));
    load(s + 128 * half, in + 128 * half, 512, &barrier);
  }
  wait(&barrier, 0);
  out[threadIdx.x] = s[255 - threadIdx.x] + s[threadIdx.x];
}

KERNEL copy_by_another_thread(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ alignas(128) int s[128];
  if (threadIdx.x == 0) begin(&barrier, 1);
  RIGHT(__syncthreads();)
  if (threadIdx.x == 32) load(s, in, 512, &barrier);
  if (threadIdx.x == 0) expect(&barrier, 512);
  WRONGLY(__syncthreads();)
  wait(&barrier, 0);
  out[threadIdx.x] = s[127 - threadIdx.x];
}

// A fence for shared memory does not order global memory.
KERNEL copy_of_written_global_memory(int* middle, int* out) {
  __shared__ uint64_t barrier;
  __shared__ alignas(128) int s[128];
  if (threadIdx.x == 0) begin(&barrier, 1);
  middle[threadIdx.x] = threadIdx.x;
  EITHER(ptx::fence_proxy_async(), ptx::fence_proxy_async(ptx::space_shared));
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&barrier, 512);
    load(s, middle, 512, &barrier);
  }
  wait(&barrier, 0);
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL copy_of_own_writes(int* out) {
  __shared__ alignas(128) int s[128];
  if (threadIdx.x != 0) return;
  for (int i = 0; i < 4; ++i) s[i] = i;
  RIGHT(ptx::fence_proxy_async(ptx::space_shared);)
  ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, s, 16);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
}

KERNEL copies_that_overlap(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ alignas(128) int s[256];
  if (threadIdx.x == 0) begin(&barrier, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&barrier, 1024);
    load(s, in, 512, &barrier);
    load(s + EITHER(128, 124), in + 128, 512, &barrier);
  }
  wait(&barrier, 0);
  out[threadIdx.x] = s[127 - threadIdx.x] + s[128 + threadIdx.x];
}

// Each block copies its part.
// --grid 3
KERNEL copies_of_blocks(const int* in, int* out) {
  __shared__ alignas(128) int s[128];
  s[threadIdx.x] = in[128 * blockIdx.x + 127 - threadIdx.x];
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + EITHER(128, 64) * blockIdx.x, s, 512);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}

// As CUTLASS's kernels: a producing warp, consumers that multiply, and an epilogue that copies the sums.
// --param 2=7
KERNEL specialised_warps(const half* in, half* out, int n) {
  __shared__ uint64_t full[3], empty[3];
  __shared__ alignas(128) half s[3][3][256], sums[3][256];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 3; ++i) ptx::mbarrier_init(&full[i], 1), ptx::mbarrier_init(&empty[i], 3);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  int stage = 0, phase = 0;
  const auto next = [&] {
    if (++stage == 3) stage = 0, phase ^= 1;
  };
  if (warp == 3) {
    for (int k = 0; lane == 0 && k < n; ++k, next()) {
      wait(&empty[stage], phase ^ 1);
      expect(&full[stage], sizeof s[0]);
      load(s[stage], in + 768 * k, sizeof s[0], &full[stage]);
    }
    return;
  }
  unsigned sum[4] = {};
  for (int k = 0; k < n; ++k, next()) {
    wait(&full[stage], phase);
    unsigned part[4];
    matrices(part, &s[stage][warp][8 * lane]);
    RIGHT(__syncwarp();)
    if (lane == 0) arrive(&empty[stage]);
    for (int i = 0; i < 4; ++i) sum[i] ^= part[i];
  }
  for (int i = 0; i < 4; ++i) reinterpret_cast<unsigned*>(sums[warp])[32 * i + lane] = sum[i];
  ptx::fence_proxy_async(ptx::space_shared);
  BAR_SYNC(1, 96);
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, sums, sizeof sums);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}
