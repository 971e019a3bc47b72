// Strong stores: of one size and in scope they do not race with each other, wherever the data lead them.
// The names are as in probes.cu; all run in two blocks. strong.txt lists the verdicts.
#include <cuda/atomic>

#define BLOCK(n) extern "C" __global__ void __launch_bounds__(n)
#define STRONG(p) (*(volatile unsigned*)(p))

template <class T = unsigned, cuda::thread_scope S = cuda::thread_scope_device>
using ref = cuda::atomic_ref<T, S>;
constexpr auto relaxed = cuda::memory_order_relaxed;
constexpr auto release = cuda::memory_order_release;
#define ME (blockIdx.x * blockDim.x + threadIdx.x)

// one store where the data say
BLOCK(256) ok_scatter(unsigned* o, const unsigned* to) { ref<>(o[to[ME]]).store(ME, relaxed); }
BLOCK(256) race_scatter(unsigned* o, const unsigned* to) { o[to[ME]] = ME; }
BLOCK(256) ok_scatter_releases(unsigned* o, const unsigned* to) { ref<>(o[to[ME]]).store(ME, release); }
BLOCK(256) ok_scatter_volatile(unsigned* o, const unsigned* to) { STRONG(o + to[ME]) = ME; }
BLOCK(256) ok_scatter_system(unsigned* o, const unsigned* to) {
  ref<unsigned, cuda::thread_scope_system>(o[to[ME]]).store(ME, relaxed); }
BLOCK(256) ok_scatter_assembly(unsigned* o, const unsigned* to) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(o + to[ME]), "r"(ME) : "memory"); }
BLOCK(256) race_scatter_assembly(unsigned* o, const unsigned* to) {
  asm volatile("st.weak.global.u32 [%0], %1;" ::"l"(o + to[ME]), "r"(ME) : "memory"); }
// with the scope of a block: enough inside of one, too little between two
BLOCK(256) ok_scatter_of_one_block(unsigned* o, const unsigned* to) {
  if (blockIdx.x == 0) ref<unsigned, cuda::thread_scope_block>(o[to[threadIdx.x]]).store(ME, relaxed); }
BLOCK(256) race_scatter_of_two_blocks(unsigned* o, const unsigned* to) {
  ref<unsigned, cuda::thread_scope_block>(o[to[threadIdx.x]]).store(ME, relaxed); }
BLOCK(256) race_scatter_of_narrow_and_wide(unsigned* o, const unsigned* to) {
  if (blockIdx.x == 0) ref<unsigned, cuda::thread_scope_block>(o[to[threadIdx.x]]).store(1, relaxed);
  else ref<>(o[to[threadIdx.x]]).store(2, relaxed); }
// sizes
BLOCK(256) ok_scatter_of_eight(unsigned long long* o, const unsigned* to) {
  ref<unsigned long long>(o[to[ME]]).store(ME, relaxed); }
BLOCK(256) race_scatter_of_four_and_eight(unsigned long long* o, const unsigned* to) {
  if (threadIdx.x % 2 == 0) ref<unsigned long long>(o[to[ME]]).store(ME, relaxed);
  else ref<>(*(unsigned*)(o + to[ME])).store(ME, relaxed); }
BLOCK(256) ok_scatter_of_two(unsigned short* o, const unsigned* to) {
  ref<unsigned short>(o[to[ME]]).store(1, relaxed); }
BLOCK(256) race_scatter_of_two_and_four(unsigned* o, const unsigned* to) {
  ref<>(o[to[ME]]).store(ME, relaxed);
  ref<unsigned short>(*(unsigned short*)(o + to[ME])).store(1, relaxed); }
BLOCK(256) race_scatter_of_pairs(uint2* o, const unsigned* to) { o[to[ME]] = {ME, 0}; }
// two stores, and a store with a load
BLOCK(256) ok_two_scatters(unsigned* o, const unsigned* to) {
  ref<>(o[to[ME]]).store(ME, relaxed);
  ref<>(o[to[ME] / 2]).store(0, relaxed); }
BLOCK(256) race_two_scatters(unsigned* o, const unsigned* to) {
  ref<>(o[to[ME]]).store(ME, relaxed);
  o[to[ME] / 2] = 0; }
BLOCK(256) ok_scatter_and_gather(unsigned* o, const unsigned* to, unsigned* sums) {
  ref<>(o[to[ME]]).store(ME, relaxed);
  sums[ME] = ref<>(o[to[ME] / 2]).load(relaxed); }
BLOCK(256) race_scatter_and_gather(unsigned* o, const unsigned* to, unsigned* sums) {
  ref<>(o[to[ME]]).store(ME, relaxed);
  sums[ME] = o[to[ME] / 2]; }
BLOCK(256) ok_scatter_and_addition(unsigned* o, const unsigned* to) {
  ref<>(o[to[ME]]).store(0, relaxed);
  atomicAdd(o + to[ME] / 2, 1); }
BLOCK(256) race_scatter_and_addition(unsigned* o, const unsigned* to) {
  o[to[ME]] = 0;
  atomicAdd(o + to[ME] / 2, 1); }
// in shared memory
BLOCK(256) ok_scatter_shared(const unsigned* to, unsigned* out) {
  __shared__ unsigned s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  ref<unsigned, cuda::thread_scope_block>(s[to[ME] % 256]).store(ME, relaxed);
  __syncthreads();
  out[ME] = s[threadIdx.x]; }
BLOCK(256) race_scatter_shared(const unsigned* to, unsigned* out) {
  __shared__ unsigned s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  s[to[ME] % 256] = ME;
  __syncthreads();
  out[ME] = s[threadIdx.x]; }
// marks in a frontier; a loop that reads them strongly passes for one that waits
BLOCK(256) ok_marks(const unsigned* row, const unsigned* to, unsigned* mark) {
  for (unsigned k = row[ME]; k < row[ME + 1]; ++k) ref<>(mark[to[k]]).store(1, relaxed); }
BLOCK(256) race_marks(const unsigned* row, const unsigned* to, unsigned* mark, const unsigned* level) {
  for (unsigned k = row[ME]; k < row[ME + 1]; ++k) mark[to[k]] = level[ME]; }
BLOCK(256) unproved_marks_once(const unsigned* row, const unsigned* to, unsigned* mark) {
  for (unsigned k = row[ME]; k < row[ME + 1]; ++k)
    if (ref<>(mark[to[k]]).load(relaxed) == 0) ref<>(mark[to[k]]).store(ME, relaxed); }
BLOCK(256) race_marks_once(const unsigned* row, const unsigned* to, unsigned* mark) {
  for (unsigned k = row[ME]; k < row[ME + 1]; ++k)
    if (mark[to[k]] == 0) ref<>(mark[to[k]]).store(ME, relaxed); }
// under a condition, which is no guard
BLOCK(256) ok_some_scatter(unsigned* o, const unsigned* to, const float* x) {
  if (x[ME] > 0) ref<>(o[to[ME]]).store(ME, relaxed); }
BLOCK(256) race_some_scatter(unsigned* o, const unsigned* to, const float* x) {
  if (x[ME] > 0) o[to[ME]] = ME; }
// vectors and packed numbers are as many accesses as they have elements
#define STORE_PAIR(p) asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %1};" ::"l"(p), "r"(ME) : "memory")
BLOCK(256) ok_pair_and_element(unsigned* o) {
  if (threadIdx.x % 2 == 0) STORE_PAIR(o); else ref<>(o[1]).store(ME, relaxed); }
BLOCK(256) race_pair_and_eight_bytes(unsigned long long* o) {
  if (threadIdx.x % 2 == 0) STORE_PAIR(o); else ref<unsigned long long>(o[0]).store(ME, relaxed); }
BLOCK(256) race_scattered_pairs_and_eight_bytes(unsigned long long* o, const unsigned* to) {
  if (blockIdx.x == 0) STORE_PAIR(o + to[ME]); else ref<unsigned long long>(o[to[ME]]).store(ME, relaxed); }
#define ADD_HALVES(p) asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" ::"l"(p), "r"(ME) : "memory")
BLOCK(256) ok_halves_and_half(unsigned short* o) {
  if (threadIdx.x % 2 == 0) ADD_HALVES(o);
  else asm volatile("red.relaxed.gpu.global.add.noftz.f16 [%0], %1;" ::"l"(o + 1), "h"((unsigned short)1) : "memory"); }
BLOCK(256) race_halves_and_word(unsigned* o) {
  if (threadIdx.x % 2 == 0) ADD_HALVES(o); else atomicAdd(o, 1u); }
