// Lanes of a warp, which do not run in step.
#include "twins.h"

// --block 32
KERNEL swap_neighbours(const int* in, int* out) {
  __shared__ int s[32];
  s[threadIdx.x] = in[threadIdx.x];
  RIGHT(__syncwarp();)
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}

// --block 64
KERNEL warp_synchronous_sum(const float* in, float* out) {
  __shared__ float s[64];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32)
    for (int half = 32; half > 0; half /= 2) {
      const float x = s[threadIdx.x] + (threadIdx.x + half < 64 ? s[threadIdx.x + half] : 0);
      RIGHT(__syncwarp();)
      s[threadIdx.x] = x;
      RIGHT(__syncwarp();)
    }
  if (threadIdx.x == 0) *out = s[0];
}

// --block 64
KERNEL volatile_sum(const int* in, int* out) {
  __shared__ int s[64];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 16) {
    volatile int* v = s;
    v[threadIdx.x] = v[threadIdx.x] + v[threadIdx.x + 16];
    RIGHT(__syncwarp(0xffff);)
    if (threadIdx.x < 8) v[threadIdx.x] = v[threadIdx.x] + v[threadIdx.x + 8];
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = s[0];
}

// --block 32
KERNEL shuffle_in_a_branch(const int* in, int* out) {
  int x = in[threadIdx.x];
  if (threadIdx.x < 16) x += __shfl_xor_sync(EITHER(0xffff, ~0u), x, 1);
  __syncwarp();
  out[threadIdx.x] = x;
}

// --block 32
KERNEL vote_in_a_branch(const int* in, int* out) {
  int x = in[threadIdx.x];
  RIGHT(const unsigned votes = __ballot_sync(~0u, x > 3);)
  if (x > 0) {
    WRONGLY(const unsigned votes = __ballot_sync(~0u, x > 3);)
    x += __popc(votes);
  }
  out[threadIdx.x] = x;
}

// --block 32
KERNEL mask_without_the_reader(const int* in, int* out) {
  __shared__ int s[32];
  s[threadIdx.x] = in[threadIdx.x];
  __syncwarp(EITHER(~0u, threadIdx.x < 16 ? 0xffffu : 0xffff0000u));
  out[threadIdx.x] = s[31 - threadIdx.x];
}

// --block 32
KERNEL mask_that_does_not_name_itself(const int* in, int* out) {
  int x = in[threadIdx.x];
  if (threadIdx.x >= 16) x = __shfl_sync(EITHER(0xffff0000u, 0xffffu), x, 16);
  out[threadIdx.x] = x;
}

// --block 32
KERNEL shuffle_orders_nothing(const int* in, int* out) {
  __shared__ int found;
  const int x = in[threadIdx.x];
  if (threadIdx.x == 0) found = x;
  EITHER(__syncwarp(), (void)__shfl_sync(~0u, x, 0));
  out[threadIdx.x] = found + x;
}

KERNEL scan_of_a_warp(const int* in, int* out) {
  __shared__ int s[128];
  const int lane = threadIdx.x % 32;
  s[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  for (int step = 1; step < 32; step *= 2) {
    const int before = lane >= step ? s[threadIdx.x - step] : 0;
    __syncwarp();
    s[threadIdx.x] += before;
    RIGHT(__syncwarp();)
  }
  out[threadIdx.x] = s[threadIdx.x];
}

// --block 32
KERNEL vote_loop(const int* in, int* out) {
  __shared__ int s[32];
  int left = in[threadIdx.x], sum = 0;
  s[threadIdx.x] = left;
  __syncwarp();
  while (__any_sync(~0u, left > 0)) {
    const int other = s[threadIdx.x ^ 1];
    __syncwarp();
    s[threadIdx.x] = --left;
    RIGHT(__syncwarp();)
    sum += other;
  }
  out[threadIdx.x] = sum;
}

// --block 64
KERNEL vote_before_the_block_barrier(const int* in, int* out) {
  __shared__ int s[64];
  s[threadIdx.x] = in[threadIdx.x];
  RIGHT(__syncthreads();)
  if (__any_sync(~0u, in[threadIdx.x] > 0)) {
    WRONGLY(__syncthreads();)
    out[threadIdx.x] = s[63 - threadIdx.x];
  }
  WRONGLY(out[threadIdx.x] = 0; BAR_SYNC(1, 64);)
}

// --block 64
KERNEL until_no_thread_is_left(const int* in, int* out) {
  __shared__ int s[64];
  int left = in[threadIdx.x];
  while (EITHER(__syncthreads_or(left > 0), __any_sync(~0u, left > 0))) {
    s[threadIdx.x] = left;
    __syncthreads();
    left = s[63 - threadIdx.x] / 2;
    __syncthreads();
  }
  __syncthreads();
  out[threadIdx.x] = left;
}

KERNEL halves_of_a_warp(const int* in, int* out) {
  __shared__ int s[128];
  const int half = threadIdx.x / 16 % 2;
  s[threadIdx.x] = in[threadIdx.x];
  if (half == 0) __syncwarp(EITHER(0xffffu, 0xffu << 8));
  else __syncwarp(0xffff0000u);
  out[threadIdx.x] = s[threadIdx.x ^ 15];
}

KERNEL tiles_of_a_warp(const float* in, float* out) {
  __shared__ float tile[4][32][33];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int row = 0; row < 32; ++row) tile[warp][row][lane] = in[(warp * 32 + row) * 32 + lane];
  RIGHT(__syncwarp();)
  for (int row = 0; row < 32; ++row) out[(warp * 32 + row) * 32 + lane] = tile[warp][lane][row];
}

KERNEL tiles_that_overlap(const float* in, float* out) {
  __shared__ float tile[4 * 32 + 32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  tile[warp * EITHER(32, 31) + lane] = in[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = tile[warp * 32 + (lane ^ 1)];
}

// --block 32
KERNEL elected_lane(const int* in, int* out) {
  __shared__ int count;
  const unsigned votes = __ballot_sync(~0u, in[threadIdx.x] > 0);
  if (EITHER(threadIdx.x == 0, (votes >> threadIdx.x & 1) != 0)) count = __popc(votes) + EITHER(0, threadIdx.x);
  __syncwarp();
  out[threadIdx.x] = votes == 0 ? 0 : count;
}

// --block 32
KERNEL first_voter_writes(const int* in, int* out) {
  const bool mine = in[threadIdx.x] > 0;
  const unsigned votes = __ballot_sync(~0u, mine);
  if (EITHER(threadIdx.x == __ffs(votes) - 1, mine)) *out = threadIdx.x;
}

// --block 32
KERNEL lanes_that_leave(const int* in, int* out) {
  __shared__ int s[32];
  s[threadIdx.x] = in[threadIdx.x];
  RIGHT(__syncwarp();)
  if (threadIdx.x >= 16) return;
  __syncwarp(0xffff);
  out[threadIdx.x] = s[threadIdx.x + 16];
}

// --block 32
KERNEL one_side_waits(const int* in, int* out) {
  __shared__ int s[32];
  if (in[threadIdx.x] > 0) {
    s[threadIdx.x] = 1;
    WRONGLY(__syncwarp();)
  } else {
    s[threadIdx.x] = 2;
  }
  RIGHT(__syncwarp();)
  out[threadIdx.x] = s[31 - threadIdx.x];
}

// --block 32
KERNEL positions_by_votes(const int* in, int* out) {
  const int x = in[threadIdx.x];
  const unsigned votes = __ballot_sync(~0u, x > 0);
  const unsigned below = (EITHER(1u, 2u) << threadIdx.x) - 1;
  if (x > 0) out[__popc(votes & below)] = x;
  WRONGLY(else out[__popc(votes)] = x;)
}

// --block 32
KERNEL match_groups(const int* in, int* out) {
  __shared__ int s[32];
  const int x = in[threadIdx.x];
  const unsigned same = __match_any_sync(~0u, x);
  s[threadIdx.x] = 0;
  __syncwarp();
  if (EITHER(threadIdx.x == __ffs(same) - 1, true)) s[EITHER(threadIdx.x, x & 31)] = x;
  __syncwarp();
  out[threadIdx.x] = s[threadIdx.x];
}
