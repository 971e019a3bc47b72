// Kernels of which a proof for all grids is asked, in right forms and in forms that are wrong for some grids alone.
// every_grid.py says which.
#define BLOCK extern "C" __global__ void __launch_bounds__(64)

BLOCK vector_add(const float* a, const float* b, float* c, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
BLOCK block_sum(const float* a, float* c) {
  __shared__ float s[64];
  s[threadIdx.x] = a[threadIdx.x + 64 * blockIdx.x];
  __syncthreads();
  for (int k = 32; k > 0; k /= 2) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) c[blockIdx.x] = s[0];
}
BLOCK transposed(const float* a, float* c) { c[gridDim.x * threadIdx.x + blockIdx.x] = a[blockIdx.x]; }
BLOCK backwards(float* c) { c[64 * (gridDim.x - 1 - blockIdx.x) + threadIdx.x] = 1; }
BLOCK histogram(const int* a, int* c, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) atomicAdd(&c[a[i]], 1);
}
BLOCK append(const int* a, int* c, int* count, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n && a[i] > 0) c[atomicAdd(count, 1)] = i;
}
BLOCK seventh(float* c) {
  if (blockIdx.x == 7) c[threadIdx.x] = 1;
}
BLOCK last(float* c) {
  if (blockIdx.x == gridDim.x - 1) c[threadIdx.x] = 1;
}
BLOCK first_of_each_row(float* c) {
  if (blockIdx.x == 0) c[64 * blockIdx.y + threadIdx.x] = 1;
}

// Right in two blocks, or in two times two, and wrong in others.
BLOCK two_places(float* c) { c[64 * (blockIdx.x & 1) + threadIdx.x] = threadIdx.x; }
BLOCK seventh_and_ninth(float* c) {
  if (blockIdx.x == 7 || blockIdx.x == 9) c[threadIdx.x] = threadIdx.x;
}
BLOCK large_grid(float* c) {
  if (gridDim.x > 4) c[threadIdx.x] = blockIdx.x;
}
BLOCK far_blocks(float* c) { c[64 * min(blockIdx.x, 1000) + threadIdx.x] = threadIdx.x; }
BLOCK alone(float* c) {
  if (gridDim.x == 1) c[0] = threadIdx.x;
}
BLOCK inside_last(float* c) {
  if (blockIdx.x > 2 && blockIdx.x == gridDim.x - 1) c[0] = threadIdx.x;
}
BLOCK inside_first(float* c) {
  if (blockIdx.x == 0 && gridDim.x > 2) c[0] = threadIdx.x;
}
BLOCK divergence_in_third(float* c) {
  if (blockIdx.x == 2 && threadIdx.x < 32) __syncthreads();
  c[64 * blockIdx.x + threadIdx.x] = 1;
}
BLOCK two_rows(float* c) { c[64 * (blockIdx.x + 2 * blockIdx.y) + threadIdx.x] = threadIdx.x; }
BLOCK without_rows(float* c) {
  if (blockIdx.y < 2 && blockIdx.x < 1) c[64 * (blockIdx.y & 1) + threadIdx.x] = threadIdx.x;
  if (blockIdx.y > 2) c[threadIdx.x] = blockIdx.y;
}
BLOCK tickets_wrap(int* c, unsigned* count) { c[atomicInc(count, 255)] = 64 * blockIdx.x + threadIdx.x; }
// The first block may change the counter that the others take for theirs.
BLOCK ticket_of_first(int* c, unsigned* count) {
  if (threadIdx.x < 32) c[1024 * blockIdx.x + atomicAdd(&count[blockIdx.x], 1)] = threadIdx.x;
  if (threadIdx.x == 32) atomicExch(&count[1], 0);
}

// The blocks synchronise: proved for the given grid alone.
BLOCK last_block(int* c, unsigned* done, int* out) {
  if (threadIdx.x > 0) return;
  c[blockIdx.x] = blockIdx.x;
  __threadfence();
  if (atomicAdd(done, 1) != gridDim.x - 1) return;
  __threadfence();
  *out = c[0];
}
