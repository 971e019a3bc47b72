// Indices that come from memory. Launch files say of some lists that they are sorted or that they strictly increase; indices.txt lists the
// verdicts, by which those whose names begin with ok are proved.
#define BLOCK extern "C" __global__ void __launch_bounds__(128)
#define I const int i = blockIdx.x * 128 + threadIdx.x;

// Numbers about which nothing is said.
BLOCK open_scatter(const int* list, int* out) { I out[list[i]] = i; }
BLOCK open_rows(const int* list, int* out) {
  I for (int k = list[i]; k < list[i + 1]; ++k) out[k] = i;
}
BLOCK open_same_place(const int* list, int* out) { I out[list[i / 2]] = i; }
BLOCK open_masked(const int* list, int* out) { I out[list[i] & 63] = i; }
BLOCK open_read_behind(const int* list, int* out) {
  __shared__ int part[128];
  I part[threadIdx.x] = i;
  out[i] = part[list[i] & 127];
}

// Numbers that strictly increase.
BLOCK ok_increasing_scatter(const int* list, int* out) { I out[list[i]] = i; }
BLOCK increasing_scatter_halved(const int* list, int* out) { I out[list[i] / 2] = i; }
BLOCK ok_increasing_pairs(const int* list, int2* out) { I out[list[i]] = make_int2(i, i); }
BLOCK increasing_pairs(const int* list, int* out) { I out[list[i]] = i, out[list[i] + 1] = i; }
BLOCK ok_increasing_even(const int* list, int* out) { I out[list[2 * i]] = i, out[list[2 * i] + 1] = i; }
BLOCK increasing_even(const int* list, int* out) { I out[list[2 * i]] = i, out[list[2 * i] + 2] = i; }
BLOCK ok_increasing_rows(const int* list, int* out) {
  I for (int k = 0; k < 32; ++k) out[list[i] * 32 + k] = i;
}
BLOCK increasing_rows(const int* list, int* out) {
  I for (int k = 0; k < 33; ++k) out[list[i] * 32 + k] = i;
}
BLOCK ok_increasing_shared(const int* list, int* out) {
  __shared__ int part[4096];
  part[list[threadIdx.x]] = 1;
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = part[list[threadIdx.x]];
}
BLOCK increasing_shared_no_barrier(const int* list, int* out) {
  __shared__ int part[4096];
  part[list[threadIdx.x]] = 1;
  out[blockIdx.x * 128 + threadIdx.x] = part[list[threadIdx.x ^ 1]];
}

// Ends of rows, which are sorted; a row may be empty.
BLOCK ok_sorted_rows(const int* list, int* out) {
  I
#pragma unroll 1
  for (int k = list[i]; k < list[i + 1]; ++k) out[k] = i;
}
BLOCK sorted_rows_to_the_end(const int* list, int* out) {
  I
#pragma unroll 1
  for (int k = list[i]; k <= list[i + 1]; ++k) out[k] = i;
}
BLOCK ok_sorted_row_of_warp(const int* list, int* out) {
  const int row = (blockIdx.x * 128 + threadIdx.x) / 32;
#pragma unroll 1
  for (int k = list[row] + threadIdx.x % 32; k < list[row + 1]; k += 32) out[k] = row;
}
BLOCK sorted_row_of_half_a_warp(const int* list, int* out) {
  const int row = (blockIdx.x * 128 + threadIdx.x) / 32;
#pragma unroll 1
  for (int k = list[row] + threadIdx.x % 16; k < list[row + 1]; k += 32) out[k] = threadIdx.x;
}
BLOCK ok_sorted_row_of_block(const int* list, int* out) {
#pragma unroll 1
  for (int k = list[blockIdx.x] + threadIdx.x; k < list[blockIdx.x + 1]; k += 128) out[k] = k;
}
BLOCK sorted_row_of_block_and_next(const int* list, int* out) {
#pragma unroll 1
  for (int k = list[blockIdx.x] + threadIdx.x; k < list[blockIdx.x + 2]; k += 128) out[k] = k;
}
// Keys of which the first or the last of its kind writes.
BLOCK ok_sorted_heads(const int* list, int* out) {
  I if (i == 0 || list[i] != list[i - 1]) out[list[i]] = i;
}
BLOCK sorted_heads_without_condition(const int* list, int* out) { I out[list[i]] = i; }
BLOCK ok_sorted_ends(const int* list, int* out) {
  I if (list[i] != list[i + 1]) out[list[i]] = i;
}
BLOCK sorted_ends_far(const int* list, int* out) {
  I if (list[i] != list[i + 2]) out[list[i]] = i;
}
