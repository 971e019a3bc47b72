// Blocks: fences, scopes, counters, flags and tickets.
#include <cuda/atomic>

#include "twins.h"

// --grid 3 --block 64
KERNEL last_block_adds_up(const int* in, int* sums, unsigned* done, int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = in[blockIdx.x];
    RIGHT(__threadfence();)
    last = atomicAdd(done, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  if (threadIdx.x < gridDim.x) out[threadIdx.x] = sums[threadIdx.x];
}

// --grid 3 --block 64
KERNEL last_block_without_its_fence(const int* in, int* sums, unsigned* done, int* out) {
  if (threadIdx.x > 0) return;
  sums[blockIdx.x] = in[blockIdx.x];
  __threadfence();
  if (atomicAdd(done, 1) != gridDim.x - 1) return;
  RIGHT(__threadfence();)
  int sum = 0;
  for (int k = 0; k < gridDim.x; ++k) sum += sums[k];
  *out = sum;
}

// --grid 3 --block 64
KERNEL last_block_of_all_threads(const int* in, int* sums, unsigned* done, int* out) {
  __shared__ bool last;
  sums[blockIdx.x * 64 + threadIdx.x] = in[threadIdx.x];
  __threadfence();
  RIGHT(__syncthreads();)
  if (threadIdx.x == 0) last = atomicAdd(done, 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  int sum = 0;
  for (int k = 0; k < gridDim.x; ++k) sum += sums[k * 64 + threadIdx.x];
  out[threadIdx.x] = sum;
}

// --grid 2 --block 32
KERNEL fence_of_the_block_only(int* data, unsigned* done, int* out) {
  if (threadIdx.x > 0) return;
  data[blockIdx.x] = 1;
  EITHER(__threadfence(), __threadfence_block());
  if (atomicAdd(done, 1) != 1) return;
  __threadfence();
  *out = data[0] + data[1];
}

// --grid 2 --block 32
KERNEL counter_of_the_block_only(int* data, unsigned* done, int* out) {
  if (threadIdx.x > 0) return;
  data[blockIdx.x] = 1;
  __threadfence();
  if (EITHER(atomicAdd(done, 1), atomicAdd_block(done, 1)) != 1) return;
  __threadfence();
  *out = data[0] + data[1];
}

// --grid 2 --block 32
KERNEL release_and_acquire(int* data, unsigned* flag, int* out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> raised(*flag);
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) {
    *data = 7;
    raised.store(1, EITHER(cuda::memory_order_release, cuda::memory_order_relaxed));
  } else if (raised.load(cuda::memory_order_acquire) == 1) {
    *out = *data;
  }
}

// --grid 2 --block 32
KERNEL relaxed_load_of_a_flag(int* data, unsigned* flag, int* out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> raised(*flag);
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) {
    *data = 7;
    raised.store(1, cuda::memory_order_release);
  } else if (raised.load(EITHER(cuda::memory_order_acquire, cuda::memory_order_relaxed)) == 1) {
    *out = *data;
  }
}

// --grid 2 --block 32
KERNEL flag_that_is_not_volatile(int* data, unsigned* flag, int* out) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) {
    *data = 7;
    __threadfence();
    *(EITHER(volatile,) unsigned*)flag = 1;
  } else {
    while (*(volatile unsigned*)flag == 0) {
    }
    __threadfence();
    *out = *data;
  }
}

// --grid 2 --block 32
KERNEL flag_before_the_data(int* data, unsigned* flag, int* out) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) {
    RIGHT(*data = 7;)
    __threadfence();
    atomicExch(flag, 1);
    WRONGLY(*data = 7;)
  } else if (*(volatile unsigned*)flag == 1) {
    __threadfence();
    *out = *data;
  }
}

// --grid 2 --block 32
KERNEL flag_nobody_looks_at(int* data, unsigned* flag, int* out) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) {
    *data = 7;
    __threadfence();
    atomicExch(flag, 1);
  } else if (*(volatile unsigned*)flag EITHER(==, !=) 1) {
    __threadfence();
    *out = *data;
  }
}

// --grid 2
KERNEL append(const int* in, int* out, unsigned* count) {
  const int x = in[blockIdx.x * 128 + threadIdx.x];
  if (x > 0) out[EITHER(atomicAdd(count, 1), *count)] = x;
}

// --grid 2
KERNEL append_pairs(const int* in, int* out, unsigned* count) {
  const int x = in[blockIdx.x * 128 + threadIdx.x];
  if (x > 0) {
    const unsigned at = atomicAdd(count, EITHER(2, 1));
    out[at] = x;
    out[at + 1] = -x;
  }
}

// --grid 2
KERNEL append_many(const int* in, int* out, unsigned* count) {
  const unsigned n = in[blockIdx.x * 128 + threadIdx.x] & 7;
  const unsigned first = atomicAdd(count, n);
  for (unsigned k = 0; EITHER(k < n, k <= n); ++k) out[first + k] = k;
}

// --grid 2
KERNEL positions_of_another_counter(const int* in, int* out, unsigned* counts) {
  const int x = in[blockIdx.x * 128 + threadIdx.x];
  if (x > 0)
    out[atomicAdd(&counts[0], 1)] = x;
  else
    out[EITHER(1 << 20, 0) + (EITHER(atomicAdd(&counts[0], 1), atomicAdd(&counts[1], 1)) & 0xfffff)] = x;
}

KERNEL append_in_the_block(const int* in, int* out) {
  __shared__ unsigned count;
  if (threadIdx.x == 0) count = 0;
  RIGHT(__syncthreads();)
  const int x = in[threadIdx.x];
  if (x > 0) out[atomicAdd(&count, 1)] = x;
}

// --param 2=4
KERNEL append_after_a_reset(const int* in, int* out, int rounds) {
  __shared__ unsigned count;
  __shared__ int found[128];
  for (int r = 0; r < rounds; ++r) {
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (in[r * 128 + threadIdx.x] > 0) found[atomicAdd(&count, 1) & 127] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x < count) out[r * 128 + threadIdx.x] = found[threadIdx.x];
    RIGHT(__syncthreads();)
  }
}

// --grid 2
KERNEL blocks_overlap(const int* in, int* out) {
  const int i = blockIdx.x * EITHER(128, 127) + threadIdx.x;
  out[i] = in[i];
}

// --grid 4
KERNEL grid_stride(const int* in, int* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < 4096; i += EITHER(gridDim.x * blockDim.x, blockDim.x)) out[i] = in[i];
}

// --grid 2
KERNEL global_histogram(const unsigned char* in, unsigned* bins) {
  const int bin = in[blockIdx.x * 128 + threadIdx.x];
  EITHER(atomicAdd(&bins[bin], 1), ++bins[bin]);
}

// --grid 2
KERNEL atomic_maximum(const int* in, int* most) {
  const int x = in[blockIdx.x * 128 + threadIdx.x];
  EITHER(atomicMax(most, x), if (x > *most) *most = x);
}

// --grid 2
KERNEL claimed_by_swap(const int* in, int* owner, int* out) {
  const int place = in[blockIdx.x * 128 + threadIdx.x] & 255;
  if (EITHER(atomicCAS(&owner[place], 0, 1) == 0, owner[place] == 0)) {
    WRONGLY(owner[place] = 1;)
    out[place] = threadIdx.x;
  }
}

// --grid 2
KERNEL claimed_bits(const int* in, unsigned* bits, int* out) {
  const int place = in[blockIdx.x * 128 + threadIdx.x] & 255;
  const unsigned bit = 1u << place % 32;
  if (EITHER((atomicOr(&bits[place / 32], bit) & bit) == 0, (bits[place / 32] & bit) == 0)) {
    WRONGLY(atomicOr(&bits[place / 32], bit);)
    out[place] = threadIdx.x;
  }
}

// --grid 2 --block 32
KERNEL lock(int* mutex, int* sum) {
  if (threadIdx.x > 0) return;
  RIGHT(while (atomicCAS(mutex, 0, 1) != 0) {})
  __threadfence();
  *sum += 1;
  __threadfence();
  atomicExch(mutex, 0);
}

// launch: grid = 2; block = 64; parameters = [{ at = 16, buffer = "arrived", zeroed = true }]
KERNEL two_phases(const int* in, int* data, unsigned* arrived, int* out) {
  data[blockIdx.x * 64 + threadIdx.x] = in[threadIdx.x];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (*(volatile unsigned*)arrived < EITHER(2, 1)) {
    }
    __threadfence();
  }
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = data[(1 - blockIdx.x) * 64 + threadIdx.x];
}

// --grid 2 --block 32
KERNEL waits_for_three_of_two(unsigned* arrived, int* out) {
  if (threadIdx.x > 0) return;
  atomicAdd(arrived, 1);
  while (*(volatile unsigned*)arrived < EITHER(2, 3)) {
  }
  out[blockIdx.x] = 1;
}

// --grid 2 --block 32
KERNEL each_waits_for_the_other(volatile unsigned* flags) {
  if (threadIdx.x > 0) return;
  RIGHT(flags[blockIdx.x] = 1;)
  while (flags[1 - blockIdx.x] == 0) {
  }
  WRONGLY(flags[blockIdx.x] = 1;)
}

// --grid 3 --block 64
KERNEL tiles_drawn(const int* in, unsigned* next, int* out) {
  __shared__ unsigned tile;
  while (true) {
    RIGHT(__syncthreads();)
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);
    __syncthreads();
    if (tile >= 100) return;
    out[tile * 64 + threadIdx.x] = in[tile * 64 + threadIdx.x];
  }
}

// --grid 2
KERNEL warp_appends(const int* in, int* out, unsigned* count) {
  const int x = in[blockIdx.x * 128 + threadIdx.x], lane = threadIdx.x % 32;
  const unsigned votes = __ballot_sync(~0u, x > 0);
  unsigned first = 0;
  if (lane == 0) first = atomicAdd(count, EITHER(__popc(votes), 1));
  first = __shfl_sync(~0u, first, 0);
  if (x > 0) out[first + __popc(votes & ((1u << lane) - 1))] = x;
}
