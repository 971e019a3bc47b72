// Typical kernels in a right form and in broken ones:
// blocks that hand data to each other through counters and flags, early exits, dynamic shared memory, and rows and halves of buffers.
// The names are as in probes.cu; all run in two blocks. blocks.txt lists the verdicts.
#include <cuda/atomic>

using ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

#define BLOCK(n) extern "C" __global__ void __launch_bounds__(n)

// fences & queues
BLOCK(256) ok_last_block(const int* in, int* part, unsigned* count, int* out) {
  __shared__ bool last;
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int k = 128; k; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
  if (t == 0) {
    part[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(count, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    __threadfence();
    int v = 0;
    for (int i = t; i < gridDim.x; i += 256) v += part[i];
    s[t] = v;
    __syncthreads();
    for (int k = 128; k; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
    if (t == 0) { *out = s[0]; *count = 0; }
  }
}
BLOCK(256) race_last_block(const int* in, int* part, unsigned* count, int* out) {
  __shared__ bool last;
  int t = threadIdx.x;
  if (t == 0) {
    part[blockIdx.x] = in[blockIdx.x];
    last = atomicInc(count, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) { int v = 0; for (int i = 0; i < gridDim.x; ++i) v += part[i]; *out = v; }
}
BLOCK(256) ok_last_block_all_threads(const int* in, int* part, unsigned* count, int* out) {  // fence before the barrier
  __shared__ bool last;
  int t = threadIdx.x;
  part[blockIdx.x * 256 + t] = in[blockIdx.x * 256 + t];
  __threadfence();
  __syncthreads();
  if (t == 0) last = atomicAdd(count, 1) == gridDim.x - 1;
  __syncthreads();
  if (last) {
    __threadfence();
    int v = 0;
    for (int i = 0; i < gridDim.x; ++i) v += part[i * 256 + 255 - t];
    out[t] = v;
  }
}
BLOCK(256) race_queue(int* queue, int* head, int* tail, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { queue[0] = 42; atomicExch(tail, 1); }
    else { while (atomicAdd(tail, 0) == 0) {} out[0] = queue[0]; }
  }
}
BLOCK(256) ok_queue(int* queue, int* head, int* tail, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { queue[0] = 42; __threadfence(); atomicExch(tail, 1); }
    else { while (atomicAdd(tail, 0) == 0) {} __threadfence(); out[0] = queue[0]; }
  }
}
BLOCK(256) ok_flag_volatile(int* data, volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; __threadfence(); *flag = 1; }
    else { while (*flag == 0) {} __threadfence(); out[0] = data[0]; }
  }
}
BLOCK(256) race_flag_volatile(int* data, volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; *flag = 1; }
    else { while (*flag == 0) {} out[0] = data[0]; }
  }
}
// early exits
BLOCK(256) ok_early_exit(const float* x, float* y, float a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; y[i] = a * x[i] + y[i]; }
BLOCK(256) divergence_early_exit(const float* x, float* y, int n) {
  __shared__ float s[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  s[threadIdx.x] = x[i];
  __syncthreads();
  y[i] = s[blockDim.x - 1 - threadIdx.x];
}
BLOCK(256) ok_block_exit(const float* x, float* y, int n) {
  __shared__ float s[256];
  if (blockIdx.x >= n) return;
  s[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  y[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x];
}
// dynamic shared
BLOCK(256) ok_dynamic_two(const int* in, int* out) {
  extern __shared__ int sh[];
  int* a = sh; int* b = sh + blockDim.x;
  a[threadIdx.x] = in[threadIdx.x]; b[threadIdx.x] = in[threadIdx.x + 256];
  __syncthreads();
  out[threadIdx.x + blockIdx.x * 256] = a[255 - threadIdx.x] + b[threadIdx.x ^ 1];
}
BLOCK(256) race_dynamic_overlap(const int* in, int* out) {
  extern __shared__ int sh[];
  int* a = sh; int* b = sh + blockDim.x / 2;
  a[threadIdx.x] = in[threadIdx.x]; b[threadIdx.x] = in[threadIdx.x + 256];
  __syncthreads();
  out[threadIdx.x + blockIdx.x * 256] = a[255 - threadIdx.x] + b[threadIdx.x ^ 1];
}
// misc
BLOCK(256) ok_mask_shift(int* out) { __shared__ int s[512]; int i = threadIdx.x; s[(~(i << 8) & 256) + i] = 1; __syncthreads(); out[i + 256 * blockIdx.x] = s[(~(i << 8) & 256) + i]; }
BLOCK(256) ok_spmv(const int* row, const int* col, const float* val, const float* x, float* y, int rows) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
  if (warp < rows) {
    float s = 0;
    for (int j = row[warp] + lane; j < row[warp + 1]; j += 32) s += val[j] * x[col[j]];
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    if (lane == 0) y[warp] = s;
  }
}
BLOCK(256) ok_spmv_shared(const int* row, const int* col, const float* val, const float* x, float* y, int rows) {
  __shared__ volatile float part[256];
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31, t = threadIdx.x;
  if (warp < rows) {
    float s = 0;
    for (int j = row[warp] + lane; j < row[warp + 1]; j += 32) s += val[j] * x[col[j]];
    part[t] = s; __syncwarp();
    for (int o = 16; o; o >>= 1) { float v = lane < o ? part[t + o] : 0; __syncwarp(); part[t] += v; __syncwarp(); }
    if (lane == 0) y[warp] = part[t];
  }
}
BLOCK(256) race_conditional_fence(const int* in, int* data, unsigned* counter, int* out) {
  if (threadIdx.x == 0) {
    data[blockIdx.x] = 1;
    if (in[0] > 0) __threadfence();
    if (atomicAdd(counter, 1) == gridDim.x - 1) { __threadfence(); out[0] = data[0] + data[1]; }
  } }
BLOCK(256) race_conditional_fence_lane(const int* in, int* data, unsigned* counter, int* out) {
  if (threadIdx.x == 0) {
    data[blockIdx.x] = 1;
    asm volatile("{.reg .pred p;\n setp.lt.s32 p, %0, 2;\n @p membar.gl;}" :: "r"(in[blockIdx.x]) : "memory");
    if (atomicAdd(counter, 1) == gridDim.x - 1) { __threadfence(); out[0] = data[0] + data[1]; }
  } }
BLOCK(256) race_fence_before_barrier_one(int* data, unsigned* counter, int* out) {  // only thread 0 fences, before the barrier
  __shared__ bool last;
  data[256 * blockIdx.x + threadIdx.x] = 1;
  if (threadIdx.x == 0) __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(counter, 1) == gridDim.x - 1;
  __syncthreads();
  if (last) { __threadfence(); out[threadIdx.x] = data[threadIdx.x] + data[256 + threadIdx.x]; } }
BLOCK(256) race_fence_before_write(int* data, unsigned* counter, int* out) {
  __shared__ bool last;
  __threadfence();
  data[256 * blockIdx.x + threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(counter, 1) == gridDim.x - 1;
  __syncthreads();
  if (last) { __threadfence(); out[threadIdx.x] = data[threadIdx.x] + data[256 + threadIdx.x]; } }
BLOCK(256) race_write_between_barrier_and_arrival(int* data, unsigned* counter, int* out) {
  __shared__ bool last;
  data[512 * blockIdx.x + threadIdx.x] = 1;
  __threadfence();
  __syncthreads();
  data[512 * blockIdx.x + 256 + threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(counter, 1) == gridDim.x - 1;
  __syncthreads();
  if (last) { __threadfence(); out[threadIdx.x] = data[threadIdx.x + 256] + data[512 + 256 + threadIdx.x]; } }
BLOCK(256) race_light_fence_before_barrier(int* data, unsigned* counter, int* out) {
  __shared__ bool last;
  data[256 * blockIdx.x + threadIdx.x] = 1;
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(counter, 1) == gridDim.x - 1;
  __syncthreads();
  if (last) { __threadfence(); out[threadIdx.x] = data[threadIdx.x] + data[256 + threadIdx.x]; } }
BLOCK(256) ok_fence_before_barrier(int* data, unsigned* counter, int* out) {
  __shared__ bool last;
  data[256 * blockIdx.x + threadIdx.x] = 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(counter, 1) == gridDim.x - 1;
  __syncthreads();
  if (last) { __threadfence(); out[threadIdx.x] = data[threadIdx.x] + data[256 + threadIdx.x]; } }
BLOCK(256) ok_inc_reset(int* data, unsigned* counter, int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) { data[blockIdx.x] = 1; __threadfence(); last = atomicInc(counter, gridDim.x) == gridDim.x - 1; }
  __syncthreads();
  if (last) { __threadfence(); if (threadIdx.x == 0) { out[0] = data[0] + data[1]; *counter = 0; } } }
BLOCK(256) race_inc_wraps(int* data, unsigned* counter, int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) { data[blockIdx.x] = 1; __threadfence(); last = atomicInc(counter, 0) == gridDim.x - 1; }
  __syncthreads();
  if (last) { __threadfence(); if (threadIdx.x == 0) { out[0] = data[0] + data[1]; } } }
BLOCK(256) race_reset_early(int* data, unsigned* counter, int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) { data[blockIdx.x] = 1; __threadfence(); last = atomicAdd(counter, 1) == gridDim.x - 1; if (blockIdx.x == 0) *counter = 0; }
  __syncthreads();
  if (last) { __threadfence(); if (threadIdx.x == 0) { out[0] = data[0] + data[1]; } } }
BLOCK(256) race_tickets_after_reset(int* data, unsigned* counter, int* out) {
  if (threadIdx.x == 0) {
    data[blockIdx.x] = 1; __threadfence();
    unsigned t = atomicAdd(counter, 1);
    out[t] = 1;
    if (t == gridDim.x - 1) { __threadfence(); *counter = 0; out[atomicAdd(counter, 1)] = 2; } } }
BLOCK(256) ok_pitch(const float* in, float* out, int width, int pitch) {
  int x = threadIdx.x; if (x < pitch) out[blockIdx.x * pitch + x] = in[x]; }
BLOCK(256) unproved_pitch(const float* in, float* out, int width, int pitch) {
  int x = threadIdx.x; if (x < width) out[blockIdx.x * pitch + x] = in[x]; }
BLOCK(256) race_flag_second_raiser(int* data, volatile int* flag, int* out) {  // both blocks raise it
  if (threadIdx.x == 0) {
    data[blockIdx.x] = 42; __threadfence(); *flag = 1;
    while (*flag == 0) {}
    __threadfence(); out[blockIdx.x] = data[1 - blockIdx.x]; } }
BLOCK(256) race_flag_raised_twice(int* data, volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; __threadfence(); *flag = 1; data[1] = 43; __threadfence(); *flag = 2; }
    else { while (*flag == 0) {} __threadfence(); out[0] = data[1]; } } }
BLOCK(256) race_flag_no_reader_fence(int* data, volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; __threadfence(); *flag = 1; }
    else { while (*flag == 0) {} out[0] = data[0]; } } }
BLOCK(256) race_flag_write_after(int* data, volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; __threadfence(); *flag = 1; data[1] = 1; }
    else { while (*flag == 0) {} __threadfence(); out[0] = data[1]; } } }
BLOCK(256) race_flag_not_seen(int* data, volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; __threadfence(); *flag = 1; }
    else { if (*flag == 0) { __threadfence(); out[0] = data[0]; } } } }
BLOCK(256) ok_flag_seen_once(int* data, volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; __threadfence(); *flag = 1; }
    else { if (*flag != 0) { __threadfence(); out[0] = data[0]; } } } }
BLOCK(256) race_flag_plain(int* data, int* flag, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; __threadfence(); *flag = 1; }
    else { while (*(volatile int*)flag == 0) {} __threadfence(); out[0] = data[0]; } } }
BLOCK(256) race_flag_lowered(int* data, volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { *flag = 0; data[0] = 42; __threadfence(); *flag = 1; }
    else { while (*flag == 0) {} __threadfence(); out[0] = data[0]; } } }
BLOCK(256) race_flag_release_only(int* data, unsigned* flag, unsigned* other, int* out) {  // reader releases, and does not acquire
  ref f(*flag), o(*other);
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; f.store(1, cuda::memory_order_release); }
    else { while (f.load(cuda::memory_order_relaxed) == 0) {} o.store(1, cuda::memory_order_release); out[0] = data[0]; } } }
BLOCK(256) ok_flag_acquire(int* data, unsigned* flag, int* out) {
  ref f(*flag);
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; f.store(1, cuda::memory_order_release); }
    else { while (f.load(cuda::memory_order_acquire) == 0) {} out[0] = data[0]; } } }
BLOCK(256) race_flag_acquire_other(int* data, unsigned* flag, unsigned* other, int* out) {
  ref f(*flag), o(*other);
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; f.store(1, cuda::memory_order_release); }
    else { while (o.load(cuda::memory_order_acquire) == 0) {} out[0] = data[0]; } } }
BLOCK(256) ok_flag_block(int* data, volatile int* flag, int* out) {  // all threads of a block hand over
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) { __threadfence(); *flag = 1; }
  } else {
    if (threadIdx.x == 0) { while (*flag == 0) {} __threadfence(); }
    __syncthreads();
    out[threadIdx.x] = data[255 - threadIdx.x];
  } }
BLOCK(256) race_flag_block(int* data, volatile int* flag, int* out) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0) { __threadfence(); *flag = 1; }
  } else {
    if (threadIdx.x == 0) { while (*flag == 0) {} __threadfence(); }
    __syncthreads();
    out[threadIdx.x] = data[255 - threadIdx.x];
  } }
BLOCK(256) ok_last_acq_rel(int* data, unsigned* counter, int* out) {
  if (threadIdx.x == 0) {
    data[blockIdx.x] = 1;
    if (ref(*counter).fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1) out[0] = data[0] + data[1]; } }
BLOCK(256) race_last_release(int* data, unsigned* counter, int* out) {
  if (threadIdx.x == 0) {
    data[blockIdx.x] = 1;
    if (ref(*counter).fetch_add(1, cuda::memory_order_release) == gridDim.x - 1) out[0] = data[0] + data[1]; } }
BLOCK(256) unproved_inc_twice(int* data, unsigned* counter, int* out) {
  if (threadIdx.x < 2) { unsigned t = atomicInc(counter, gridDim.x - 1); out[t] = threadIdx.x; } }
BLOCK(256) ok_inc_slots(int* data, unsigned* counter, int* out) {
  if (threadIdx.x == 0) { __threadfence(); unsigned t = atomicInc(counter, gridDim.x - 1); out[t] = 1; } }
BLOCK(256) ok_parity(const int* in, int* out, int n) {
  __shared__ int buffer[2][256];
  int sum = 0;
  buffer[0][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    buffer[(k + 1) & 1][threadIdx.x] = in[k];
    sum += buffer[k & 1][255 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x + 256 * blockIdx.x] = sum; }
BLOCK(256) race_parity(const int* in, int* out, int n) {
  __shared__ int buffer[2][256];
  int sum = 0;
  buffer[0][threadIdx.x] = buffer[1][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    buffer[(k + 2) & 1][threadIdx.x] = in[k];
    sum += buffer[k & 1][255 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x + 256 * blockIdx.x] = sum; }
// A fence between the load of a flag and the branch on it.
BLOCK(256) ok_fence_before_test(int* data, volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; __threadfence(); *flag = 1; }
    else { int seen = *flag; __threadfence(); if (seen == 1) out[0] = data[0]; } } }
BLOCK(256) race_fence_before_load(int* data, volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; __threadfence(); *flag = 1; }
    else { __threadfence(); int seen = *flag; if (seen == 1) out[0] = data[0]; } } }
BLOCK(256) race_fence_between_loads(int* data, volatile int* flag, int* out) {  // the second load's value is tested
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; __threadfence(); *flag = 1; }
    else { int first = *flag; __threadfence(); int seen = *flag; if (seen == 1) out[0] = data[0] + first; } } }
BLOCK(256) race_release_before_test(int* data, unsigned* flag, unsigned* other, int* out) {  // a release is no such fence
  ref f(*flag), o(*other);
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; f.store(1, cuda::memory_order_release); }
    else { unsigned seen = f.load(cuda::memory_order_relaxed); o.store(1, cuda::memory_order_release); if (seen == 1) out[0] = data[0]; } } }
BLOCK(256) ok_last_fence_before_test(int* data, unsigned* counter, int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    data[blockIdx.x] = 1;
    __threadfence();
    unsigned ticket = atomicAdd(counter, 1);
    __threadfence();
    last = ticket == gridDim.x - 1;
  }
  __syncthreads();
  if (last) out[threadIdx.x] = data[0] + data[1]; }
BLOCK(256) ok_fence_of_all_before_test(int* data, unsigned* flag, int* out) {
  __shared__ unsigned seen;
  if (blockIdx.x == 0) {
    data[threadIdx.x] = 1; __threadfence(); __syncthreads();
    if (threadIdx.x == 0) atomicExch(flag, 1);
  } else {
    if (threadIdx.x == 0) seen = atomicAdd(flag, 0);
    __syncthreads();
    __threadfence();
    if (seen == 1) out[threadIdx.x] = data[255 - threadIdx.x];
  } }
BLOCK(256) race_fence_unordered_with_load(int* data, unsigned* flag, int* out) {  // the others' fences may come before the load
  __shared__ unsigned seen;
  if (blockIdx.x == 0) {
    data[threadIdx.x] = 1; __threadfence(); __syncthreads();
    if (threadIdx.x == 0) atomicExch(flag, 1);
  } else {
    if (threadIdx.x == 0) seen = atomicAdd(flag, 0); else __threadfence();
    __syncthreads();
    if (seen == 1 && threadIdx.x > 0) out[threadIdx.x] = data[255 - threadIdx.x];
  } }
BLOCK(256) race_light_fence_elsewhere(int* data, unsigned* counter, int* out) {  // not of the thread that saw the counter
  __shared__ bool last;
  if (threadIdx.x == 0) {
    data[blockIdx.x] = 1;
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    last = atomicAdd(counter, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    out[threadIdx.x] = data[0] + data[1];
  } }
BLOCK(256) race_light_release_elsewhere(int* data, unsigned* counter, int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    data[blockIdx.x] = 1;
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    last = atomicAdd(counter, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) { __threadfence(); out[threadIdx.x] = data[0] + data[1]; } }
// One side of a branch has seen the flag, the other reads without.
BLOCK(256) race_flag_on_the_other_side(const int* in, int* data, volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; __threadfence(); *flag = 1; }
    else if (in[0] > 0) { out[1] = data[0]; }
    else { while (*flag == 0) {} __threadfence(); out[0] = data[0]; } } }
BLOCK(256) race_flag_on_this_side(const int* in, int* data, volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) { data[0] = 42; __threadfence(); *flag = 1; }
    else if (in[0] > 0) { while (*flag == 0) {} __threadfence(); out[0] = data[0]; }
    else { for (int k = 0; k < in[1]; ++k) out[2] += in[k]; out[1] = data[0]; } } }
// Locks are not proved: a race that they may prevent is possible, not definite.
BLOCK(64) race_unless_locked(int* lock, int* data) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    data[0] += 1;
    __threadfence();
    atomicExch(lock, 0);
  } }
BLOCK(64) race_unless_locked_block(int* lock, int* data) {
  if (threadIdx.x == 0) { while (atomicCAS(lock, 0, 1) != 0) {} __threadfence(); }
  __syncthreads();
  data[threadIdx.x] += 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicExch(lock, 0); }
BLOCK(64) race_beside_lock(int* lock, int* data) {  // thread 32 takes no lock
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    data[0] += 1;
    __threadfence();
    atomicExch(lock, 0);
  } else if (threadIdx.x == 32) { data[0] = 0; } }
