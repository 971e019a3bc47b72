// Blocks of a cluster, with one defect each or none; what is right may be more than can be proved. The name says the verdict, as in
// probes.cu. clusters.txt lists the verdicts with their lines.
#include <cooperative_groups.h>
#include <cuda/ptx>

namespace cg = cooperative_groups;
#define CLUSTER(threads, blocks) extern "C" __global__ void __launch_bounds__(threads) __cluster_dims__(blocks)
#define SYNC() cg::this_cluster().sync()
#define RANK() cg::this_cluster().block_rank()
#define OTHER(array) cg::this_cluster().map_shared_rank(array, RANK() ^ 1)

__shared__ int a[256], b[256];

__device__ unsigned at(const void* shared) { return static_cast<unsigned>(__cvta_generic_to_shared(shared)); }
__device__ unsigned at_other(const void* here, unsigned rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(here)), "r"(rank));
  return there; }

// Addresses.
CLUSTER(64, 2) ok_chosen_array(const int* in, int* out) {
  a[threadIdx.x] = 1; b[threadIdx.x] = 2;
  SYNC();
  int* const chosen = in[threadIdx.x] > 0 ? OTHER(a) : OTHER(b);
  const int value = chosen[threadIdx.x];
  SYNC();
  out[blockIdx.x * 64 + threadIdx.x] = value; }
CLUSTER(64, 2) unproved_chosen_array(const int* in, int* out) {
  a[threadIdx.x] = 1; b[threadIdx.x] = 2;
  SYNC();
  int* const chosen = in[threadIdx.x] > 0 ? OTHER(a) : OTHER(b);
  b[threadIdx.x] = 7;
  const int value = *(volatile int*)(chosen + threadIdx.x);
  SYNC();
  out[blockIdx.x * 64 + threadIdx.x] = value; }
CLUSTER(64, 2) bounds_window_of_the_block(int* out) {
  a[threadIdx.x] = 1;
  SYNC();
  int value;
  asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(value) : "r"(at_other(a + threadIdx.x, RANK() ^ 1)) : "memory");
  SYNC();
  out[blockIdx.x * 64 + threadIdx.x] = value; }
CLUSTER(64, 2) bounds_behind_the_other_block(int* out) {
  a[threadIdx.x] = b[threadIdx.x] = 1;
  SYNC();
  const int value = OTHER(a)[threadIdx.x + 512];
  SYNC();
  out[blockIdx.x * 64 + threadIdx.x] = value; }
CLUSTER(64, 2) unproved_index_of_the_data(const int* in, int* out) {
  a[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&a[in[threadIdx.x]], 1);
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = a[threadIdx.x]; }
CLUSTER(64, 4) ok_rank_of_the_data(const int* in, int* out) {
  a[threadIdx.x] = 0;
  SYNC();
  atomicAdd(cg::this_cluster().map_shared_rank(&a[threadIdx.x], in[blockIdx.x * 64 + threadIdx.x] & 3), 1);
  SYNC();
  out[blockIdx.x * 64 + threadIdx.x] = a[threadIdx.x]; }
CLUSTER(64, 4) unproved_rank_of_the_data(const int* in, int* out) {
  a[threadIdx.x] = 0;
  SYNC();
  atomicAdd(cg::this_cluster().map_shared_rank(&a[threadIdx.x], in[blockIdx.x * 64 + threadIdx.x] & 7), 1);
  SYNC();
  out[blockIdx.x * 64 + threadIdx.x] = a[threadIdx.x]; }
CLUSTER(64, 2) ok_rank_of_an_address(int* out) {
  unsigned rank;
  asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(rank) : "r"(at_other(a, 1)));
  if (rank == 0) a[0] = 1; }

// Barriers.
CLUSTER(80, 2) ok_odd_block(const int* in, int* out) {
  a[threadIdx.x] = in[threadIdx.x];
  asm volatile("bar.sync 3, 96;" ::: "memory");
  const int mine = a[79 - threadIdx.x];
  SYNC();
  const int value = mine + OTHER(a)[79 - threadIdx.x];
  SYNC();
  out[blockIdx.x * 80 + threadIdx.x] = value; }
CLUSTER(64, 2) ok_barrier_between(const int* in, int* out) {
  a[threadIdx.x] = in[threadIdx.x];
  cuda::ptx::barrier_cluster_arrive();
  b[threadIdx.x] = in[threadIdx.x + 64];
  __syncthreads();
  const int mine = b[63 - threadIdx.x];
  cuda::ptx::barrier_cluster_wait();
  out[blockIdx.x * 64 + threadIdx.x] = mine + OTHER(a)[threadIdx.x];
  SYNC(); }
CLUSTER(64, 2) race_block_has_left(const int* in, int* out) {
  a[threadIdx.x] = in[threadIdx.x];
  if (RANK() == 1) return;
  SYNC();
  out[threadIdx.x] = OTHER(a)[threadIdx.x]; }
CLUSTER(64, 2) ok_rounds(int* out, int rounds) {
  a[threadIdx.x] = 0;
  SYNC();
  for (int i = 0; i < rounds; ++i) {
    const int value = OTHER(a)[threadIdx.x];
    SYNC();
    a[threadIdx.x] = value + 1;
    SYNC();
  }
  out[blockIdx.x * 64 + threadIdx.x] = a[threadIdx.x]; }
CLUSTER(64, 2) race_rounds(int* out, int rounds) {
  a[threadIdx.x] = 0;
  SYNC();
  for (int i = 0; i < rounds; ++i) {
    const int value = OTHER(a)[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = value + 1;
    SYNC();
  }
  out[blockIdx.x * 64 + threadIdx.x] = a[threadIdx.x]; }
CLUSTER(64, 2) divergence_lanes_of_a_warp(int* out) {
  if (threadIdx.x % 2 == 0) asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  __syncwarp();
  if (threadIdx.x % 2 == 0) asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
  out[blockIdx.x * 64 + threadIdx.x] = 1; }

// Global memory.
CLUSTER(64, 2) ok_atomics_of_a_cluster(int* out) {
  if (threadIdx.x == 0) { int old; asm volatile("atom.relaxed.cluster.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(out) : "memory"); } }
CLUSTER(64, 1) race_cluster_scope(int* out) {
  if (threadIdx.x == 0) { int old; asm volatile("atom.relaxed.cluster.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(out) : "memory"); } }
CLUSTER(64, 2) unproved_raised(const int* in, int* out, int* raised) {
  if (threadIdx.x == 0 && RANK() == 0) { out[0] = in[0]; __threadfence(); atomicExch(raised, 1); }
  if (threadIdx.x == 0 && RANK() == 1 && atomicAdd(raised, 0) == 1) { __threadfence(); out[1] = out[0]; } }

// What is not modelled.
CLUSTER(64, 2) unsupported_wait(const int* in, int* out, int* raised) {
  if (threadIdx.x == 0 && RANK() == 0) { out[0] = in[0]; __threadfence(); atomicExch(raised, 1); }
  if (threadIdx.x == 0 && RANK() == 1) { while (atomicAdd(raised, 0) == 0) {} __threadfence(); out[1] = out[0]; } }
CLUSTER(64, 2) unsupported_mbarrier_of_another_block(int* out) {
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) cuda::ptx::mbarrier_init(&barrier, 1);
  SYNC();
  if (threadIdx.x == 0) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(at_other(&barrier, RANK() ^ 1)) : "memory");
  SYNC();
  out[blockIdx.x * 64 + threadIdx.x] = 1; }
CLUSTER(64, 2) unsupported_multicast(const int* in, int* out) {
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) cuda::ptx::mbarrier_init(&barrier, 1);
  SYNC();
  if (threadIdx.x == 0 && RANK() == 0)
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 128, [%2], 3;" ::"r"(at(a)), "l"(in), "r"(at(&barrier)) : "memory");
  SYNC();
  out[blockIdx.x * 64 + threadIdx.x] = a[0]; }
