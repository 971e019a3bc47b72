// Aliases, pointers from memory, views of shared memory, bounds, and values that nobody wrote.
#include "twins.h"

// --grid 2
KERNEL in_place(int* data) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const int x = data[EITHER(i, i + 1)];
  data[i] = x + 1;
}

// --grid 2
KERNEL read_only_load(const int* in, int* out) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  out[i] = 0;
  out[i] = __ldg(EITHER(&in[i], &out[i])) + 1;
}

// --grid 2
KERNEL read_only_load_of_other_half(int* data) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  data[i] = __ldg(&data[EITHER(1024, 128) + i]);
}

// launch: block = 128; parameters = [{ at = 0, buffer = "rows", pointers = "distinct" }]
KERNEL table_of_rows(int* const* rows) {
  int* mine = rows[threadIdx.x];
  mine[0] = mine[1] + 1;
  WRONGLY(rows[threadIdx.x ^ 1][0] = 2;)
}

// launch: block = 64; grid = 2; parameters = [{ at = 0, buffer = "rows", pointers = "distinct" }]
KERNEL row_for_each_block(float* const* rows, const float* in) {
  float* row = rows[EITHER(blockIdx.x, 0)];
  row[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
}

// launch: block = 64; parameters = [{ at = 0, buffer = "rows", pointers = "distinct" }]
KERNEL rows_in_and_out(float* const* rows, float* out) {
  __shared__ float s[64];
  s[threadIdx.x] = rows[0][threadIdx.x];
  RIGHT(__syncthreads();)
  rows[1][threadIdx.x] = s[63 - threadIdx.x];
}

struct Node {
  int value;
  const Node* next;
};

KERNEL linked_nodes(const Node* const* heads, int* out) {
  int sum = 0;
  const Node* node = heads[threadIdx.x];
  for (int k = 0; k < 3 && node != nullptr; ++k, node = node->next) sum += node->value;
  out[EITHER(threadIdx.x, threadIdx.x / 2)] = sum;
}

struct Job {
  const int* in;
  int* out;
  int n;
};

// --param 0+16=128
KERNEL job_by_value(Job job) {
  if (threadIdx.x < job.n) job.out[EITHER(threadIdx.x, threadIdx.x % 64)] = job.in[threadIdx.x];
}

KERNEL either_buffer(const int* a, const int* b, int* out) {
  const int* from = a[0] > 0 ? a : b;
  out[EITHER(threadIdx.x, threadIdx.x & 63)] = from[threadIdx.x];
}

KERNEL two_halves(int* data) {
  int* low = data;
  int* high = data + EITHER(128, 64);
  low[threadIdx.x] = 1;
  high[threadIdx.x] = 2;
}

// --param 1=128
KERNEL halves_at_a_parameter(int* data, int n) {
  data[threadIdx.x] = 1;
  data[n WRONGLY(-1) + threadIdx.x] = 2;
}

KERNEL bytes_of_a_word(const unsigned char* in, unsigned* out) {
  __shared__ unsigned words[32];
  ((unsigned char*)words)[threadIdx.x] = in[threadIdx.x];
  EITHER(__syncthreads(), __syncwarp());
  if (threadIdx.x < 32) out[threadIdx.x] = words[31 - threadIdx.x];
}

KERNEL words_that_share_bytes(const int* in, int* out) {
  __shared__ int s[130];
  if (threadIdx.x < 64) *(int2*)&s[EITHER(2 * threadIdx.x, 2 * (threadIdx.x / 2))] = make_int2(in[threadIdx.x], 1);
  __syncthreads();
  if (threadIdx.x < 64) out[threadIdx.x] = s[2 * (threadIdx.x / 2)];
}

// --dynamic-shared 1024
KERNEL parts_of_dynamic_memory(const int* in, int* out) {
  extern __shared__ int s[];
  int* second = s + EITHER(128, 120);
  s[threadIdx.x] = in[threadIdx.x];
  second[threadIdx.x] = in[128 + threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x] + second[127 - threadIdx.x];
}

// --dynamic-shared 512
KERNEL beyond_dynamic_memory(const int* in, int* out) {
  extern __shared__ int s[];
  s[threadIdx.x + EITHER(0, 1)] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x + EITHER(0, 1)];
}

KERNEL misaligned(const int* in, int* out) {
  __shared__ int s[256];
  *(int2*)&s[2 * threadIdx.x + EITHER(0, -1 * (threadIdx.x > 0))] = make_int2(in[threadIdx.x], 0);
  __syncthreads();
  out[threadIdx.x] = s[2 * threadIdx.x];
}

KERNEL never_written(const int* in, int* out) {
  __shared__ int s[128];
  if (EITHER(true, threadIdx.x < 127)) s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL sum_without_beginning(const int* in, int* out) {
  __shared__ int sum;
  RIGHT(if (threadIdx.x == 0) sum = 0; __syncthreads();)
  atomicAdd(&sum, in[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) *out = sum;
}

// launch: block = 128; parameters = [{ at = 0, buffer = "out", bytes = 512 }]
KERNEL behind_the_buffer(int* out) {
  out[threadIdx.x EITHER(,+ 1)] = 1;
}

// launch: block = 64; constants = "initial"
__constant__ int places[4] = {0, 1, 2, 3};
// launch: block = 64; constants = "initial"
KERNEL places_in_constant_memory(int* out) {
  out[places[threadIdx.x % EITHER(4, 3)] * 16 + threadIdx.x / 4] = threadIdx.x;
}

KERNEL equal_values(const int* in, int* out) {
  __shared__ int done;
  EITHER(if (threadIdx.x == 0) done = 1, done = threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = done;
}

KERNEL gather_and_scatter(const int* in, const int* to, int* out) {
  out[EITHER(threadIdx.x, to[threadIdx.x])] = in[to[threadIdx.x]];
}

// launch: block = 128; parameters = [{ at = 8, buffer = "to", distinct = "places" }]
KERNEL scatter_to_distinct_places(const int* in, const int* to, int* out) {
  out[to[EITHER(threadIdx.x, threadIdx.x / 2)]] = in[threadIdx.x];
}

KERNEL two_writers_of_a_pair(int2* out) {
  EITHER(((int*)out)[2 * threadIdx.x] = 1, out[threadIdx.x] = make_int2(1, 1));
  ((int*)out)[2 * ((threadIdx.x + 1) % 128) + 1] = 2;
}
