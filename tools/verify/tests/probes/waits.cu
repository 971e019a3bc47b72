// Blocks that wait for each other in global memory, in right forms and in broken ones.
// The names are as in probes.cu; all run in two blocks. waits.txt lists the verdicts.
#include <cooperative_groups.h>
#include <cuda/atomic>

namespace cg = cooperative_groups;
using ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

#define BLOCK(n) extern "C" __global__ void __launch_bounds__(n)
#define STRONG(p) (*(volatile unsigned*)(p))

// more arrivals than can come
BLOCK(64) deadlock_one_too_many(unsigned* c) {
  if (threadIdx.x == 0) { atomicAdd(c, 1); while (atomicAdd(c, 0) < gridDim.x + 1) {} } }
BLOCK(64) deadlock_hundred(unsigned* c) {
  if (threadIdx.x == 0) { atomicAdd(c, 1); while (STRONG(c) < 100) {} } }
BLOCK(64) deadlock_exactly_one_too_many(unsigned* c) {
  if (threadIdx.x == 0) { atomicAdd(c, 1); while (STRONG(c) != gridDim.x + 1) {} } }
BLOCK(64) deadlock_all_threads_wait(unsigned* c) {
  if (threadIdx.x == 0) atomicAdd(c, 1);
  while (STRONG(c) < gridDim.x + 1) {} }
BLOCK(64) ok_all_threads_wait(unsigned* c) {
  if (threadIdx.x == 0) atomicAdd(c, 1);
  while (STRONG(c) < gridDim.x) {} }
BLOCK(64) deadlock_one_returns(unsigned* c) {
  if (blockIdx.x == 0) return;
  if (threadIdx.x == 0) { atomicAdd(c, 1); while (STRONG(c) < gridDim.x) {} } }
BLOCK(64) unproved_data_return(unsigned* c, const int* in) {
  if (in[blockIdx.x] > 0) return;
  if (threadIdx.x == 0) { atomicAdd(c, 1); while (STRONG(c) < gridDim.x) {} } }
BLOCK(64) ok_parameter_returns(unsigned* c, int n) {  // all blocks or none
  if (n > 3) return;
  __syncthreads();
  if (threadIdx.x == 0) { atomicAdd(c, 1); while (STRONG(c) < gridDim.x) {} } }
BLOCK(64) unproved_goal(unsigned* c, unsigned goal) {
  if (threadIdx.x == 0) { atomicAdd(c, 1); while (STRONG(c) < goal) {} } }
// several rounds of one counter
__device__ void meet(unsigned* c, unsigned goal) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(c, 1);
    while (STRONG(c) < goal) {}
    __threadfence();
  }
  __syncthreads(); }
BLOCK(64) ok_three_rounds(unsigned* c) { for (int k = 1; k <= 3; ++k) meet(c, k * gridDim.x); }
BLOCK(64) deadlock_third_round(unsigned* c) { for (int k = 1; k <= 3; ++k) meet(c, k * gridDim.x + (k == 3)); }
BLOCK(64) deadlock_second_for_three(unsigned* c) { meet(c, gridDim.x); meet(c, 3 * gridDim.x); }
// exactly a number, which another round may move on
BLOCK(64) ok_exactly(unsigned* c) {
  if (threadIdx.x == 0) { atomicAdd(c, 1); while (STRONG(c) != gridDim.x) {} } }
BLOCK(64) deadlock_exactly_twice(unsigned* c) {
  if (threadIdx.x == 0) {
    atomicAdd(c, 1);
    while (STRONG(c) != gridDim.x) {}
    atomicAdd(c, 1);
    while (STRONG(c) != 2 * gridDim.x) {}
  } }
BLOCK(64) ok_exactly_in_the_last_round(unsigned* c) {
  if (threadIdx.x == 0) {
    atomicAdd(c, 1);
    while (STRONG(c) < gridDim.x) {}
    atomicAdd(c, 1);
    while (STRONG(c) != 2 * gridDim.x) {}
  } }
BLOCK(64) deadlock_adds_on(unsigned* c) {
  if (threadIdx.x == 0) {
    atomicAdd(c, 1);
    if (blockIdx.x == 1) atomicAdd(c, 1);
    else
      while (STRONG(c) != 2) {}
  } }
// cycles of waits
BLOCK(64) deadlock_each_other(unsigned* f) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) {
    while (STRONG(f + 1) == 0) {}
    STRONG(f) = 1;
  } else {
    while (STRONG(f) == 0) {}
    STRONG(f + 1) = 1;
  } }
BLOCK(64) ok_there_and_back(unsigned* f) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) {
    STRONG(f) = 1;
    while (STRONG(f + 1) == 0) {}
  } else {
    while (STRONG(f) == 0) {}
    STRONG(f + 1) = 1;
  } }
BLOCK(64) ok_chain(unsigned* f) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x > 0)
    while (STRONG(f + blockIdx.x - 1) == 0) {}
  STRONG(f + blockIdx.x) = 1; }
BLOCK(64) deadlock_ring(unsigned* f) {
  if (threadIdx.x > 0) return;
  while (STRONG(f + (blockIdx.x + gridDim.x - 1) % gridDim.x) == 0) {}
  STRONG(f + blockIdx.x) = 1; }
BLOCK(64) ok_other_lane_raises(unsigned* f) {
  if (threadIdx.x == 0)
    while (STRONG(f) == 0) {}
  if (threadIdx.x == 1 && blockIdx.x == 0) STRONG(f) = 1; }
BLOCK(64) deadlock_other_lane_behind_syncwarp(unsigned* f) {
  if (threadIdx.x == 0)
    while (STRONG(f) == 0) {}
  __syncwarp();
  if (threadIdx.x == 1 && blockIdx.x == 0) STRONG(f) = 1; }
BLOCK(64) deadlock_before_own_addition(unsigned* c) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 1)
      while (STRONG(c) < gridDim.x) {}
    atomicAdd(c, 1);
  } }
BLOCK(64) deadlock_counter_and_flag(unsigned* c, unsigned* f) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) {
    while (STRONG(f) == 0) {}
    atomicAdd(c, 1);
  } else {
    atomicAdd(c, 1);
    while (STRONG(c) < 2) {}
    STRONG(f) = 1;
  } }
BLOCK(64) ok_other_warp_raises(unsigned* f) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0)
      while (STRONG(f + 1) == 0) {}
    if (threadIdx.x == 32) STRONG(f) = 1;
  } else if (threadIdx.x == 0) {
    while (STRONG(f) == 0) {}
    STRONG(f + 1) = 1;
  } }
BLOCK(64) deadlock_other_warp_behind_barrier(unsigned* f) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0)
      while (STRONG(f + 1) == 0) {}
    __syncthreads();
    if (threadIdx.x == 32) STRONG(f) = 1;
  } else if (threadIdx.x == 0) {
    while (STRONG(f) == 0) {}
    STRONG(f + 1) = 1;
  } }
BLOCK(64) ok_grid_and_flag(unsigned* f) {
  if (threadIdx.x == 0 && blockIdx.x == 1) STRONG(f) = 1;
  if (threadIdx.x == 0 && blockIdx.x == 0)
    while (STRONG(f) == 0) {}
  cg::this_grid().sync(); }
BLOCK(64) deadlock_grid_and_flag(unsigned* f) {
  if (threadIdx.x == 0 && blockIdx.x == 0)
    while (STRONG(f) == 0) {}
  cg::this_grid().sync();
  if (threadIdx.x == 0 && blockIdx.x == 1) STRONG(f) = 1; }
// flags
BLOCK(64) ok_phases(unsigned* f) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) {
    STRONG(f) = 1;
    STRONG(f) = 2;
  } else {
    while (STRONG(f) < 1) {}
    while (STRONG(f) < 2) {}
  } }
BLOCK(64) deadlock_phase_never_comes(unsigned* f) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) STRONG(f) = 2;
  else
    while (STRONG(f) < 3) {} }
BLOCK(64) deadlock_phase_passes(unsigned* f) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) {
    STRONG(f) = 1;
    STRONG(f) = 2;
  } else
    while (STRONG(f) != 1) {} }
BLOCK(64) unproved_flag_lowered(unsigned* f) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) {
    STRONG(f) = 1;
    STRONG(f) = 0;
  } else
    while (STRONG(f) == 0) {} }
BLOCK(64) unproved_flag_under_condition(unsigned* f, const int* in) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) {
    if (in[0] > 0) STRONG(f) = 1;
  } else
    while (STRONG(f) == 0) {} }
BLOCK(64) ok_atomic_wait(unsigned* f) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) ref(*f).store(1, cuda::memory_order_release);
  else ref(*f).wait(0, cuda::memory_order_acquire); }
BLOCK(64) ok_byte(volatile unsigned char* f) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) *f = 1;
  else
    while (*f == 0) {} }
BLOCK(64) ok_from_outside(volatile int* f, int* out) {  // nobody in the launch raises it
  while (*f == 0) {}
  out[blockIdx.x * 64 + threadIdx.x] = 1; }
// a whole block waits, and reads in shared memory what one thread has seen
BLOCK(64) ok_block_waits(unsigned* c) {
  __shared__ unsigned seen;
  if (threadIdx.x == 0) atomicAdd(c, 1);
  do {
    __syncthreads();
    if (threadIdx.x == 0) seen = STRONG(c);
    __syncthreads();
  } while (seen < gridDim.x); }
BLOCK(64) deadlock_block_waits(unsigned* c) {
  __shared__ unsigned seen;
  if (threadIdx.x == 0) atomicAdd(c, 1);
  do {
    __syncthreads();
    if (threadIdx.x == 0) seen = STRONG(c);
    __syncthreads();
  } while (seen < gridDim.x + 1); }
// two counters in one loop, and loops that end by themselves
BLOCK(64) ok_two_counters(unsigned* c) {
  if (threadIdx.x == 0) { atomicAdd(c, 1); atomicAdd(c + 1, 1); while (STRONG(c) < 2 || STRONG(c + 1) < 2) {} } }
BLOCK(64) deadlock_two_counters(unsigned* c) {
  if (threadIdx.x == 0) { atomicAdd(c, 1); atomicAdd(c + 1, 1); while (STRONG(c) < 2 || STRONG(c + 1) < 3) {} } }
BLOCK(64) ok_gives_up(unsigned* c) {
  if (threadIdx.x == 0) { atomicAdd(c, 1); for (int i = 0; i < 1000 && STRONG(c) < 100; ++i) {} } }
BLOCK(64) unproved_aborts(unsigned* c, volatile int* abort) {
  if (threadIdx.x == 0) { atomicAdd(c, 1); while (STRONG(c) < 100) if (*abort) return; } }
BLOCK(64) ok_swap_until_it_fits(int* most, const int* in) {
  int old = STRONG(most), seen;
  do {
    seen = old;
    old = atomicCAS(most, seen, max(seen, in[threadIdx.x]));
  } while (seen != old); }
BLOCK(64) ok_draws_until_five(unsigned* c) { if (threadIdx.x == 0) while (atomicAdd(c, 1) < 5) {} }
// not understood
BLOCK(64) unproved_draws_exactly_five(unsigned* c) { if (threadIdx.x == 0) while (atomicAdd(c, 1) != 5) {} }
BLOCK(64) unproved_adds_while_waiting(unsigned* c) { if (threadIdx.x == 0) while (STRONG(c) < 5) atomicAdd(c, 1); }
BLOCK(64) unproved_lock_kept(int* lock) {
  if (threadIdx.x == 0) while (atomicCAS(lock, 0, 1) != 0) {} }
BLOCK(64) unproved_set_back_too_early(unsigned* c) {
  if (threadIdx.x > 0) return;
  if (atomicAdd(c, 1) == gridDim.x - 1) STRONG(c) = 0;
  else
    while (STRONG(c) < gridDim.x) {} }
BLOCK(64) unproved_generation(unsigned* c, unsigned* g) {
  if (threadIdx.x > 0) return;
  const unsigned old = STRONG(g);
  if (atomicAdd(c, 1) == gridDim.x - 1) atomicAdd(g, 1);
  else
    while (STRONG(g) == old) {} }
BLOCK(64) ok_increments(unsigned* c) {
  if (threadIdx.x == 0) { atomicInc(c, gridDim.x); while (STRONG(c) < gridDim.x) {} } }
BLOCK(64) unproved_increments_wrap(unsigned* c) {
  if (threadIdx.x == 0) { atomicInc(c, gridDim.x - 1); while (STRONG(c) < gridDim.x) {} } }
