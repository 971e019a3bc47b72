// Loops, their lengths, and what their rounds do to each other.
#include "twins.h"

// --param 2=100
KERNEL bound_of_whole_warps(const int* in, int* out, int n) {
  for (int i = threadIdx.x; i < n / 32 * 32; i += 128) {
    int x = in[i];
    for (int lane = 16; lane > 0; lane /= 2) x += __shfl_xor_sync(~0u, x, lane);
    if (EITHER(threadIdx.x % 32 == 0, threadIdx.x % 32 < 2)) out[i / 32] = x;
  }
}

KERNEL bound_of_whole_warps_unknown(const int* in, int* out, int n) {
  for (int i = threadIdx.x; i < EITHER(n / 32 * 32, n); i += 128) {
    int x = in[i];
    for (int lane = 16; lane > 0; lane /= 2) x += __shfl_xor_sync(~0u, x, lane);
    out[i] = x;
  }
}

// --param 2=1024
KERNEL do_while_with_a_barrier(const int* in, int* out, int n) {
  __shared__ int s[128];
  int i = threadIdx.x, sum = 0;
  do {
    s[threadIdx.x] = in[i];
    __syncthreads();
    sum += s[127 - threadIdx.x];
    RIGHT(__syncthreads();)
    i += 128;
  } while (i < n);
  out[threadIdx.x] = sum;
}

KERNEL do_while_of_unknown_length(const int* in, int* out, int n) {
  __shared__ int s[128];
  int k = 0, sum = 0;
  do {
    s[threadIdx.x] = in[k * 128 + threadIdx.x];
    __syncthreads();
    sum += s[127 - threadIdx.x];
    RIGHT(__syncthreads();)
  } while (++k < n);
  out[threadIdx.x] = sum;
}

// --block 64 --param 2=20
KERNEL triangle(const float* in, float* out, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    const float pivot = s[k];
    if (threadIdx.x > k) s[threadIdx.x] -= pivot * in[k];
    RIGHT(__syncthreads();)
  }
  out[threadIdx.x] = s[threadIdx.x];
}

// --block 64
KERNEL bitonic_sort(const int* in, int* out) {
  __shared__ int s[64];
  const int i = threadIdx.x;
  s[i] = in[i];
  for (int size = 2; size <= 64; size *= 2)
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      const int other = i ^ step;
      if (EITHER(other > i, true)) {
        const int a = s[i], b = s[other];
        if ((a > b) == ((i & size) == 0)) s[i] = b, s[other] = a;
      }
    }
  __syncthreads();
  out[i] = s[i];
}

KERNEL odd_even(const int* in, int* out, int rounds) {
  __shared__ int s[130];
  s[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x < 2) s[128 + threadIdx.x] = 0;
  for (int k = 0; k < rounds; ++k) {
    __syncthreads();
    const int i = 2 * (threadIdx.x / 2) + (k & 1);
    if (EITHER(threadIdx.x % 2 == 0, threadIdx.x % 4 != 1) && s[i] > s[i + 1]) {
      const int x = s[i];
      s[i] = s[i + 1];
      s[i + 1] = x;
    }
  }
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}

KERNEL pointer_jumping(const int* in, int* out) {
  __shared__ int next[128];
  next[threadIdx.x] = in[threadIdx.x] & 127;
  __syncthreads();
  for (int k = 0; k < 7; ++k) {
    const int jump = next[next[threadIdx.x]] & 127;
    RIGHT(__syncthreads();)
    next[threadIdx.x] = jump;
    __syncthreads();
  }
  out[threadIdx.x] = next[threadIdx.x];
}

// --allow race-of-equal-values
KERNEL until_stable(const int* in, int* out) {
  __shared__ int s[128], changed;
  s[threadIdx.x] = in[threadIdx.x];
  do {
    __syncthreads();
    if (threadIdx.x == 0) changed = 0;
    const int least = min(s[threadIdx.x], s[(threadIdx.x + 1) & 127]);
    __syncthreads();
    if (least != s[threadIdx.x]) s[threadIdx.x] = least, changed = 1;
    RIGHT(__syncthreads();)
  } while (changed);
  out[threadIdx.x] = s[threadIdx.x];
}

KERNEL exclusive_places(const int* in, int* out) {
  __shared__ int places[128];
  const int keep = in[threadIdx.x] > 0;
  places[threadIdx.x] = keep;
  __syncthreads();
  for (int step = 1; step < 128; step *= 2) {
    const int before = threadIdx.x >= step ? places[threadIdx.x - step] : 0;
    __syncthreads();
    places[threadIdx.x] += before;
    __syncthreads();
  }
  if (EITHER(keep, true)) out[places[threadIdx.x] - EITHER(1, keep)] = in[threadIdx.x];
}

// --block 256
KERNEL radix_digits(const unsigned* in, unsigned* out) {
  __shared__ unsigned counts[16];
  for (int shift = 0; shift < 32; shift += 4) {
    if (threadIdx.x < 16) counts[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&counts[in[threadIdx.x] >> shift & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) out[shift * 4 + threadIdx.x] = counts[15 - threadIdx.x];
    RIGHT(__syncthreads();)
  }
}

// --param 2=300
KERNEL backwards(const int* in, int* out, int n) {
  __shared__ int s[128];
  int sum = 0;
  for (int i = n - 1; i >= 0; i -= 64) {
    s[threadIdx.x] = in[i];
    EITHER(__syncthreads(), if (i > 64) __syncthreads());
    sum += s[127 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

KERNEL round_of_the_warp(const int* in, int* out, int n) {
  __shared__ int s[128];
  for (int k = threadIdx.x / 32; k < n; k += 4) {
    s[threadIdx.x] = in[k * 32 + threadIdx.x % 32];
    __syncwarp();
    out[k * 32 + threadIdx.x % 32] = s[threadIdx.x ^ 1];
    RIGHT(__syncwarp();)
  }
}
