// Order between blocks that is handed on: chains of flags, and turns at a semaphore.
// The names are as in probes.cu; all run in four blocks. chains.txt lists the verdicts.
#include <cuda/atomic>

#define BLOCK(n) extern "C" __global__ void __launch_bounds__(n)
#define STRONG(p) (*(volatile unsigned*)(p))

template <cuda::thread_scope S = cuda::thread_scope_device>
using ref = cuda::atomic_ref<unsigned, S>;
constexpr auto relaxed = cuda::memory_order_relaxed;
constexpr auto acquire = cuda::memory_order_acquire;
constexpr auto release = cuda::memory_order_release;
constexpr auto of_block = cuda::thread_scope_block;

// turns: each block adds to what the blocks before it have left
template <bool kAcquires = true, bool kReleases = true>
__device__ void in_turn(float* sums, unsigned* lock, unsigned turn, unsigned next) {
  if (threadIdx.x == 0) {
    while (STRONG(lock) != turn) {}
    if (kAcquires) __threadfence();
  }
  __syncthreads();
  sums[threadIdx.x] += threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    if (kReleases) __threadfence();
    STRONG(lock) = next;
  }
}
BLOCK(64) ok_turns(float* s, unsigned* lock) { in_turn(s, lock, blockIdx.x, blockIdx.x + 1); }
BLOCK(64) race_turns_without_release(float* s, unsigned* lock) { in_turn<true, false>(s, lock, blockIdx.x, blockIdx.x + 1); }
BLOCK(64) race_turns_without_acquire(float* s, unsigned* lock) { in_turn<false>(s, lock, blockIdx.x, blockIdx.x + 1); }
BLOCK(64) deadlock_turns_start_with_one(float* s, unsigned* lock) { in_turn(s, lock, blockIdx.x + 1, blockIdx.x + 2); }
BLOCK(64) race_two_share_a_turn(float* s, unsigned* lock) { in_turn(s, lock, blockIdx.x / 2, blockIdx.x / 2 + 1); }
BLOCK(64) ok_turns_backwards(float* s, unsigned* lock) {
  in_turn(s, lock, gridDim.x - 1 - blockIdx.x, gridDim.x - blockIdx.x); }
BLOCK(64) ok_turns_set_back(float* s, unsigned* lock) {
  in_turn(s, lock, blockIdx.x, blockIdx.x + 1 == gridDim.x ? 0 : blockIdx.x + 1); }
BLOCK(64) race_turns_set_back_too_early(float* s, unsigned* lock) {
  in_turn(s, lock, blockIdx.x, blockIdx.x + 2 == gridDim.x ? 0 : blockIdx.x + 1); }
BLOCK(64) ok_turns_from_seven(float* s, unsigned* lock) {
  if (blockIdx.x == 0) in_turn(s, lock, 0, 8);
  else in_turn(s, lock, blockIdx.x + 7, blockIdx.x + 8); }
BLOCK(64) race_released_before_the_write(float* s, unsigned* lock) {
  if (threadIdx.x == 0) { while (STRONG(lock) != blockIdx.x) {} __threadfence(); }
  __syncthreads();
  float sum = s[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) { __threadfence(); STRONG(lock) = blockIdx.x + 1; }
  s[threadIdx.x] = sum + 1; }
BLOCK(64) race_release_without_barrier(float* s, unsigned* lock) {
  if (threadIdx.x == 0) { while (STRONG(lock) != blockIdx.x) {} __threadfence(); }
  __syncthreads();
  s[threadIdx.x] += 1;
  if (threadIdx.x == 0) { __threadfence(); STRONG(lock) = blockIdx.x + 1; } }
BLOCK(64) race_acquire_without_barrier(float* s, unsigned* lock) {
  if (threadIdx.x == 0) { while (STRONG(lock) != blockIdx.x) {} __threadfence(); }
  s[threadIdx.x] += 1;
  __syncthreads();
  if (threadIdx.x == 0) { __threadfence(); STRONG(lock) = blockIdx.x + 1; } }
BLOCK(64) race_weak_turn(float* s, unsigned* lock) {
  if (threadIdx.x == 0) { while (STRONG(lock) != blockIdx.x) {} __threadfence(); }
  __syncthreads();
  s[threadIdx.x] += 1;
  __syncthreads();
  if (threadIdx.x == 0) { __threadfence(); *lock = blockIdx.x + 1; } }
BLOCK(64) ok_all_threads_wait_for_the_turn(float* s, unsigned* lock) {
  while (ref<>(*lock).load(acquire) != blockIdx.x) {}
  s[threadIdx.x] += 1;
  __syncthreads();
  if (threadIdx.x == 0) ref<>(*lock).store(blockIdx.x + 1, release); }
BLOCK(64) race_all_threads_wait_relaxed(float* s, unsigned* lock) {
  while (ref<>(*lock).load(relaxed) != blockIdx.x) {}
  s[threadIdx.x] += 1;
  __syncthreads();
  if (threadIdx.x == 0) ref<>(*lock).store(blockIdx.x + 1, release); }
template <class Wait, class Next>
__device__ void turn_of_one(float* s, Wait wait, Next next) {
  if (threadIdx.x == 0) wait();
  __syncthreads();
  s[threadIdx.x] += 1;
  __syncthreads();
  if (threadIdx.x == 0) next();
}
BLOCK(64) ok_turns_of_atomic_ref(float* s, unsigned* lock) {
  ref<> r(*lock);
  turn_of_one(s, [&] { while (r.load(acquire) != blockIdx.x) {} }, [&] { r.store(blockIdx.x + 1, release); }); }
BLOCK(64) race_turns_stored_relaxed(float* s, unsigned* lock) {
  ref<> r(*lock);
  turn_of_one(s, [&] { while (r.load(acquire) != blockIdx.x) {} }, [&] { r.store(blockIdx.x + 1, relaxed); }); }
BLOCK(64) race_turns_with_the_scope_of_a_block(float* s, unsigned* lock) {
  ref<of_block> r(*lock);
  turn_of_one(s, [&] { while (r.load(acquire) != blockIdx.x) {} }, [&] { r.store(blockIdx.x + 1, release); }); }
BLOCK(64) ok_turns_relaxed_and_fences(float* s, unsigned* lock) {
  ref<> r(*lock);
  turn_of_one(s, [&] { while (r.load(relaxed) != blockIdx.x) {} cuda::atomic_thread_fence(acquire, cuda::thread_scope_device); },
              [&] { cuda::atomic_thread_fence(release, cuda::thread_scope_device); r.store(blockIdx.x + 1, relaxed); }); }
BLOCK(64) race_turns_relaxed_and_narrow_fences(float* s, unsigned* lock) {
  ref<> r(*lock);
  turn_of_one(s, [&] { while (r.load(relaxed) != blockIdx.x) {} cuda::atomic_thread_fence(acquire, of_block); },
              [&] { cuda::atomic_thread_fence(release, of_block); r.store(blockIdx.x + 1, relaxed); }); }
BLOCK(64) ok_turns_exchanged(float* s, unsigned* lock) {
  turn_of_one(s, [&] { while (atomicAdd(lock, 0) != blockIdx.x) {} __threadfence(); },
              [&] { __threadfence(); atomicExch(lock, blockIdx.x + 1); }); }
BLOCK(64) race_turns_exchanged_without_fence(float* s, unsigned* lock) {
  turn_of_one(s, [&] { while (atomicAdd(lock, 0) != blockIdx.x) {} __threadfence(); },
              [&] { atomicExch(lock, blockIdx.x + 1); }); }
BLOCK(64) ok_turns_added(float* s, unsigned* lock) {
  turn_of_one(s, [&] { while (STRONG(lock) != blockIdx.x) {} __threadfence(); },
              [&] { __threadfence(); atomicAdd(lock, 1); }); }
BLOCK(64) race_turns_added_without_fence(float* s, unsigned* lock) {
  turn_of_one(s, [&] { while (STRONG(lock) != blockIdx.x) {} __threadfence(); }, [&] { atomicAdd(lock, 1); }); }
BLOCK(64) ok_turns_added_at_least(float* s, unsigned* lock) {
  turn_of_one(s, [&] { while (STRONG(lock) < blockIdx.x) {} __threadfence(); },
              [&] { __threadfence(); atomicAdd(lock, 1); }); }
BLOCK(64) race_turns_added_one_early(float* s, unsigned* lock) {
  turn_of_one(s, [&] { while (STRONG(lock) < (blockIdx.x > 1 ? blockIdx.x - 1 : 0)) {} __threadfence(); },
              [&] { __threadfence(); atomicAdd(lock, 1); }); }
BLOCK(64) ok_turns_added_and_set_back(float* s, unsigned* lock) {
  turn_of_one(s, [&] { while (STRONG(lock) != blockIdx.x) {} __threadfence(); },
              [&] {
                __threadfence();
                if (blockIdx.x + 1 == gridDim.x) STRONG(lock) = 0;
                else atomicAdd(lock, 1);
              }); }
BLOCK(64) ok_turns_at_least(float* s, unsigned* lock) {
  turn_of_one(s, [&] { while (STRONG(lock) < blockIdx.x) {} __threadfence(); },
              [&] { __threadfence(); STRONG(lock) = blockIdx.x + 1; }); }
BLOCK(64) race_turns_one_early(float* s, unsigned* lock) {  // blocks 0 and 1 begin together
  turn_of_one(s, [&] { while (STRONG(lock) < (blockIdx.x > 1 ? blockIdx.x : 0)) {} __threadfence(); },
              [&] { __threadfence(); STRONG(lock) = blockIdx.x + 1; }); }
// two semaphores in a grid, of two blocks each
BLOCK(64) ok_turns_of_pairs(float* s, unsigned* lock) {
  const unsigned tile = blockIdx.x / 2, turn = blockIdx.x % 2;
  in_turn(s + 64 * tile, lock + tile, turn, turn + 1); }
BLOCK(64) race_turns_of_pairs(float* s, unsigned* lock) {
  const unsigned tile = blockIdx.x / 2, turn = blockIdx.x % 2;
  in_turn(s, lock + tile, turn, turn + 1); }
// chains of flags: the last block reads what the first one has written
template <bool kWaits = true, bool kReleases = true, class Read>
__device__ void chain(unsigned* f, float* data, Read read) {
  const unsigned b = blockIdx.x;
  if (b == 0) data[threadIdx.x] = 1;
  if (threadIdx.x == 0 && b > 0 && kWaits) {
    while (STRONG(f + b - 1) == 0) {}
    __threadfence();
  }
  __syncthreads();
  read();
  __syncthreads();
  if (threadIdx.x == 0) {
    if (kReleases) __threadfence();
    STRONG(f + b) = 1;
  }
}
BLOCK(64) ok_chain(unsigned* f, float* d, float* o) {
  chain(f, d, [&] { if (blockIdx.x == 3) o[threadIdx.x] = d[63 - threadIdx.x]; }); }
BLOCK(64) race_chain_does_not_wait(unsigned* f, float* d, float* o) {
  chain<false>(f, d, [&] { if (blockIdx.x == 3) o[threadIdx.x] = d[63 - threadIdx.x]; }); }
BLOCK(64) ok_chain_all_write(unsigned* f, float* d, float* o) {
  chain(f, d, [&] { if (blockIdx.x > 0) d[64 * blockIdx.x + threadIdx.x] = d[64 * blockIdx.x - 64 + threadIdx.x]; }); }
BLOCK(64) race_chain_does_not_release(unsigned* f, float* d, float* o) {
  chain<true, false>(f, d, [&] { if (blockIdx.x > 0) d[64 * blockIdx.x + threadIdx.x] = d[64 * blockIdx.x - 64 + threadIdx.x]; }); }
BLOCK(64) ok_chain_all_read(unsigned* f, float* d, float* o) {
  chain(f, d, [&] { if (blockIdx.x > 0) o[64 * blockIdx.x + threadIdx.x] = d[63 - threadIdx.x]; }); }
BLOCK(64) race_chain_first_writes_again(unsigned* f, float* d, float* o) {
  chain(f, d, [&] { if (blockIdx.x == 3) o[threadIdx.x] = d[63 - threadIdx.x]; });
  if (blockIdx.x == 0) d[threadIdx.x] = 2; }
BLOCK(64) race_second_does_not_acquire(unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b == 0) { d[0] = 1; __threadfence(); STRONG(f) = 1; }
  if (b == 1) { while (STRONG(f) == 0) {} STRONG(f + 1) = 1; }
  if (b == 2) { while (STRONG(f + 1) == 0) {} __threadfence(); *o = d[0]; } }
BLOCK(64) ok_one_fence_acquires_and_releases(unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b == 0) { d[0] = 1; __threadfence(); STRONG(f) = 1; }
  if (b == 1) { while (STRONG(f) == 0) {} __threadfence(); STRONG(f + 1) = 1; }
  if (b == 2) { while (STRONG(f + 1) == 0) {} __threadfence(); *o = d[0]; } }
BLOCK(64) race_other_thread_acquires(unsigned* f, float* d, float* o) {  // and no barrier joins the two
  const unsigned b = blockIdx.x, t = threadIdx.x;
  if (b == 0 && t == 0) { d[0] = 1; __threadfence(); STRONG(f) = 1; }
  if (b == 1 && t == 0) { while (STRONG(f) == 0) {} __threadfence(); }
  if (b == 1 && t == 32) { __threadfence(); STRONG(f + 1) = 1; }
  if (b == 2 && t == 0) { while (STRONG(f + 1) == 0) {} __threadfence(); *o = d[0]; } }
BLOCK(64) ok_other_thread_acquires(unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x, t = threadIdx.x;
  if (b == 0 && t == 0) { d[0] = 1; __threadfence(); STRONG(f) = 1; }
  if (b == 1 && t == 0) { while (STRONG(f) == 0) {} __threadfence(); }
  __syncthreads();
  if (b == 1 && t == 32) { __threadfence(); STRONG(f + 1) = 1; }
  if (b == 2 && t == 0) { while (STRONG(f + 1) == 0) {} __threadfence(); *o = d[0]; } }
BLOCK(64) ok_acquired_and_released(unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b == 0) { d[0] = 1; ref<>(f[0]).store(1, release); }
  if (b == 1) { while (ref<>(f[0]).load(acquire) == 0) {} ref<>(f[1]).store(1, release); }
  if (b == 2) { while (ref<>(f[1]).load(acquire) == 0) {} *o = d[0]; } }
BLOCK(64) race_acquired_and_stored_relaxed(unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b == 0) { d[0] = 1; ref<>(f[0]).store(1, release); }
  if (b == 1) { while (ref<>(f[0]).load(acquire) == 0) {} ref<>(f[1]).store(1, relaxed); }
  if (b == 2) { while (ref<>(f[1]).load(acquire) == 0) {} *o = d[0]; } }
BLOCK(64) race_loaded_relaxed_and_released(unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b == 0) { d[0] = 1; ref<>(f[0]).store(1, release); }
  if (b == 1) { while (ref<>(f[0]).load(relaxed) == 0) {} ref<>(f[1]).store(1, release); }
  if (b == 2) { while (ref<>(f[1]).load(acquire) == 0) {} *o = d[0]; } }
BLOCK(64) ok_added_flag(unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b == 0) { d[0] = 1; __threadfence(); atomicAdd(f, 1); }
  if (b == 1) { while (atomicAdd(f, 0) == 0) {} __threadfence(); *o = d[0]; } }
BLOCK(64) race_flag_added_by_two(unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b < 2) { d[b] = 1; __threadfence(); atomicAdd(f, 1); }
  if (b == 2) { while (atomicAdd(f, 0) == 0) {} __threadfence(); *o = d[0]; } }
BLOCK(64) ok_flag_added_by_two(unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b < 2) { d[b] = 1; __threadfence(); atomicAdd(f, 1); }
  if (b == 2) { while (atomicAdd(f, 0) < 2) {} __threadfence(); *o = d[0]; } }
BLOCK(64) race_flag_raised_by_two(unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b < 2) { d[b] = 1; __threadfence(); STRONG(f) = 1; }
  if (b == 2) { while (STRONG(f) == 0) {} __threadfence(); *o = d[0]; } }
BLOCK(64) unproved_flag_goes_on(unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b < 2) { d[b] = 1; __threadfence(); STRONG(f) = b + 1; }
  if (b == 2) { while (STRONG(f) != 1) {} __threadfence(); *o = d[0]; } }
BLOCK(64) race_counter_then_flag(unsigned* c, unsigned* f, float* d, float* o) {  // block 3 waits for the flag alone
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b < 2) { d[b] = 1; __threadfence(); atomicAdd(c, 1); }
  if (b == 2) { while (STRONG(c) < 1) {} __threadfence(); STRONG(f) = 1; }
  if (b == 3) { while (STRONG(f) == 0) {} __threadfence(); *o = d[0] + d[1]; } }
BLOCK(64) ok_counter_then_flag(unsigned* c, unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b < 2) { d[b] = 1; __threadfence(); atomicAdd(c, 1); }
  if (b == 2) { while (STRONG(c) < 2) {} __threadfence(); STRONG(f) = 1; }
  if (b == 3) { while (STRONG(f) == 0) {} __threadfence(); *o = d[0] + d[1]; } }
// one block adds several times
BLOCK(64) ok_steps(unsigned* c, float* d, float* o) {
  if (threadIdx.x > 0) return;
  for (int k = 0; k < 3; ++k) {
    if (blockIdx.x == 0) { d[k] = 1; __threadfence(); STRONG(c) = k + 1; }
    if (blockIdx.x == 1) { while (STRONG(c) < k + 1) {} __threadfence(); o[k] = d[k]; }
  } }
BLOCK(64) race_one_step_ahead(unsigned* c, float* d, float* o) {
  if (threadIdx.x > 0) return;
  for (int k = 0; k < 3; ++k) {
    if (blockIdx.x == 0) { d[k] = 1; __threadfence(); STRONG(c) = k + 1; }
    if (blockIdx.x == 1) { while (STRONG(c) < k + 1) {} __threadfence(); o[k] = d[k + 1]; }
  } }
// there and back: the first block may write again when the last one has read
BLOCK(64) ok_there_and_back(unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b == 0) { d[0] = 1; __threadfence(); STRONG(f) = 1; while (STRONG(f + 2) == 0) {} __threadfence(); d[0] = 2; }
  if (b == 1) { while (STRONG(f) == 0) {} __threadfence(); STRONG(f + 1) = 1; }
  if (b == 2) { while (STRONG(f + 1) == 0) {} __threadfence(); *o = d[0]; __threadfence(); STRONG(f + 2) = 1; } }
BLOCK(64) race_there_and_back_too_early(unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b == 0) { d[0] = 1; __threadfence(); STRONG(f) = 1; while (STRONG(f + 2) == 0) {} __threadfence(); d[0] = 2; }
  if (b == 1) { while (STRONG(f) == 0) {} __threadfence(); STRONG(f + 1) = 1; }
  if (b == 2) { while (STRONG(f + 1) == 0) {} __threadfence(); STRONG(f + 2) = 1; *o = d[0]; } }
// what is not understood is not said to be a race
BLOCK(64) unproved_swapped_flag(unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b == 0) { d[0] = 1; __threadfence(); atomicCAS(f, 0, 1); }
  if (b == 1) { while (STRONG(f) == 0) {} __threadfence(); *o = d[0]; } }
BLOCK(64) unproved_bits(unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b < 2) { d[b] = 1; __threadfence(); atomicOr(f, 1 << b); }
  if (b == 2) { while ((STRONG(f) & 1) == 0) {} __threadfence(); *o = d[0]; } }
BLOCK(64) unproved_number_from_outside(unsigned* f, float* d, float* o, unsigned number) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b == 0) { d[0] = 1; __threadfence(); STRONG(f) = number; }
  if (b == 1) { while (STRONG(f) != number) {} __threadfence(); *o = d[0]; } }
// releases and acquires of one place, which are no fences for another
template <class Raise, class Wait>
__device__ void hand_over(float* d, float* o, Raise raise, Wait wait) {
  if (threadIdx.x > 0 || blockIdx.x > 1) return;
  if (blockIdx.x == 0) { d[0] = 1; raise(); }
  else { wait(); *o = d[0]; } }
#define UNTIL(number) [&] { while (ref<>(f[0]).load(acquire) != number) {} }
#define AT_ONCE [&] { ref<>(f[0]).store(1, release); }
BLOCK(64) ok_released_and_stored_again(unsigned* f, float* d, float* o) {
  hand_over(d, o, [&] { ref<>(f[0]).store(1, release); ref<>(f[0]).store(2, relaxed); }, UNTIL(2)); }
BLOCK(64) race_released_elsewhere(unsigned* f, float* d, float* o) {
  hand_over(d, o, [&] { ref<>(f[1]).store(1, release); ref<>(f[0]).store(2, relaxed); }, UNTIL(2)); }
BLOCK(64) race_added_elsewhere(unsigned* f, float* d, float* o) {
  hand_over(d, o, [&] { ref<>(f[1]).fetch_add(1, cuda::memory_order_acq_rel); ref<>(f[0]).store(2, relaxed); }, UNTIL(2)); }
BLOCK(64) race_released_elsewhere_and_added(unsigned* f, float* d, float* o) {
  hand_over(d, o, [&] { ref<>(f[1]).fetch_add(1, release); ref<>(f[0]).fetch_add(2, relaxed); }, UNTIL(2)); }
BLOCK(64) ok_fence_before_a_release_elsewhere(unsigned* f, float* d, float* o) {
  hand_over(d, o, [&] { __threadfence(); ref<>(f[1]).store(1, release); ref<>(f[0]).store(2, relaxed); }, UNTIL(2)); }
BLOCK(64) race_written_behind_the_release(unsigned* f, float* d, float* o) {
  hand_over(d, o, [&] { ref<>(f[0]).store(1, release); d[0] = 2; ref<>(f[0]).store(2, relaxed); }, UNTIL(2)); }
BLOCK(64) race_stored_again_by_another(unsigned* f, float* d, float* o) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) { d[0] = 1; ref<>(f[0]).store(1, release); }
    __syncthreads();
    if (threadIdx.x == 1) ref<>(f[0]).store(2, relaxed);
  } else if (blockIdx.x == 1 && threadIdx.x == 0) { while (ref<>(f[0]).load(acquire) != 2) {} *o = d[0]; } }
BLOCK(64) ok_polled_and_acquired(unsigned* f, float* d, float* o) {
  hand_over(d, o, AT_ONCE, [&] { while (ref<>(f[0]).load(relaxed) == 0) {} (void)ref<>(f[0]).load(acquire); }); }
BLOCK(64) race_polled_and_acquired_elsewhere(unsigned* f, float* d, float* o) {
  hand_over(d, o, AT_ONCE, [&] { while (ref<>(f[0]).load(relaxed) == 0) {} (void)ref<>(f[1]).load(acquire); }); }
BLOCK(64) race_polled_and_added_elsewhere(unsigned* f, float* d, float* o) {
  hand_over(d, o, AT_ONCE, [&] { while (ref<>(f[0]).load(relaxed) == 0) {}
                                 ref<>(f[1]).fetch_add(1, cuda::memory_order_acq_rel); }); }
BLOCK(64) race_polled_and_acquired_for_the_block(unsigned* f, float* d, float* o) {
  hand_over(d, o, AT_ONCE, [&] { while (ref<>(f[0]).load(relaxed) == 0) {} (void)ref<of_block>(f[0]).load(acquire); }); }
BLOCK(64) race_polled_and_perhaps_acquired(unsigned* f, float* d, float* o, int acquires) {
  hand_over(d, o, AT_ONCE, [&] { while (ref<>(f[0]).load(relaxed) == 0) {}
    asm volatile("{ .reg .pred p; .reg .u32 r; setp.ne.s32 p, %1, 0; @p ld.acquire.gpu.u32 r, [%0]; }"
                 ::"l"(f), "r"(acquires) : "memory"); }); }
// fences that only release or only acquire, which need compute capability 9.0 to run
#define FENCE(kind) asm volatile("fence." kind ".gpu;" ::: "memory")
template <bool kAcquires, bool kReleases>
__device__ void hand_on(unsigned* f, float* d, float* o) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x > 0) return;
  if (b == 0) { d[0] = 1; if (kReleases) FENCE("release"); else FENCE("acquire"); ref<>(f[0]).store(1, relaxed); }
  if (b == 1) { while (ref<>(f[0]).load(relaxed) == 0) {} if (kAcquires) FENCE("acquire");
                FENCE("release"); ref<>(f[1]).store(1, relaxed); }
  if (b == 2) { while (ref<>(f[1]).load(relaxed) == 0) {} FENCE("acquire"); *o = d[0]; } }
BLOCK(64) ok_one_way_fences(unsigned* f, float* d, float* o) { hand_on<true, true>(f, d, o); }
BLOCK(64) race_fence_only_releases(unsigned* f, float* d, float* o) { hand_on<false, true>(f, d, o); }
BLOCK(64) race_fence_only_acquires(unsigned* f, float* d, float* o) { hand_on<true, false>(f, d, o); }
// a barrier of a warp hands on what one lane has acquired; a shuffle does not
template <class Meet>
__device__ void through_a_warp(unsigned* f, float* d, float* o, Meet meet) {
  const unsigned b = blockIdx.x, t = threadIdx.x;
  if (b == 0 && t == 0) { d[0] = 1; ref<>(f[0]).store(1, release); }
  if (b == 1 && t < 32) {
    if (t == 0) while (ref<>(f[0]).load(acquire) == 0) {}
    meet();
    if (t == 1) ref<>(f[1]).store(1, release); }
  if (b == 2 && t == 0) { while (ref<>(f[1]).load(acquire) == 0) {} *o = d[0]; } }
BLOCK(64) ok_through_a_warp(unsigned* f, float* d, float* o) { through_a_warp(f, d, o, [] { __syncwarp(); }); }
BLOCK(64) race_through_a_shuffle(unsigned* f, float* d, float* o) {
  through_a_warp(f, d, o, [&] { if (__shfl_sync(~0u, threadIdx.x, 0) > 31) d[1] = 0; }); }
// each thread counts what it has written
template <bool kFences, unsigned kFull>
__device__ void all_count(unsigned* c, float* d, float* o) {
  const unsigned b = blockIdx.x, t = threadIdx.x;
  if (b == 0) { d[t] = 1; if (kFences) __threadfence(); atomicAdd(c, 1); }
  if (b != 1) return;
  if (t == 0) while (ref<>(c[0]).load(acquire) < kFull) {}
  __syncthreads();
  o[t] = d[63 - t]; }
BLOCK(64) unproved_all_count(unsigned* c, float* d, float* o) { all_count<true, 64>(c, d, o); }
BLOCK(64) unproved_half_of_them_count(unsigned* c, float* d, float* o) { all_count<true, 32>(c, d, o); }
BLOCK(64) race_all_count_without_fence(unsigned* c, float* d, float* o) { all_count<false, 64>(c, d, o); }
