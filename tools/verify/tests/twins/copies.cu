// Asynchronous copies (cp.async).
#include "twins.h"

__device__ void copy(int* to, const int* from) {
  __pipeline_memcpy_async(to, from, 4);
}

KERNEL own_copy(const int* in, int* out) {
  __shared__ int s[128];
  copy(&s[threadIdx.x], &in[threadIdx.x]);
  __pipeline_commit();
  RIGHT(__pipeline_wait_prior(0);)
  out[threadIdx.x] = s[threadIdx.x];
}

KERNEL copy_for_others(const int* in, int* out) {
  __shared__ int s[128];
  copy(&s[threadIdx.x], &in[threadIdx.x]);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  RIGHT(__syncthreads();)
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL barrier_before_the_wait(const int* in, int* out) {
  __shared__ int s[128];
  copy(&s[threadIdx.x], &in[threadIdx.x]);
  __pipeline_commit();
  WRONGLY(__syncthreads();)
  __pipeline_wait_prior(0);
  RIGHT(__syncthreads();)
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL not_committed(const int* in, int* out) {
  __shared__ int s[128];
  copy(&s[threadIdx.x], &in[threadIdx.x]);
  RIGHT(__pipeline_commit();)
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL one_group_too_many(const int* in, int* out) {
  __shared__ int s[2][128];
  for (int k = 0; k < 2; ++k) {
    copy(&s[k][threadIdx.x], &in[128 * k + threadIdx.x]);
    __pipeline_commit();
  }
  __pipeline_wait_prior(1);
  __syncthreads();
  out[threadIdx.x] = s[EITHER(0, 1)][127 - threadIdx.x];
}

KERNEL double_buffer(const int* in, int* out) {
  __shared__ int s[2][128];
  int sum = 0;
  copy(&s[0][threadIdx.x], &in[threadIdx.x]);
  __pipeline_commit();
  for (int k = 0; k < 6; ++k) {
    if (k < 5) copy(&s[(k + 1) % 2][threadIdx.x], &in[128 * (k + 1) + threadIdx.x]);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += s[k % 2][127 - threadIdx.x];
    RIGHT(__syncthreads();)
  }
  out[threadIdx.x] = sum;
}

KERNEL double_buffer_of_unknown_length(const int* in, int* out, int n) {
  __shared__ int s[2][128];
  int sum = 0;
  copy(&s[0][threadIdx.x], &in[threadIdx.x]);
  __pipeline_commit();
  for (int k = 0; k < n; ++k) {
    if (k + 1 < n) copy(&s[(k + 1) & 1][threadIdx.x], &in[128 * (k + 1) + threadIdx.x]);
    __pipeline_commit();
    __pipeline_wait_prior(EITHER(1, 2));
    __syncthreads();
    sum += s[k & 1][127 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// --param 2=9
KERNEL four_stages(const int* in, int* out, int n) {
  __shared__ int s[4][128];
  int sum = 0;
  for (int k = 0; k < 3; ++k) {
    copy(&s[k][threadIdx.x], &in[128 * k + threadIdx.x]);
    __pipeline_commit();
  }
  for (int k = 0; k < n; ++k) {
    __pipeline_wait_prior(EITHER(2, 3));
    __syncthreads();
    if (k + 3 < n) copy(&s[(k + 3) % 4][threadIdx.x], &in[128 * (k + 3) + threadIdx.x]);
    __pipeline_commit();
    sum += s[k % 4][127 - threadIdx.x];
  }
  out[threadIdx.x] = sum;
}

// --param 2=9
KERNEL stage_that_is_read(const int* in, int* out, int n) {
  __shared__ int s[3][128];
  int sum = 0;
  for (int k = 0; k < 2; ++k) {
    copy(&s[k][threadIdx.x], &in[128 * k + threadIdx.x]);
    __pipeline_commit();
  }
  for (int k = 0; k < n; ++k) {
    __pipeline_wait_prior(1);
    __syncthreads();
    if (k + 2 < n) copy(&s[(k + EITHER(2, 3)) % 3][threadIdx.x], &in[128 * (k + 2) + threadIdx.x]);
    __pipeline_commit();
    sum += s[k % 3][127 - threadIdx.x];
  }
  out[threadIdx.x] = sum;
}

KERNEL overwritten_in_flight(const int* in, int* out) {
  __shared__ int s[128];
  copy(&s[threadIdx.x], &in[threadIdx.x]);
  __pipeline_commit();
  RIGHT(__pipeline_wait_prior(0);)
  if (threadIdx.x % 2) s[threadIdx.x] = 0;
  WRONGLY(__pipeline_wait_prior(0);)
  __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL source_changes(int* in, int* out) {
  __shared__ int s[128];
  copy(&s[threadIdx.x], &in[threadIdx.x]);
  __pipeline_commit();
  RIGHT(__pipeline_wait_prior(0);)
  in[threadIdx.x] = 0;
  WRONGLY(__pipeline_wait_prior(0);)
  out[threadIdx.x] = s[threadIdx.x];
}

KERNEL copies_of_16_bytes(const int4* in, int* out) {
  __shared__ int4 s[64];
  if (threadIdx.x < 64) __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  EITHER(__syncthreads(), __syncwarp());
  out[threadIdx.x] = ((const int*)s)[255 - threadIdx.x];
}

KERNEL wait_of_half_the_block(const int* in, int* out) {
  __shared__ int s[128];
  copy(&s[threadIdx.x], &in[threadIdx.x]);
  __pipeline_commit();
  if (EITHER(true, threadIdx.x < 64)) __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL two_copies_to_one_place(const int* in, int* out) {
  __shared__ int s[128];
  copy(&s[threadIdx.x], &in[threadIdx.x]);
  __pipeline_commit();
  RIGHT(__pipeline_wait_prior(0); out[128 + threadIdx.x] = s[threadIdx.x];)
  copy(&s[threadIdx.x], &in[128 + threadIdx.x]);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[threadIdx.x] = s[threadIdx.x];
}
