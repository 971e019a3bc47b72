// Barriers of the whole block.
#include "twins.h"

KERNEL mirror(const int* in, int* out) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  RIGHT(__syncthreads();)
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL tree_sum(const float* in, float* out) {
  __shared__ float s[128];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    RIGHT(__syncthreads();)
  }
  if (threadIdx.x == 0) *out = s[0];
}

KERNEL tree_sum_barrier_inside(const float* in, float* out) {
  __shared__ float s[128];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      s[threadIdx.x] += s[threadIdx.x + half];
      WRONGLY(__syncthreads();)
    }
    RIGHT(__syncthreads();)
  }
  out[threadIdx.x] = s[0];
}

// --param 2=1000
KERNEL tiles(const int* in, int* out, int n) {
  __shared__ int s[128];
  int sum = 0;
  for (int i = 0; i < n; i += 128) {
    s[threadIdx.x] = i + threadIdx.x < n ? in[i + threadIdx.x] : 0;
    __syncthreads();
    for (int k = 0; k < 128; k += 16) sum += s[(k + threadIdx.x) % 128];
    RIGHT(__syncthreads();)
  }
  out[threadIdx.x] = sum;
}

KERNEL tiles_of_unknown_number(const int* in, int* out, int n) {
  __shared__ int s[128];
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    s[threadIdx.x] = in[i * 128 + threadIdx.x];
    RIGHT(__syncthreads();)
    sum += s[threadIdx.x ^ 64];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// --block 16,16 --grid 2,2 --param 3=64
KERNEL matrix_product(const float* a, const float* b, float* c, int n) {
  __shared__ float x[16][16], y[16][17];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    x[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    y[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += x[threadIdx.y][i] * y[i][threadIdx.x];
    RIGHT(__syncthreads();)
  }
  c[row * n + column] = sum;
}

// --block 32,8 --grid 2,2 --param 2=64
KERNEL transpose(const float* in, float* out, int n) {
  __shared__ float tile[32][33];
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
  RIGHT(__syncthreads();)
  for (int j = 0; j < 32; j += 8)
    out[(blockIdx.x * 32 + threadIdx.y + j) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y + j];
}

KERNEL scan(const int* in, int* out) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int step = 1; step < 128; step *= 2) {
    const int before = threadIdx.x >= step ? s[threadIdx.x - step] : 0;
    RIGHT(__syncthreads();)
    s[threadIdx.x] += before;
    __syncthreads();
  }
  out[threadIdx.x] = s[threadIdx.x];
}

KERNEL scan_two_buffers(const int* in, int* out) {
  __shared__ int s[2][128];
  int now = 0;
  s[0][threadIdx.x] = in[threadIdx.x];
  for (int step = 1; step < 128; step *= 2) {
    __syncthreads();
    const int next = EITHER(1 - now, 0);
    s[next][threadIdx.x] = s[now][threadIdx.x] + (threadIdx.x >= step ? s[now][threadIdx.x - step] : 0);
    now = next;
  }
  out[threadIdx.x] = s[now][threadIdx.x];
}

KERNEL broadcast(const int* in, int* out) {
  __shared__ int chosen;
  if (threadIdx.x == 0) chosen = in[0];
  RIGHT(__syncthreads();)
  out[threadIdx.x] = chosen;
}

// --param 2=7
KERNEL broadcast_again(const int* in, int* out, int n) {
  __shared__ int chosen;
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x == 0) chosen = in[i];
    __syncthreads();
    sum += chosen;
    RIGHT(__syncthreads();)
  }
  out[threadIdx.x] = sum;
}

// --grid 2
KERNEL stencil(const float* in, float* out) {
  __shared__ float s[130];
  const int i = blockIdx.x * 128 + threadIdx.x + 1;
  s[threadIdx.x + 1] = in[i];
  if (threadIdx.x == 0) s[0] = in[i - 1], s[129] = in[i + 128];
  RIGHT(__syncthreads();)
  out[i] = s[threadIdx.x] + s[threadIdx.x + 2];
}

// --grid 2
KERNEL histogram(const unsigned char* in, unsigned* out) {
  __shared__ unsigned bins[256];
  for (int i = threadIdx.x; i < 256; i += 128) bins[i] = 0;
  RIGHT(__syncthreads();)
  atomicAdd(&bins[in[blockIdx.x * 128 + threadIdx.x]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 128) atomicAdd(&out[i], bins[i]);
}

// --grid 2
KERNEL histogram_flush(const unsigned char* in, unsigned* out) {
  __shared__ unsigned bins[256];
  for (int i = threadIdx.x; i < 256; i += 128) bins[i] = 0;
  __syncthreads();
  atomicAdd(&bins[in[blockIdx.x * 128 + threadIdx.x]], 1);
  RIGHT(__syncthreads();)
  for (int i = threadIdx.x; i < 256; i += 128) atomicAdd(&out[i], bins[i]);
}

// --param 2=100
KERNEL early_return(const int* in, int* out, int n) {
  __shared__ int s[128];
  if (threadIdx.x >= n) return;
  s[threadIdx.x] = in[threadIdx.x];
  EITHER(__syncthreads(), BAR_SYNC(1, 128));
  out[threadIdx.x] = s[n - 1 - threadIdx.x];
}

// --param 2=70
KERNEL early_return_of_a_writer(const int* in, int* out, int n) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  RIGHT(__syncthreads();)
  if (threadIdx.x >= n) return;
  WRONGLY(__syncthreads();)
  out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL until_all_done(const int* in, int* out) {
  __shared__ int rounds;
  int mine = in[threadIdx.x] & 15, sum = 0;
  if (threadIdx.x == 0) rounds = 0;
  __syncthreads();
  while (__syncthreads_or(mine > 0)) {
    if (mine > 0) --mine;
    if (threadIdx.x == 0) ++rounds;
    RIGHT(__syncthreads();)
    sum += rounds;
  }
  out[threadIdx.x] = sum;
}

KERNEL rounds_of_each_thread(const int* in, int* out) {
  __shared__ int s[128];
  int sum = 0;
  for (unsigned k = 0; k < EITHER(8, threadIdx.x % 8); ++k) {
    s[threadIdx.x] = in[128 * k + threadIdx.x];
    __syncthreads();
    sum += s[127 - threadIdx.x];
    __syncthreads();
  }
  __syncthreads();
  out[threadIdx.x] = sum + s[0];
}

KERNEL warps_take_sides(const int* in, int* out) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x / 32 % 2 == 0) {
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x + 32];
  } else {
    RIGHT(__syncthreads();)
    out[threadIdx.x] = s[threadIdx.x - 32];
  }
}

KERNEL overwritten_too_soon(const int* in, int* out) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const int other = s[127 - threadIdx.x];
  RIGHT(__syncthreads();)
  s[threadIdx.x] = other * 2;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}

__device__ float block_sum(float x, float* parts, bool again) {
  for (int lane = 16; lane > 0; lane /= 2) x += __shfl_xor_sync(~0u, x, lane);
  if (again) __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  return parts[0] + parts[1] + parts[2] + parts[3];
}

KERNEL softmax_sums(const float* in, float* out) {
  __shared__ float parts[4];
  const float sum = block_sum(in[threadIdx.x], parts, false);
  const float squares = block_sum(in[threadIdx.x] - sum, parts, EITHER(true, false));
  out[threadIdx.x] = sum / squares;
}

KERNEL warp_sums(const float* in, float* out) {
  __shared__ float parts[32];
  float x = in[threadIdx.x];
  for (int lane = 16; lane > 0; lane /= 2) x += __shfl_down_sync(~0u, x, lane);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  RIGHT(__syncthreads();)
  if (threadIdx.x < 32) {
    x = threadIdx.x < 4 ? parts[threadIdx.x] : 0;
    for (int lane = 2; lane > 0; lane /= 2) x += __shfl_down_sync(~0u, x, lane);
    if (threadIdx.x == 0) *out = x;
  }
}

// --grid 2
KERNEL condition_of_the_block(const int* in, int* out) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  if (EITHER(blockIdx.x, threadIdx.x) == 0) {
    __syncthreads();
    out[threadIdx.x] = s[127 - threadIdx.x];
  }
  __syncthreads();
}

KERNEL shifted_by_one(const int* in, int* out) {
  __shared__ int s[132];
  s[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x < 4) s[128 + threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x % 2 == 0) s[threadIdx.x + EITHER(0, 1)] += 1;
  else s[threadIdx.x] += 2;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}

// --block 32,4
KERNEL first_row_only(const int* in, int* out) {
  __shared__ int s[32];
  if (threadIdx.y == 0) {
    s[threadIdx.x] = in[threadIdx.x];
    WRONGLY(__syncthreads();)
  }
  RIGHT(__syncthreads();)
  out[threadIdx.y * 32 + threadIdx.x] = s[31 - threadIdx.x];
  __syncthreads();
}

// --param 2=3
KERNEL jacobi(const float* in, float* out, int steps) {
  __shared__ float s[2][130];
  const int i = threadIdx.x + 1;
  s[0][i] = s[1][i] = in[i];
  if (threadIdx.x < 2) s[threadIdx.x][0] = s[threadIdx.x][129] = 0;
  __syncthreads();
  for (int k = 0; k < steps; ++k) {
    s[1 - k % 2][i] = s[k % 2][i - 1] + s[k % 2][i + 1];
    RIGHT(__syncthreads();)
  }
  out[i] = s[steps % 2][i];
}

KERNEL flag_of_all_threads(const int* in, int* out) {
  __shared__ int any;
  if (threadIdx.x == 0) any = 0;
  __syncthreads();
  if (in[threadIdx.x] < 0) atomicOr(&any, 1);
  RIGHT(__syncthreads();)
  out[threadIdx.x] = any;
}

KERNEL loop_while_flag(const int* in, int* out) {
  __shared__ int again;
  int x = in[threadIdx.x];
  do {
    __syncthreads();
    if (threadIdx.x == 0) again = 0;
    RIGHT(__syncthreads();)
    if (x > 10) atomicExch(&again, 1);
    x /= 2;
    __syncthreads();
  } while (again);
  out[threadIdx.x] = x;
}
