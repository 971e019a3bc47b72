// Functions that are not inlined, and their addresses.
#include "twins.h"

#define FUNCTION __device__ __noinline__

FUNCTION int other(int i) {
  return 127 - i;
}

FUNCTION void meet() {
  __syncthreads();
}

FUNCTION void put(int* to, int value) {
  *to = value;
}

struct Range {
  int begin, end, step;
};

FUNCTION Range range_of(int warp, int wrong) {
  return {warp * 32, warp * 32 + 32 + wrong, 1};
}

FUNCTION int sum(const int* from, Range range) {
  int total = 0;
  for (int i = range.begin; i < range.end; i += range.step) total += from[i];
  return total;
}

FUNCTION int warp_sum(int value) {
  for (int lane = 16; lane > 0; lane /= 2) value += __shfl_xor_sync(~0u, value, lane);
  return value;
}

FUNCTION bool leads() {
  return threadIdx.x % 32 == 0;
}

FUNCTION void exchange(int* s, int value) {
  put(&s[threadIdx.x], value);
  meet();
}

FUNCTION int fibonacci(int n) {
  return n < 2 ? 1 : fibonacci(n - 1) + fibonacci(n - 2);
}

FUNCTION int twice(int i) {
  return 2 * i;
}

FUNCTION int same(int i) {
  return i;
}

KERNEL index_of_a_function(const int* in, int* out) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  RIGHT(__syncthreads();)
  out[threadIdx.x] = s[other(threadIdx.x)];
}

KERNEL barrier_in_a_function(const int* in, int* out) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  if (EITHER(true, threadIdx.x < 64)) meet();
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL store_in_a_function(const int* in, int* out) {
  __shared__ int s[128];
  put(&s[EITHER(threadIdx.x, threadIdx.x / 2)], in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x / 2];
}

KERNEL structs_are_passed(const int* in, int* out) {
  __shared__ int s[129];
  s[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x == 0) s[128] = 0;
  __syncwarp();
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = sum(s, range_of(threadIdx.x / 32, EITHER(0, 1)));
}

KERNEL shuffles_in_a_function(const int* in, int* out) {
  __shared__ int sums[4];
  const int total = warp_sum(in[threadIdx.x]);
  if (leads()) sums[threadIdx.x / 32] = total;
  RIGHT(meet();)
  out[threadIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
}

KERNEL condition_of_a_function(const int* in, int* out) {
  __shared__ int s[4];
  if (EITHER(leads(), !leads())) s[threadIdx.x / 32] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x / 32];
}

KERNEL functions_in_functions(const int* in, int* out) {
  __shared__ int s[128];
  exchange(s, in[threadIdx.x]);
  const int mine = s[other(threadIdx.x)];
  RIGHT(meet();)
  exchange(s, mine);
  out[threadIdx.x] = s[other(threadIdx.x)];
}

KERNEL call_in_a_loop(const int* in, int* out, int n) {
  __shared__ int s[128];
  int total = 0;
  for (int k = 0; k < n; ++k) {
    exchange(s, in[128 * k + threadIdx.x]);
    total += s[other(threadIdx.x)];
    RIGHT(meet();)
  }
  out[threadIdx.x] = total;
}

KERNEL address_of_a_function(const int* in, int* out, long long* where) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  RIGHT(__syncthreads();)
  if (threadIdx.x == 0) *where = in[128] < 0 ? (long long)&twice : (long long)&same;
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL pointer_to_a_function(const int* in, int* out, int n) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  RIGHT(__syncthreads();)
  out[threadIdx.x] = s[127 - threadIdx.x] + (n < 5 ? twice : same)(n);
}

KERNEL recursion(const int* in, int* out, int n) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  RIGHT(__syncthreads();)
  out[threadIdx.x] = s[127 - threadIdx.x] + fibonacci(n);
}

// --grid 2
KERNEL last_block_in_functions(const int* in, int* sums, unsigned* done, int* out) {
  const int total = warp_sum(in[128 * blockIdx.x + threadIdx.x]);
  if (threadIdx.x != 0) return;
  put(&sums[blockIdx.x], total);
  RIGHT(__threadfence();)
  if (atomicAdd(done, 1) != gridDim.x - 1) return;
  __threadfence();
  put(out, sums[0] + sums[1]);
}
