// What WEFT (Sharma, Bauer, Aiken: Verification of producer-consumer synchronization in GPU programs, PLDI 2015) is told
// by, as kernels of our own: the four defects of its negative examples, and the thirteen things that its program fails on,
// numbered, each right and wrong where it can be both. weft.txt lists the verdicts with their lines.
#define BLOCK(n) extern "C" __global__ void __launch_bounds__(n)

__shared__ int s[1024];

// Its negative examples.
BLOCK(64) negative_all_arrive(int* out) { asm volatile("bar.arrive 1, 64;" ::: "memory"); out[threadIdx.x] = 1; }
BLOCK(64) negative_deadlock(int* out) {
  if (threadIdx.x < 32) { asm volatile("bar.sync 1, 64;" ::: "memory"); asm volatile("bar.arrive 2, 64;" ::: "memory"); }
  else { asm volatile("bar.sync 2, 64;" ::: "memory"); asm volatile("bar.arrive 1, 64;" ::: "memory"); }
  out[threadIdx.x] = 1; }
BLOCK(128) negative_different_counts(int* out) {
  if (threadIdx.x < 64) asm volatile("bar.sync 1, 128;" ::: "memory"); else asm volatile("bar.sync 1, 96;" ::: "memory");
  out[threadIdx.x] = 1; }
BLOCK(96) negative_unsafe_recycling(int* out) {
  if (threadIdx.x < 32) asm volatile("bar.arrive 1, 64;\n bar.arrive 1, 64;" ::: "memory");
  else asm volatile("bar.sync 1, 64;" ::: "memory");
  out[threadIdx.x] = 1; }

// 1. -lineinfo: this file has the lines and the inlined calls of its kernels.
__device__ int inner(int i) { return s[i ^ 32]; }
__device__ int outer(int i) { return inner(i); }
BLOCK(64) failure_1_line_info(int* out) { s[threadIdx.x] = 1; out[threadIdx.x] = outer(threadIdx.x); }
// 2. The size of the block, if the kernel does not state it.
extern "C" __global__ void failure_2_no_maxntid(int* out) { s[threadIdx.x] = 1; out[threadIdx.x] = s[threadIdx.x ^ 32]; }
// 3. Names without "_Z": those of extern "C", as all here, and others.
BLOCK(64) failure_3_plain_name_ok(int* out) { s[threadIdx.x] = 1; __syncthreads(); out[threadIdx.x] = s[threadIdx.x ^ 32]; }
__global__ void __launch_bounds__(64) failure_3_mangled(int* out) { s[threadIdx.x] = 1; out[threadIdx.x] = s[threadIdx.x ^ 32]; }
// 4. Races before the first barrier and behind the last one.
BLOCK(64) failure_4_no_barrier(int* out) { s[threadIdx.x] = 1; out[threadIdx.x] = s[63 - threadIdx.x]; }
BLOCK(64) failure_4_behind_the_last(int* out) {
  s[threadIdx.x] = 1; __syncthreads(); out[threadIdx.x] = s[threadIdx.x]; s[threadIdx.x ^ 32] = 2; }
// 5. The exit status of a race.
BLOCK(64) failure_5_exit_status(int* out) {
  s[threadIdx.x] = 1; __syncthreads(); s[threadIdx.x & 31] = threadIdx.x; __syncthreads(); out[threadIdx.x] = s[threadIdx.x]; }
// 6. A vector store as one address.
BLOCK(64) failure_6_vector_store(int* out) {
  if (threadIdx.x < 16) reinterpret_cast<int4*>(s)[threadIdx.x] = make_int4(1, 2, 3, 4);
  else s[4 * (threadIdx.x & 15) + 3] = 5;
  __syncthreads(); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(64) failure_6_vector_store_ok(int* out) {
  reinterpret_cast<int4*>(s)[threadIdx.x] = make_int4(1, 2, 3, 4); __syncthreads(); out[threadIdx.x] = s[4 * threadIdx.x + 3]; }
// 7. The spelling barrier.sync.
BLOCK(64) failure_7_spelling_ok(int* out) {
  s[threadIdx.x] = 1; asm volatile("barrier.sync 0;" ::: "memory"); out[threadIdx.x] = s[63 - threadIdx.x]; }
BLOCK(64) failure_7_spelling(int* out) {
  s[threadIdx.x] = 1;
  if (threadIdx.x < 32) asm volatile("barrier.sync 1, 64;" ::: "memory");
  out[threadIdx.x] = 1; }
// 8. __syncwarp.
BLOCK(32) failure_8_syncwarp_ok(int* out) { s[threadIdx.x] = 1; __syncwarp(); out[threadIdx.x] = s[31 - threadIdx.x]; }
BLOCK(64) failure_8_syncwarp(int* out) { s[threadIdx.x] = 1; __syncwarp(); out[threadIdx.x] = s[63 - threadIdx.x]; }
// 9. Shuffles.
BLOCK(32) failure_9_shuffle_ok(int* out) { out[threadIdx.x] = __shfl_xor_sync(~0u, out[threadIdx.x], 1); }
BLOCK(32) failure_9_shuffle(int* out) {
  s[threadIdx.x] = 1;
  const int v = __shfl_xor_sync(~0u, out[threadIdx.x], 1);
  out[threadIdx.x] = v + s[31 - threadIdx.x]; }
// 10. Barriers and stores under a predicate; branches that the data decide.
BLOCK(64) failure_10_predicated_barrier(int* out) {
  asm volatile("{.reg .pred p;\n setp.lt.u32 p, %0, 32;\n @p bar.sync 0;}" :: "r"(threadIdx.x) : "memory");
  out[threadIdx.x] = 1; }
BLOCK(64) failure_10_predicated_store(int* out) {
  s[threadIdx.x] = 1;
  __syncthreads();
  asm volatile("{.reg .pred p;\n setp.lt.u32 p, %0, 2;\n @p st.shared.u32 [%1], %0;}" ::
               "r"(threadIdx.x), "r"(static_cast<unsigned>(__cvta_generic_to_shared(s))) : "memory");
  out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(64) failure_10_predicated_store_ok(int* out) {
  s[threadIdx.x] = 1;
  __syncthreads();
  asm volatile("{.reg .pred p;\n setp.lt.u32 p, %0, 1;\n @p st.shared.u32 [%1], %0;}" ::
               "r"(threadIdx.x), "r"(static_cast<unsigned>(__cvta_generic_to_shared(s))) : "memory");
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(64) failure_10_data_branch(const int* in, int* out) {
  s[threadIdx.x] = 1;
  if (in[threadIdx.x] > 0) __syncthreads();
  out[threadIdx.x] = 1; }
BLOCK(64) failure_10_data_branch_ok(const int* in, int* out) {
  s[threadIdx.x] = 1;
  if (in[0] > 0) { __syncthreads(); out[threadIdx.x] = s[63 - threadIdx.x]; } }
// 11. Shared scalars, and atomics on shared memory.
BLOCK(64) failure_11_scalar(int* out) { __shared__ int last; last = threadIdx.x; __syncthreads(); out[threadIdx.x] = last; }
BLOCK(64) failure_11_atomic(int* out) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, 1);
  out[threadIdx.x] = total; }
BLOCK(64) failure_11_atomic_ok(int* out) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, 1);
  __syncthreads();
  out[threadIdx.x] = total; }
// 12. mbarrier, which all threads initialise here, and selp in inline assembly.
BLOCK(64) failure_12_mbarrier(int* out) {
  __shared__ unsigned long long barrier;
  asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(&barrier))) : "memory");
  out[threadIdx.x] = 1; }
BLOCK(64) failure_12_selp(int* out) {
  int i;
  asm("{.reg .pred p;\n setp.lt.u32 p, %1, 32;\n selp.b32 %0, 0, %1, p;}" : "=r"(i) : "r"(threadIdx.x));
  s[i] = threadIdx.x; __syncthreads(); out[threadIdx.x] = s[i]; }
BLOCK(64) failure_12_selp_ok(int* out) {
  int i;
  asm("{.reg .pred p;\n setp.lt.u32 p, %1, 32;\n selp.b32 %0, %1, %1, p;}" : "=r"(i) : "r"(threadIdx.x));
  s[i] = threadIdx.x; __syncthreads(); out[threadIdx.x] = s[63 - i]; }
// 13. not.b32 and neg.s32.
BLOCK(64) failure_13_not_ok(int* out) {
  int i;
  asm("not.b32 %0, %1;" : "=r"(i) : "r"(threadIdx.x));
  s[i + 64] = 1; __syncthreads(); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(64) failure_13_not(int* out) {
  int i;
  asm("not.b32 %0, %1;" : "=r"(i) : "r"(threadIdx.x));
  s[i + 64] = 1; out[threadIdx.x] = s[63 - threadIdx.x]; s[threadIdx.x] = 1; }
BLOCK(64) failure_13_neg_ok(int* out) {
  int i;
  asm("neg.s32 %0, %1;" : "=r"(i) : "r"(threadIdx.x));
  s[i + 63] = 1; __syncthreads(); out[threadIdx.x] = s[threadIdx.x]; }
BLOCK(64) failure_13_neg(int* out) {
  int i;
  asm("neg.s32 %0, %1;" : "=r"(i) : "r"(threadIdx.x));
  s[i + 63] = 1; out[threadIdx.x] = s[threadIdx.x]; }
