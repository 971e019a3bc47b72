// Barriers that name their number and count.
#include "twins.h"

KERNEL producer_consumer(const int* in, int* out) {
  __shared__ int s[64];
  if (threadIdx.x < 64) {
    s[threadIdx.x] = in[threadIdx.x];
    EITHER(__threadfence_block(); BAR_ARRIVE(1, 128), BAR_ARRIVE(2, 128));
  } else {
    BAR_SYNC(1, 128);
    out[threadIdx.x] = s[127 - threadIdx.x];
  }
}

KERNEL producer_loop(const int* in, int* out) {
  __shared__ int s[64];
  for (int k = 0; k < 4; ++k) {
    if (threadIdx.x < 64) {
      RIGHT(if (k > 0) BAR_SYNC(2, 128);)
      s[threadIdx.x] = in[k * 64 + threadIdx.x];
      BAR_ARRIVE(1, 128);
    } else {
      BAR_SYNC(1, 128);
      out[k * 64 + threadIdx.x - 64] = s[127 - threadIdx.x];
      RIGHT(if (k < 3) BAR_ARRIVE(2, 128);)
    }
  }
}

KERNEL producer_arrives_first(const int* in, int* out) {
  __shared__ int s[64];
  if (threadIdx.x < 64) {
    WRONGLY(BAR_ARRIVE(1, 128);)
    s[threadIdx.x] = in[threadIdx.x];
    RIGHT(BAR_ARRIVE(1, 128);)
  } else {
    BAR_SYNC(1, 128);
    out[threadIdx.x] = s[127 - threadIdx.x];
  }
}

KERNEL count_of_a_pair(const int* in, int* out) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x < 64) {
    BAR_SYNC(1, EITHER(64, 96));
    out[threadIdx.x] = s[63 - threadIdx.x];
  }
}

KERNEL one_number_for_each_half(const int* in, int* out) {
  __shared__ int s[128];
  const int half = threadIdx.x / 64;
  s[threadIdx.x] = in[threadIdx.x];
  BAR_SYNC(EITHER(1 + half, 1), 64);
  out[threadIdx.x] = s[half * 64 + 63 - threadIdx.x % 64];
}

KERNEL one_number_for_each_warp(const int* in, int* out) {
  __shared__ int s[128];
  const int pair = threadIdx.x / 64;
  s[threadIdx.x] = in[threadIdx.x];
  BAR_SYNC(1 + threadIdx.x / EITHER(64, 32), 64);
  out[threadIdx.x] = s[pair * 64 + 63 - threadIdx.x % 64];
}

KERNEL turns(const int* in, int* out) {
  __shared__ int s[64];
  if (threadIdx.x < 64) {
    s[threadIdx.x] = in[threadIdx.x];
    BAR_SYNC(1, 128);
    BAR_SYNC(2, 128);
    out[threadIdx.x] = s[threadIdx.x ^ 1];
  } else {
    BAR_SYNC(EITHER(1, 2), 128);
    s[threadIdx.x - 64] *= 2;
    BAR_SYNC(EITHER(2, 1), 128);
  }
}

KERNEL ring_of_two(const int* in, int* out) {
  __shared__ int s[2][64];
  for (int k = 0; k < 6; ++k) {
    const int stage = k % 2;
    if (threadIdx.x < 64) {
      if (k >= EITHER(2, 3)) BAR_SYNC(3 + stage, 128);
      s[stage][threadIdx.x] = in[k * 64 + threadIdx.x];
      BAR_ARRIVE(1 + stage, 128);
    } else {
      BAR_SYNC(1 + stage, 128);
      out[k * 64 + threadIdx.x - 64] = s[stage][127 - threadIdx.x];
      if (k < EITHER(4, 3)) BAR_ARRIVE(3 + stage, 128);
    }
  }
}

KERNEL ring_with_wrong_stage(const int* in, int* out) {
  __shared__ int s[2][64];
  for (int k = 0; k < 6; ++k) {
    if (threadIdx.x < 64) {
      if (k >= 2) BAR_SYNC(3 + k % 2, 128);
      s[k % 2][threadIdx.x] = in[k * 64 + threadIdx.x];
      BAR_ARRIVE(1 + k % 2, 128);
    } else {
      BAR_SYNC(1 + k % 2, 128);
      out[k * 64 + threadIdx.x - 64] = s[EITHER(k, k + 1) % 2][127 - threadIdx.x];
      if (k < 4) BAR_ARRIVE(3 + k % 2, 128);
    }
  }
}

KERNEL a_warp_has_left(const int* in, int* out) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x >= 96) return;
  BAR_SYNC(1, EITHER(96, 128));
  out[threadIdx.x] = s[threadIdx.x + 32];
}

KERNEL writers_that_leave(const int* in, int* out) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  RIGHT(__syncthreads();)
  if (threadIdx.x >= 64) return;
  BAR_SYNC(1, 64);
  out[threadIdx.x] = s[threadIdx.x + 64];
}

KERNEL count_of_odd_size(const int* in, int* out) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x < EITHER(96, 100)) {
    BAR_SYNC(1, EITHER(96, 100));
    out[threadIdx.x] = s[(threadIdx.x + 1) % 96];
  }
}

KERNEL lanes_of_a_named_barrier(const int* in, int* out) {
  __shared__ int s[64];
  if (threadIdx.x < 64) {
    s[threadIdx.x] = in[threadIdx.x];
    if (EITHER(true, threadIdx.x % 2 == 0)) BAR_SYNC(1, 64);
    out[threadIdx.x] = s[63 - threadIdx.x];
    WRONGLY(if (threadIdx.x % 2) BAR_SYNC(2, 64);)
  }
}

KERNEL leader_and_workers(const int* in, int* out) {
  __shared__ int job, result[3];
  const int warp = threadIdx.x / 32;
  if (warp == 0) {
    if (threadIdx.x == 0) job = in[0];
    BAR_ARRIVE(1, 128);
    RIGHT(BAR_SYNC(2, 128);)
    if (threadIdx.x == 0) *out = result[0] + result[1] + result[2];
    WRONGLY(BAR_SYNC(2, 128);)
  } else {
    BAR_SYNC(1, 128);
    if (threadIdx.x % 32 == 0) result[warp - 1] = job * warp;
    BAR_ARRIVE(2, 128);
  }
}

KERNEL all_arrive(const int* in, int* out) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x < 64) BAR_ARRIVE(1, 128);
  else EITHER(BAR_SYNC(1, 128), BAR_ARRIVE(1, 128));
  if (threadIdx.x >= 64) out[threadIdx.x] = s[threadIdx.x - 64];
}
