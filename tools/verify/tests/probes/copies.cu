// Copies that go on beside their threads (cp.async), and products of matrices that read beside them (wgmma), with one defect each or
// none. The name says the verdict, as in probes.cu. copies.txt lists the verdicts with their lines.
#include <cstdint>

#define BLOCK(n) extern "C" __global__ void __launch_bounds__(n)
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define WAIT_ALL() asm volatile("cp.async.wait_all;" ::: "memory")

__shared__ __align__(128) int s[4096];

__device__ unsigned at(const void* shared) { return static_cast<unsigned>(__cvta_generic_to_shared(shared)); }
__device__ __forceinline__ void copy4(int* to, const int* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(to)), "l"(__cvta_generic_to_global(from)) : "memory"); }
__device__ __forceinline__ void copy16(int* to, const int* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(to)), "l"(__cvta_generic_to_global(from)) : "memory"); }

// A thread and its own copies.
BLOCK(32) ok_copy_own(const int* in, int* out) { copy4(s + threadIdx.x, in + threadIdx.x); COMMIT(); WAIT(0); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) ok_copy_wait_all(const int* in, int* out) { copy4(s + threadIdx.x, in + threadIdx.x); WAIT_ALL(); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) ok_copy_16_and_8(const int* in, int* out) {
  copy16(s + 4 * threadIdx.x, in + 4 * threadIdx.x);
  asm volatile("cp.async.ca.shared::cta.global.L2::128B [%0], [%1], 8;" ::"r"(at(s + 128 + 2 * threadIdx.x)), "l"(__cvta_generic_to_global(in + 2 * threadIdx.x)) : "memory");
  COMMIT(); WAIT(0);
  out[threadIdx.x] = s[4 * threadIdx.x + 3] + s[128 + 2 * threadIdx.x + 1]; }
BLOCK(32) race_copy_no_wait(const int* in, int* out) { copy4(s + threadIdx.x, in + threadIdx.x); COMMIT(); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) race_copy_no_commit(const int* in, int* out) { copy4(s + threadIdx.x, in + threadIdx.x); WAIT(0); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) race_copy_write_between(const int* in, int* out) {
  copy4(s + threadIdx.x, in + threadIdx.x); COMMIT();
  s[threadIdx.x] = 1;
  WAIT(0); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) ok_copy_write_before(const int* in, int* out) {
  s[threadIdx.x] = 1; out[threadIdx.x] = s[threadIdx.x];
  copy4(s + threadIdx.x, in + threadIdx.x); COMMIT(); WAIT(0); out[threadIdx.x] += s[threadIdx.x]; }
BLOCK(32) race_copy_twice(const int* in, int* out) {
  copy4(s + threadIdx.x, in + threadIdx.x);
  copy4(s + threadIdx.x, in + 32 + threadIdx.x); COMMIT(); WAIT(0); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) race_copy_two_groups(const int* in, int* out) {
  copy4(s + threadIdx.x, in + threadIdx.x); COMMIT();
  copy4(s + threadIdx.x, in + 32 + threadIdx.x); COMMIT(); WAIT(0); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) ok_copy_one_after_other(const int* in, int* out) {
  copy4(s + threadIdx.x, in + threadIdx.x); COMMIT(); WAIT(0);
  copy4(s + threadIdx.x, in + 32 + threadIdx.x); COMMIT(); WAIT(0); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) race_copy_overlap(const int* in, int* out) {
  copy16(s + 4 * threadIdx.x, in + 4 * threadIdx.x); COMMIT();
  copy4(s + 4 * threadIdx.x + 3, in); COMMIT(); WAIT(0); out[threadIdx.x] = s[4 * threadIdx.x]; }
BLOCK(32) ok_copy_older_group(const int* in, int* out) {
  copy4(s + threadIdx.x, in + threadIdx.x); COMMIT();
  copy4(s + 32 + threadIdx.x, in + threadIdx.x); COMMIT(); WAIT(1); out[threadIdx.x] = s[threadIdx.x]; WAIT(0); }
BLOCK(32) race_copy_newer_group(const int* in, int* out) {
  copy4(s + threadIdx.x, in + threadIdx.x); COMMIT();
  copy4(s + 32 + threadIdx.x, in + threadIdx.x); COMMIT(); WAIT(1); out[threadIdx.x] = s[32 + threadIdx.x]; }
BLOCK(32) ok_copy_empty_group(const int* in, int* out) {
  copy4(s + threadIdx.x, in + threadIdx.x); COMMIT(); COMMIT(); WAIT(1); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) ok_copy_in_flight_at_exit(const int* in, int* out) { copy4(s + threadIdx.x, in + threadIdx.x); COMMIT(); out[threadIdx.x] = 1; }
BLOCK(32) undefined_copy_elsewhere(const int* in, int* out) { copy4(s + threadIdx.x, in + threadIdx.x); WAIT_ALL(); out[threadIdx.x] = s[32 + threadIdx.x]; }
BLOCK(32) bounds_copy(const int* in, int* out) { copy4(s + 4096 + threadIdx.x, in); WAIT_ALL(); out[threadIdx.x] = 1; }

// Where it copies from.
BLOCK(32) race_copy_source_written(int* data, int* out) {
  copy4(s + threadIdx.x, data + threadIdx.x); COMMIT();
  data[threadIdx.x] = 1; WAIT(0); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) ok_copy_source_written_after(int* data, int* out) {
  copy4(s + threadIdx.x, data + threadIdx.x); COMMIT(); WAIT(0);
  data[threadIdx.x] = 1; out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) ok_copy_source_written_before(int* data, int* out) {
  data[threadIdx.x] = 1;
  copy4(s + threadIdx.x, data + threadIdx.x); COMMIT(); WAIT(0); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(64) race_copy_source_of_others(int* data, int* out) {
  copy4(s + threadIdx.x, data + threadIdx.x); COMMIT();
  __syncthreads();
  data[63 - threadIdx.x] = 1; WAIT(0); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) ok_copy_part(int* data, int* out) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, 4;" ::"r"(at(s + 2 * threadIdx.x)), "l"(__cvta_generic_to_global(data + 2 * threadIdx.x)) : "memory");
  data[2 * threadIdx.x + 1] = 1; WAIT_ALL(); out[threadIdx.x] = s[2 * threadIdx.x + 1]; }
BLOCK(32) race_copy_part(int* data, int* out) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, 4;" ::"r"(at(s + 2 * threadIdx.x)), "l"(__cvta_generic_to_global(data + 2 * threadIdx.x)) : "memory");
  data[2 * threadIdx.x] = 1; WAIT_ALL(); out[threadIdx.x] = s[2 * threadIdx.x + 1]; }
BLOCK(32) race_copy_unknown_part(int* data, int* out, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(at(s + 2 * threadIdx.x)), "l"(__cvta_generic_to_global(data + 2 * threadIdx.x)), "r"(bytes) : "memory");
  data[2 * threadIdx.x + 1] = 1; WAIT_ALL(); out[threadIdx.x] = s[2 * threadIdx.x + 1]; }
BLOCK(32) bounds_copy_too_large_part(const int* in, int* out) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at(s + threadIdx.x)), "l"(__cvta_generic_to_global(in + threadIdx.x)), "r"(8) : "memory");
  WAIT_ALL(); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) ok_copy_ignores_source(int* data, int* out) {
  asm volatile("{ .reg .pred p; setp.lt.u32 p, %2, 64; cp.async.ca.shared.global [%0], [%1], 4, p; }" ::"r"(at(s + threadIdx.x)), "l"(__cvta_generic_to_global(data + threadIdx.x)), "r"(threadIdx.x) : "memory");
  data[threadIdx.x] = 1; WAIT_ALL(); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) race_copy_may_ignore_source(int* data, int* out, int n) {
  asm volatile("{ .reg .pred p; setp.lt.s32 p, %2, 64; cp.async.ca.shared.global [%0], [%1], 4, p; }" ::"r"(at(s + threadIdx.x)), "l"(__cvta_generic_to_global(data + threadIdx.x)), "r"(n) : "memory");
  data[threadIdx.x] = 1; WAIT_ALL(); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) ok_copy_cache_policy(const int* in, int* out, uint64_t policy) {
  asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2;" ::"r"(at(s + 4 * threadIdx.x)), "l"(__cvta_generic_to_global(in + 4 * threadIdx.x)), "l"(policy) : "memory");
  WAIT_ALL(); out[threadIdx.x] = s[4 * threadIdx.x]; }

// Other threads: a wait of the thread that copies, and then a barrier.
BLOCK(64) ok_copy_wait_barrier(const int* in, int* out) { copy4(s + threadIdx.x, in + threadIdx.x); COMMIT(); WAIT(0); __syncthreads(); out[threadIdx.x] = s[63 - threadIdx.x]; }
BLOCK(64) race_copy_no_barrier(const int* in, int* out) {
  copy4(s + threadIdx.x, in + threadIdx.x);
  COMMIT(); WAIT(0); out[threadIdx.x] = s[63 - threadIdx.x]; }
BLOCK(64) race_copy_barrier_wait(const int* in, int* out) {
  copy4(s + threadIdx.x, in + threadIdx.x);
  COMMIT(); __syncthreads(); WAIT(0); out[threadIdx.x] = s[63 - threadIdx.x]; }
BLOCK(64) race_copy_wait_of_another(const int* in, int* out) {
  copy4(s + threadIdx.x, in + threadIdx.x); COMMIT();
  if (threadIdx.x < 32) WAIT(0);
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x]; }
BLOCK(32) ok_copy_syncwarp(const int* in, int* out) { copy4(s + threadIdx.x, in + threadIdx.x); COMMIT(); WAIT(0); __syncwarp(); out[threadIdx.x] = s[31 - threadIdx.x]; }
BLOCK(32) race_copy_no_syncwarp(const int* in, int* out) {
  copy4(s + threadIdx.x, in + threadIdx.x);
  COMMIT(); WAIT(0); out[threadIdx.x] = s[31 - threadIdx.x]; }
BLOCK(64) race_copy_two_threads(const int* in, int* out) {
  copy4(s + threadIdx.x / 2, in + threadIdx.x); COMMIT(); WAIT(0); __syncthreads(); out[threadIdx.x] = s[threadIdx.x / 2]; }
BLOCK(64) race_copy_before_readers_are_through(const int* in, int* out) {
  s[threadIdx.x] = 1; __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x];
  copy4(s + threadIdx.x, in + threadIdx.x); WAIT_ALL(); }
BLOCK(64) ok_copy_after_readers_are_through(const int* in, int* out) {
  s[threadIdx.x] = 1; __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x]; __syncthreads();
  copy4(s + threadIdx.x, in + threadIdx.x); WAIT_ALL(); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(64) race_copy_flies_over_barriers(const int* in, int* out) {
  copy4(s + threadIdx.x, in + threadIdx.x); COMMIT();
  __syncthreads(); __syncthreads();
  out[threadIdx.x] = s[threadIdx.x]; WAIT(0); }
BLOCK(64) ok_copy_flies_over_barriers(const int* in, int* out) {
  copy4(s + threadIdx.x, in + threadIdx.x); COMMIT();
  __syncthreads(); s[64 + threadIdx.x] = 1; __syncthreads();
  WAIT(0); __syncthreads(); out[threadIdx.x] = s[63 - threadIdx.x] + s[127 - threadIdx.x]; }

// Rings of stages: wait, barrier, begin the copy after the next, use.
template <int kStages, int kPending, int kAhead>
__device__ __forceinline__ void ring(const int* in, int* out, int rounds) {
  for (int i = 0; i < kStages - 1; ++i) { copy4(s + i * 64 + threadIdx.x, in + i * 64 + threadIdx.x); COMMIT(); }
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    WAIT(kPending);
    __syncthreads();
    if (i + kAhead < rounds) copy4(s + (i + kAhead) % kStages * 64 + threadIdx.x, in + (i + kAhead) * 64 + threadIdx.x);
    COMMIT();
    sum += s[i % kStages * 64 + (63 - threadIdx.x)];
  }
  out[threadIdx.x] = sum; }
BLOCK(64) ok_ring(const int* in, int* out) { ring<4, 2, 3>(in, out, 9); }
BLOCK(64) race_ring_waits_for_one_less(const int* in, int* out) {
  ring<4, 3, 3>(in, out, 9); }
BLOCK(64) race_ring_one_stage_too_far(const int* in, int* out) {
  ring<4, 2, 4>(in, out, 9); }
BLOCK(64) race_ring_without_barrier(const int* in, int* out) {
  int sum = 0;
  for (int i = 0; i < 6; ++i) {
    copy4(s + i % 2 * 64 + threadIdx.x, in + i * 64 + threadIdx.x); COMMIT(); WAIT(0);
    __syncthreads();
    sum += s[i % 2 * 64 + (63 - threadIdx.x)]; if (i == 3) continue; __syncthreads(); }
  for (int i = 0; i < 2; ++i) { copy4(s + 64 * i + threadIdx.x, in); WAIT_ALL(); sum += s[64 * i + (63 - threadIdx.x)]; }
  out[threadIdx.x] = sum; }
// The number of rounds is a parameter: the first copy of a round is under way when the round before ends.
BLOCK(64) ok_rounds_unknown(const int* in, int* out, int rounds) {
  copy4(s + threadIdx.x, in + threadIdx.x); COMMIT();
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    WAIT(0); __syncthreads(); sum += s[63 - threadIdx.x]; __syncthreads();
    copy4(s + threadIdx.x, in + 64 * i + threadIdx.x); COMMIT(); }
  out[threadIdx.x] = sum; }
BLOCK(64) race_rounds_unknown(const int* in, int* out, int rounds) {
  copy4(s + threadIdx.x, in + threadIdx.x); COMMIT();
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    WAIT(0); __syncthreads(); sum += s[63 - threadIdx.x];
    copy4(s + threadIdx.x, in + 64 * i + threadIdx.x); COMMIT(); }
  out[threadIdx.x] = sum; }
BLOCK(32) ok_warp_rounds_unknown(const int* in, int* out, int rounds) {
  copy4(s + threadIdx.x, in + threadIdx.x); COMMIT();
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    WAIT(0); __syncwarp(); sum += s[31 - threadIdx.x]; __syncwarp();
    copy4(s + threadIdx.x, in + 32 * i + threadIdx.x); COMMIT(); }
  out[threadIdx.x] = sum; }
BLOCK(32) race_warp_rounds_unknown(const int* in, int* out, int rounds) {
  copy4(s + threadIdx.x, in + threadIdx.x); COMMIT();
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    __syncwarp(); sum += s[31 - threadIdx.x]; __syncwarp(); WAIT(0);
    copy4(s + threadIdx.x, in + 32 * i + threadIdx.x); COMMIT(); }
  out[threadIdx.x] = sum; }
BLOCK(32) unproved_never_waits(const int* in, int* out, int rounds) {
  for (int i = 0; i < rounds; ++i) { copy4(s + threadIdx.x + 32 * (i & 31), in + 32 * i + threadIdx.x); COMMIT(); }
  out[threadIdx.x] = 1; }

// Under conditions that are not known.
BLOCK(32) ok_copy_under_condition(const int* in, int* out, int n) {
  if (threadIdx.x < n) copy4(s + threadIdx.x, in + threadIdx.x); else s[threadIdx.x] = 0;
  COMMIT(); WAIT(0); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) ok_copy_and_wait_under_condition(const int* in, int* out, int n) {
  if (threadIdx.x < n) { copy4(s + threadIdx.x, in + threadIdx.x); COMMIT(); WAIT(0); } else { s[threadIdx.x] = 0; }
  out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) race_wait_under_condition(const int* in, int* out, int n) {
  copy4(s + threadIdx.x, in + threadIdx.x); COMMIT();
  if (threadIdx.x < n) WAIT(0);
  out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) race_commit_under_condition(const int* in, int* out, int n) {
  copy4(s + threadIdx.x, in + threadIdx.x);
  if (threadIdx.x < n) COMMIT();
  WAIT(0); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(32) ok_commit_on_both_sides(const int* in, int* out, int n) {
  copy4(s + threadIdx.x, in + threadIdx.x);
  if (threadIdx.x < n) { COMMIT(); WAIT(0); } else { WAIT_ALL(); }
  out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(64) ok_last_round_waits_for_all(const int* in, int* out, int n) {
  copy4(s + threadIdx.x, in + threadIdx.x); COMMIT();
  if (n > 0) { copy4(s + 64 + threadIdx.x, in + threadIdx.x); COMMIT(); WAIT(1); } else { WAIT(0); }
  __syncthreads(); out[threadIdx.x] = s[63 - threadIdx.x]; }

// Not modelled.
BLOCK(32) unsupported_copy_mbarrier(const int* in, int* out) {
  copy4(s + threadIdx.x, in + threadIdx.x); asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at(s)) : "memory"); out[threadIdx.x] = 1; }
BLOCK(32) bad_bulk_copy(const int* in, int* out) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];" ::"r"(at(s)), "l"(in), "r"(at(s + 64)) : "memory"); out[threadIdx.x] = 1; }
BLOCK(32) ok_bulk_wait(int* out) { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); out[threadIdx.x] = 1; }

// Products of 64 rows and 8 columns: words 0 to 511 hold A, 512 to 575 B, four words of components per row.
__device__ __forceinline__ void fill(int value) { for (int i = threadIdx.x; i < 576; i += blockDim.x) s[i] = value; }
__device__ __forceinline__ uint64_t matrix(const int* from) { return (uint64_t{at(from)} & 0x3ffff) >> 4 | uint64_t{8} << 16 | uint64_t{16} << 32; }
#define PUBLISH() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BEGIN() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define MULTIPLY() asm volatile("{ wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0, %1, %2, %3}, %4, %5, 1; }" : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "l"(matrix(s)), "l"(matrix(s + 512)))
#define COMMIT_PRODUCTS() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT_PRODUCTS(n) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory")
BLOCK(128) ok_product(int* out) {
  int d[4] = {}; fill(1); PUBLISH(); __syncthreads();
  BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); WAIT_PRODUCTS(0); out[threadIdx.x] = d[0]; }
BLOCK(128) race_product_no_fence(int* out) {
  int d[4] = {}; fill(1); __syncthreads();
  BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); WAIT_PRODUCTS(0); out[threadIdx.x] = d[0]; }
BLOCK(128) race_product_no_barrier(int* out) {
  int d[4] = {}; fill(1); PUBLISH();
  BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); WAIT_PRODUCTS(0); out[threadIdx.x] = d[0]; }
BLOCK(128) race_product_fence_too_early(int* out) {
  int d[4] = {}; PUBLISH(); fill(1); __syncthreads();
  BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); WAIT_PRODUCTS(0); out[threadIdx.x] = d[0]; }
BLOCK(128) ok_product_fence_of_readers(int* out) {
  int d[4] = {}; fill(1); __syncthreads(); PUBLISH();
  BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); WAIT_PRODUCTS(0); out[threadIdx.x] = d[0]; }
BLOCK(128) race_product_fence_of_global(int* out) {
  int d[4] = {}; fill(1); asm volatile("fence.proxy.async.global;" ::: "memory"); __syncthreads();
  BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); WAIT_PRODUCTS(0); out[threadIdx.x] = d[0]; }
BLOCK(128) ok_product_rewritten(int* out) {
  int d[4] = {}; fill(1); PUBLISH(); __syncthreads();
  BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); WAIT_PRODUCTS(0); __syncthreads(); fill(2); out[threadIdx.x] = d[0]; }
BLOCK(128) race_product_rewritten_in_flight(int* out) {
  int d[4] = {}; fill(1); PUBLISH(); __syncthreads();
  BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); __syncthreads(); s[threadIdx.x] = 2; WAIT_PRODUCTS(0); out[threadIdx.x] = d[0]; }
BLOCK(128) race_product_rewritten_without_barrier(int* out) {
  int d[4] = {}; fill(1); PUBLISH(); __syncthreads();
  BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); WAIT_PRODUCTS(0); s[threadIdx.x] = 2; out[threadIdx.x] = d[0]; }
BLOCK(128) race_product_waits_for_one_less(int* out) {
  int d[4] = {}; fill(1); PUBLISH(); __syncthreads();
  BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); WAIT_PRODUCTS(1); __syncthreads(); s[threadIdx.x] = 2; WAIT_PRODUCTS(0); out[threadIdx.x] = d[0]; }
BLOCK(128) undefined_product(int* out) {
  int d[4] = {}; for (int i = threadIdx.x; i < 512; i += 128) s[i] = 1;
  PUBLISH(); __syncthreads();
  BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); WAIT_PRODUCTS(0); out[threadIdx.x] = d[0]; }
BLOCK(128) ok_product_of_copies(const int* in, int* out) {
  int d[4] = {}; for (int i = threadIdx.x; i < 144; i += 128) copy16(s + 4 * i, in + 4 * i);
  COMMIT(); WAIT(0); PUBLISH(); __syncthreads();
  BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); WAIT_PRODUCTS(0); out[threadIdx.x] = d[0]; }
BLOCK(128) race_product_of_copies_no_fence(const int* in, int* out) {
  int d[4] = {}; for (int i = threadIdx.x; i < 144; i += 128) copy16(s + 4 * i, in + 4 * i);
  COMMIT(); WAIT(0); __syncthreads();
  BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); WAIT_PRODUCTS(0); out[threadIdx.x] = d[0]; }
BLOCK(128) race_product_of_copies_fence_before_wait(const int* in, int* out) {
  int d[4] = {}; for (int i = threadIdx.x; i < 144; i += 128) copy16(s + 4 * i, in + 4 * i);
  COMMIT(); PUBLISH(); WAIT(0); __syncthreads();
  BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); WAIT_PRODUCTS(0); out[threadIdx.x] = d[0]; }
BLOCK(128) race_copy_over_product(const int* in, int* out) {
  int d[4] = {}; fill(1); PUBLISH(); __syncthreads();
  BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); __syncthreads();
  copy4(s + threadIdx.x, in); WAIT_PRODUCTS(0); WAIT_ALL(); out[threadIdx.x] = d[0]; }
BLOCK(128) divergence_product_of_one_warp(int* out) {
  int d[4] = {}; fill(1); PUBLISH(); __syncthreads();
  if (threadIdx.x < 32) { BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); WAIT_PRODUCTS(0); }
  out[threadIdx.x] = d[0]; }
BLOCK(64) divergence_product_of_two_warps(int* out) {
  int d[4] = {}; fill(1); PUBLISH(); __syncthreads();
  BEGIN(); MULTIPLY(); COMMIT_PRODUCTS(); WAIT_PRODUCTS(0); out[threadIdx.x] = d[0]; }
BLOCK(128) unsupported_product_swizzled(int* out) {
  int d[4] = {}; fill(1); PUBLISH(); __syncthreads();
  asm volatile("{ wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0, %1, %2, %3}, %4, %5, 1; }" : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "l"(matrix(s) | 1ull << 62), "l"(matrix(s + 512)));
  COMMIT_PRODUCTS(); WAIT_PRODUCTS(0); out[threadIdx.x] = d[0]; }
