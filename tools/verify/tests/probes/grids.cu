// Grids whose blocks meet more than once or share out tiles, in right forms and in broken ones.
// The names are as in probes.cu; all run in two blocks. grids.txt lists the verdicts.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#define BLOCK(n) extern "C" __global__ void __launch_bounds__(n)

// grid.sync() of cooperative groups
BLOCK(64) ok_grid_two(float* a, float* b, float* c) {
  auto g = cg::this_grid();
  int i = blockIdx.x * 64 + threadIdx.x, n = gridDim.x * 64;
  a[i] = i;
  g.sync();
  b[i] = a[n - 1 - i];
  g.sync();
  c[i] = b[n - 1 - i];
}
BLOCK(64) ok_grid_loop(float* a, float* b) {
  auto g = cg::this_grid();
  int i = blockIdx.x * 64 + threadIdx.x, n = gridDim.x * 64;
  for (int k = 0; k < 3; ++k) { b[i] = a[n - 1 - i]; g.sync(); a[i] = b[n - 1 - i]; g.sync(); }
}
BLOCK(64) race_grid_loop(float* a, float* b) {
  auto g = cg::this_grid();
  int i = blockIdx.x * 64 + threadIdx.x, n = gridDim.x * 64;
  for (int k = 0; k < 3; ++k) { b[i] = a[n - 1 - i]; g.sync(); a[i] = b[n - 1 - i]; }
}
BLOCK(64) race_grid_one(float* a, float* b, float* c) {
  auto g = cg::this_grid();
  int i = blockIdx.x * 64 + threadIdx.x, n = gridDim.x * 64;
  a[i] = i;
  g.sync();
  b[i] = a[n - 1 - i];
  c[i] = b[n - 1 - i];
}
BLOCK(64) race_grid_after(float* a, float* b) {
  auto g = cg::this_grid();
  int i = blockIdx.x * 64 + threadIdx.x, n = gridDim.x * 64;
  a[i] = i;
  g.sync();
  b[i] = a[n - 1 - i];
  a[i] = 2;
}
BLOCK(64) deadlock_grid(float* a, float* b) {
  auto g = cg::this_grid();
  int i = blockIdx.x * 64 + threadIdx.x;
  a[i] = i;
  if (blockIdx.x == 0) g.sync();
  b[i] = 1;
}
BLOCK(64) deadlock_grid_return(float* a, float* b) {
  auto g = cg::this_grid();
  int i = blockIdx.x * 64 + threadIdx.x;
  if (blockIdx.x == 1) return;
  a[i] = i;
  g.sync();
  b[i] = 1;
}
BLOCK(64) unproved_grid_parameter(float* a, float* b, int n) {
  auto g = cg::this_grid();
  int i = blockIdx.x * 64 + threadIdx.x;
  a[i] = i;
  if (n > blockIdx.x) g.sync();
  b[i] = 1;
}
BLOCK(64) unproved_grid_rounds(float* a, float* b, int n) {
  auto g = cg::this_grid();
  int i = blockIdx.x * 64 + threadIdx.x, m = gridDim.x * 64;
  for (int k = 0; k < n; ++k) { b[i] = a[m - 1 - i]; g.sync(); a[i] = b[m - 1 - i]; g.sync(); }
}
// the same counter for several barriers
BLOCK(64) ok_barrier_twice(float* a, float* b, float* c, unsigned* bar) {  // the goal grows
  int t = threadIdx.x, i = blockIdx.x * 64 + t, n = gridDim.x * 64;
  a[i] = t;
  __syncthreads();
  if (t == 0) { __threadfence(); atomicAdd(bar, 1); while (*(volatile unsigned*)bar < gridDim.x) ; __threadfence(); }
  __syncthreads();
  b[i] = a[n - 1 - i];
  __syncthreads();
  if (t == 0) { __threadfence(); atomicAdd(bar, 1); while (*(volatile unsigned*)bar < 2 * gridDim.x) ; __threadfence(); }
  __syncthreads();
  c[i] = b[n - 1 - i];
}
BLOCK(64) race_barrier_twice(float* a, float* b, float* c, unsigned* bar) {  // the goal does not grow
  int t = threadIdx.x, i = blockIdx.x * 64 + t, n = gridDim.x * 64;
  a[i] = t;
  __syncthreads();
  if (t == 0) { __threadfence(); atomicAdd(bar, 1); while (*(volatile unsigned*)bar < gridDim.x) ; __threadfence(); }
  __syncthreads();
  b[i] = a[n - 1 - i];
  __syncthreads();
  if (t == 0) { __threadfence(); atomicAdd(bar, 1); while (*(volatile unsigned*)bar < gridDim.x) ; __threadfence(); }
  __syncthreads();
  c[i] = b[n - 1 - i];
}
BLOCK(64) race_barrier_arrives_twice(float* a, float* b, float* c, unsigned* bar) {  // without waiting in between
  int t = threadIdx.x, i = blockIdx.x * 64 + t, n = gridDim.x * 64;
  a[i] = t;
  __syncthreads();
  if (t == 0) { __threadfence(); atomicAdd(bar, 1); }
  b[i] = t;
  __syncthreads();
  if (t == 0) { __threadfence(); atomicAdd(bar, 1); while (*(volatile unsigned*)bar < gridDim.x) ; __threadfence(); }
  __syncthreads();
  c[i] = a[n - 1 - i];
}
// the fence behind the barrier of the block, in each thread that reads
BLOCK(64) ok_fence_of_all_readers(float* a, float* b, unsigned* bar) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t, n = gridDim.x * 64;
  a[i] = t;
  __threadfence();
  __syncthreads();
  if (t == 0) { atomicAdd(bar, 1); while (*(volatile unsigned*)bar < gridDim.x) ; }
  __syncthreads();
  __threadfence();
  b[i] = a[n - 1 - i];
}
BLOCK(64) race_fence_of_one_reader(float* a, float* b, unsigned* bar) {  // another thread than the one that has seen the counter
  int t = threadIdx.x, i = blockIdx.x * 64 + t, n = gridDim.x * 64;
  a[i] = t;
  __threadfence();
  __syncthreads();
  if (t == 0) { atomicAdd(bar, 1); while (*(volatile unsigned*)bar < gridDim.x) ; }
  __syncthreads();
  if (t == 1) __threadfence();
  b[i] = a[n - 1 - i];
}
// four ways to one barrier, the last of which does not wait for the other block, or has no fence
#define WAIT(T) if (t == T) while (*(volatile int*)count < gridDim.x) ; __threadfence(); __syncthreads();
BLOCK(64) race_way_without_wait(float* a, float* b, float* c, int* count, int way) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t, n = gridDim.x * 64;
  a[i] = t;
  __threadfence();
  __syncthreads();
  if (t == 0) atomicAdd(count, 1);
  if (way <= 0) { __syncthreads(); c[i] = 1; return; }
  if (way < 10) { WAIT(1) } else if (way < 20) { WAIT(2) } else if (way < 30) { WAIT(3) } else { __syncthreads(); }
  __syncthreads();
  b[i] = a[n - 1 - i];
}
BLOCK(64) race_case_without_wait(float* a, float* b, float* c, int* count, int way) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t, n = gridDim.x * 64;
  a[i] = t;
  __threadfence();
  __syncthreads();
  if (t == 0) atomicAdd(count, 1);
  if (way <= 0) { __syncthreads(); c[i] = 1; return; }
  switch (way & 3) {
    case 0: WAIT(1) break;
    case 1: WAIT(2) break;
    case 2: WAIT(3) break;
    case 3: __syncthreads();
  }
  __syncthreads();
  b[i] = a[n - 1 - i];
}
BLOCK(64) ok_all_ways_wait(float* a, float* b, float* c, int* count, int way) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t, n = gridDim.x * 64;
  a[i] = t;
  __threadfence();
  __syncthreads();
  if (t == 0) atomicAdd(count, 1);
  if (way <= 0) { __syncthreads(); c[i] = 1; return; }
  if (way < 10) { WAIT(1) } else if (way < 20) { WAIT(2) } else if (way < 30) { WAIT(3) } else { WAIT(4) }
  __syncthreads();
  b[i] = a[n - 1 - i];
}
BLOCK(64) race_way_without_fence(float* a, float* b, float* c, int* count, int way) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t, n = gridDim.x * 64;
  a[i] = t;
  if (way <= 0) { __syncthreads(); c[i] = 1; return; }
  if (way < 10) { __threadfence(); __syncthreads(); }
  else if (way < 20) { c[i] = 2; __threadfence(); __syncthreads(); }
  else if (way < 30) { c[i] = 3; __threadfence(); __syncthreads(); }
  else { __syncthreads(); }
  __syncthreads();
  if (t == 0) { atomicAdd(count, 1); while (*(volatile int*)count < gridDim.x) ; }
  __syncthreads();
  __threadfence();
  b[i] = a[n - 1 - i];
}
// tiles by tickets, for a number of rounds that is not known
BLOCK(64) ok_tickets_of_tiles(const int* in, int* out, unsigned* ticket, int tiles) {
  __shared__ int tile;
  int t = threadIdx.x;
  for (;;) {
    if (t == 0) tile = atomicAdd(ticket, 1);
    __syncthreads();
    int k = tile;
    __syncthreads();
    if (k >= tiles) return;
    out[k * 64 + t] = in[k * 64 + t] + 1;
  }
}
BLOCK(64) race_tickets_without_barrier(const int* in, int* out, unsigned* ticket, int tiles) {
  __shared__ int tile;
  int t = threadIdx.x;
  for (;;) {
    if (t == 0) tile = atomicAdd(ticket, 1);
    __syncthreads();
    int k = tile;
    if (k >= tiles) return;
    out[k * 64 + t] = in[k * 64 + t] + 1;
  }
}
BLOCK(64) unproved_tickets_overlap(const int* in, int* out, unsigned* ticket, int tiles) {  // a tile and one element more
  __shared__ int tile;
  int t = threadIdx.x;
  for (;;) {
    if (t == 0) tile = atomicAdd(ticket, 1);
    __syncthreads();
    int k = tile;
    __syncthreads();
    if (k >= tiles) return;
    out[k * 63 + t] = in[k * 64 + t] + 1;
  }
}
BLOCK(64) unproved_tickets_set_back(const int* in, int* out, unsigned* ticket, int tiles) {
  __shared__ int tile;
  int t = threadIdx.x;
  for (int r = 0; r < tiles; ++r) {
    if (t == 0) { tile = atomicAdd(ticket, 1); if (r == 3) atomicExch(ticket, 0); }
    __syncthreads();
    int k = tile;
    __syncthreads();
    out[k * 64 + t] = in[k * 64 + t] + 1;
  }
}
BLOCK(64) race_tickets_same_tile(const int* in, int* out, unsigned* ticket, int tiles) {
  __shared__ int tile;
  int t = threadIdx.x;
  for (;;) {
    if (t == 0) tile = atomicAdd(ticket, 1);
    __syncthreads();
    int k = tile;
    __syncthreads();
    if (k >= tiles) return;
    out[k * 64 + t] = 1;
    out[k * 64 + 63 - t] = 2;
  }
}
BLOCK(64) race_tickets_copy(const int* in, int* out, unsigned* ticket, int tiles) {  // two names of one ticket
  __shared__ int tile, copy;
  int t = threadIdx.x;
  for (;;) {
    if (t == 0) { int x = atomicAdd(ticket, 1); tile = x; copy = x; }
    __syncthreads();
    int k = tile, c = copy;
    __syncthreads();
    if (k >= tiles) return;
    out[k * 64 + t] = 1;
    out[c * 64 + 63 - t] = 2;
  }
}
