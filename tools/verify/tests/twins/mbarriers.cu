// mbarriers: through cuda::barrier, and by the instructions themselves.
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

KERNEL barrier_of_the_block(const int* in, int* out) {
  __shared__ Barrier barrier;
  __shared__ int s[128];
  if (threadIdx.x == 0) init(&barrier, 128);
  __syncthreads();
  s[threadIdx.x] = in[threadIdx.x];
  EITHER(barrier.arrive_and_wait(), (void)barrier.arrive());
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL initialised_for_all(const int* in, int* out) {
  __shared__ Barrier barrier;
  __shared__ int s[128];
  if (threadIdx.x == 0) init(&barrier, 128);
  RIGHT(__syncthreads();)
  s[threadIdx.x] = in[threadIdx.x];
  barrier.arrive_and_wait();
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL as_many_as_arrive(const int* in, int* out) {
  __shared__ Barrier barrier;
  __shared__ int s[128];
  if (threadIdx.x == 0) init(&barrier, EITHER(128, 129));
  __syncthreads();
  s[threadIdx.x] = in[threadIdx.x];
  barrier.arrive_and_wait();
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL fewer_than_arrive(const int* in, int* out) {
  __shared__ Barrier barrier;
  __shared__ int s[128];
  if (threadIdx.x == 0) init(&barrier, EITHER(128, 64));
  __syncthreads();
  s[threadIdx.x] = in[threadIdx.x];
  barrier.arrive_and_wait();
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL work_between_arrival_and_wait(const int* in, int* out) {
  __shared__ Barrier barrier;
  __shared__ int s[256];
  if (threadIdx.x == 0) init(&barrier, 128);
  __syncthreads();
  s[threadIdx.x] = in[threadIdx.x];
  auto token = barrier.arrive();
  EITHER(s[128 + threadIdx.x], s[127 - threadIdx.x]) = 1;
  barrier.wait(std::move(token));
  out[threadIdx.x] = s[127 - threadIdx.x] + s[128 + threadIdx.x];
}

KERNEL rounds(const int* in, int* out) {
  __shared__ Barrier barrier;
  __shared__ int s[128];
  int sum = 0;
  if (threadIdx.x == 0) init(&barrier, 128);
  __syncthreads();
  for (int k = 0; k < 5; ++k) {
    s[threadIdx.x] = in[128 * k + threadIdx.x];
    barrier.arrive_and_wait();
    sum += s[127 - threadIdx.x];
    RIGHT(barrier.arrive_and_wait();)
  }
  out[threadIdx.x] = sum;
}

// Two warps produce what two others consume.
KERNEL producers_and_consumers(const int* in, int* out) {
  __shared__ uint64_t full, empty;
  __shared__ int s[64];
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 64);
    ptx::mbarrier_init(&empty, 64);
  }
  __syncthreads();
  const int i = threadIdx.x % 64;
  if (threadIdx.x < 64) {
    for (int k = 0; k < 6; ++k) {
      wait(&empty, EITHER((k + 1) % 2, 1));
      s[i] = in[64 * k + i];
      arrive(&full);
    }
  } else {
    int sum = 0;
    for (int k = 0; k < 6; ++k) {
      wait(&full, k % 2);
      sum += s[63 - i];
      arrive(&empty);
    }
    out[i] = sum;
  }
}

// Three stages between a producing warp and three that consume; as many rounds as a parameter says.
// --param 2=8
KERNEL stages(const int* in, int* out, int n) {
  __shared__ uint64_t full[3], empty[3];
  __shared__ int s[3][32];
  if (threadIdx.x < 3) {
    ptx::mbarrier_init(&full[threadIdx.x], 32);
    ptx::mbarrier_init(&empty[threadIdx.x], EITHER(96, 32));
  }
  __syncthreads();
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int k = 0; k < n; ++k) {
      wait(&empty[k % 3], (k / 3 + 1) % 2);
      s[k % 3][lane] = in[32 * k + lane];
      arrive(&full[k % 3]);
    }
  } else {
    int sum = 0;
    for (int k = 0; k < n; ++k) {
      wait(&full[k % 3], k / 3 % 2);
      sum += s[k % 3][31 - lane];
      arrive(&empty[k % 3]);
    }
    out[threadIdx.x] = sum;
  }
}

// One lane of each warp arrives for it.
KERNEL one_lane_arrives(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ int s[128];
  if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, 4);
  __syncthreads();
  s[threadIdx.x] = in[threadIdx.x];
  RIGHT(__syncwarp();)
  if (threadIdx.x % 32 == 0) arrive(&barrier);
  wait(&barrier, 0);
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL wait_for_the_other_parity(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ int s[128];
  if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, 128);
  __syncthreads();
  s[threadIdx.x] = in[threadIdx.x];
  arrive(&barrier);
  wait(&barrier, EITHER(0, 1));
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL who_arrives_again(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ int s[128];
  if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, 128);
  __syncthreads();
  for (int k = 0; k < 2; ++k) {
    if (k == 0) s[threadIdx.x] = in[threadIdx.x];
    arrive(&barrier);
    RIGHT(wait(&barrier, k);)
  }
  WRONGLY(wait(&barrier, 1);)
  out[threadIdx.x] = s[127 - threadIdx.x];
}

// A function that is not inlined waits.
__device__ __noinline__ void wait_elsewhere(uint64_t* barrier, unsigned parity) {
  wait(barrier, parity);
}

KERNEL wait_in_a_function(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ int s[128];
  if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, 128);
  __syncthreads();
  s[threadIdx.x] = in[threadIdx.x];
  arrive(&barrier);
  RIGHT(wait_elsewhere(&barrier, 0);)
  out[threadIdx.x] = s[127 - threadIdx.x];
}

// What a thread does while the phase has not ended is not modelled.
KERNEL work_while_it_waits(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ int s[128];
  if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, 128);
  __syncthreads();
  s[threadIdx.x] = in[threadIdx.x];
  RIGHT(arrive(&barrier);)
  int rounds = 0;
  while (!ptx::mbarrier_test_wait_parity(&barrier, 0)) out[128 + threadIdx.x] = ++rounds;
  out[threadIdx.x] = s[127 - threadIdx.x];
}

// One lane waits for its warp.
KERNEL one_lane_waits(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ int s[128];
  if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, 128);
  __syncthreads();
  s[threadIdx.x] = in[threadIdx.x];
  arrive(&barrier);
  if (threadIdx.x % 32 == 0) wait(&barrier, 0);
  RIGHT(__syncwarp();)
  out[threadIdx.x] = s[127 - threadIdx.x];
}

// How often a thread looks is not known.
KERNEL number_of_looks(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ int s[128], looks[128];
  if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, 128);
  __syncthreads();
  s[threadIdx.x] = in[threadIdx.x];
  arrive(&barrier);
  unsigned n = 0;
  while (!ptx::mbarrier_try_wait_parity(&barrier, 0)) ++n;
  looks[(threadIdx.x + EITHER(0, n)) % 128] = n;
  __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x] + looks[127 - threadIdx.x];
}

// A thread of the first warp may look for the end of the first phase when the second has ended.
KERNEL late_look(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ int s[128];
  if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, EITHER(128, 96));
  __syncthreads();
  s[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x >= EITHER(0, 32)) arrive(&barrier);
  wait(&barrier, 0);
  if (threadIdx.x >= EITHER(0, 32)) {
    arrive(&barrier);
    wait(&barrier, 1);
  }
  if (threadIdx.x >= 32) out[threadIdx.x] = s[EITHER(127, 159) - threadIdx.x];
}

KERNEL more_arrivals_at_once(const int* in, int* out) {
  __shared__ uint64_t barrier;
  __shared__ int s[128];
  if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, 128);
  __syncthreads();
  s[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  if (threadIdx.x % 32 == 0)
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, EITHER(32, 64));
  wait(&barrier, 0);
  out[threadIdx.x] = s[127 - threadIdx.x];
}
