// Blocks of a cluster: its barrier, and the shared memory of each other.
#include <cooperative_groups.h>
#include <cuda/ptx>

#include "twins.h"

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
#define CLUSTER(...) __cluster_dims__(__VA_ARGS__)

// The address of an array in the shared memory of another block.
__device__ unsigned mapped(const void* here, unsigned rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(here)), "r"(rank));
  return there;
}

__device__ int load(unsigned address) {
  int value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

__device__ void store(unsigned address, int value) {
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

// --block 128 --grid 4
KERNEL CLUSTER(2) ring_exchange(const int* in, int* out) {
  __shared__ int s[128];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned at = blockIdx.x * 128 + threadIdx.x;
  s[threadIdx.x] = in[at];
  EITHER(cluster.sync(), __syncthreads());
  const int* next = cluster.map_shared_rank(s, (cluster.block_rank() + 1) % cluster.num_blocks());
  out[at] = next[127 - threadIdx.x];
  cluster.sync();
}

// --block 128 --grid 4
KERNEL CLUSTER(2) leaves_too_early(const int* in, int* out) {
  __shared__ int s[128];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned at = blockIdx.x * 128 + threadIdx.x;
  s[threadIdx.x] = in[at];
  cluster.sync();
  out[at] = cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[127 - threadIdx.x];
  RIGHT(cluster.sync();)
}

// launch: block = 128; grid = 4; cluster = 2; dynamic_shared = 512; parameters = [{ index = 2, s32 = 256 }, { index = 3, s32 = 128 }]
KERNEL histogram(const int* in, int* out, int bins, int per_block) {
  extern __shared__ int counts[];
  cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < per_block; i += blockDim.x) counts[i] = 0;
  EITHER(cluster.sync(), __syncthreads());
  const int bin = min(max(in[blockIdx.x * blockDim.x + threadIdx.x], 0), bins - 1);
  atomicAdd(cluster.map_shared_rank(counts, bin / per_block) + bin % per_block, 1);
  cluster.sync();
  for (int i = threadIdx.x; i < per_block; i += blockDim.x)
    atomicAdd(&out[cluster.block_rank() * per_block + i], counts[i]);
}

// launch: block = 128; grid = 4; cluster = 2; dynamic_shared = 512; parameters = [{ index = 2, s32 = 256 }, { index = 3, s32 = 128 }]
KERNEL histogram_read_too_early(const int* in, int* out, int bins, int per_block) {
  extern __shared__ int counts[];
  cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < per_block; i += blockDim.x) counts[i] = 0;
  cluster.sync();
  const int bin = min(max(in[blockIdx.x * blockDim.x + threadIdx.x], 0), bins - 1);
  atomicAdd(cluster.map_shared_rank(counts, bin / per_block) + bin % per_block, 1);
  RIGHT(cluster.sync();)
  for (int i = threadIdx.x; i < per_block; i += blockDim.x)
    atomicAdd(&out[cluster.block_rank() * per_block + i], counts[i]);
  WRONGLY(cluster.sync();)
}

// --block 64 --grid 8
KERNEL CLUSTER(4) reduction(const int* in, int* out) {
  __shared__ int part[64];
  __shared__ int sums[4];
  const cg::cluster_group cluster = cg::this_cluster();
  part[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  cluster.sync();
  if (threadIdx.x == 0) *cluster.map_shared_rank(&sums[EITHER(cluster.block_rank(), 0)], 0) = part[0];
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0)
    out[blockIdx.x / 4] = EITHER(sums[0] + sums[1] + sums[2] + sums[3], sums[0]);
}

// --block 64 --grid 4
KERNEL CLUSTER(4) result_of_the_first_block(const int* in, int* out) {
  __shared__ int sum;
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) sum = 0;
  cluster.sync();
  atomicAdd(cluster.map_shared_rank(&sum, 0), in[blockIdx.x * 64 + threadIdx.x]);
  cluster.sync();
  if (threadIdx.x == 0 && cluster.block_rank() == EITHER(0, 1))
    out[0] = *cluster.map_shared_rank(&sum, 0);
}

// --block 128 --grid 2
KERNEL CLUSTER(2) relaxed_arrival(const int* in, int* out) {
  __shared__ int s[128];
  const unsigned rank = cg::this_cluster().block_rank();
  cg::this_cluster().sync();
  store(mapped(&s[threadIdx.x], rank ^ 1), in[blockIdx.x * 128 + threadIdx.x]);
  RIGHT(asm volatile("fence.acq_rel.cluster;" ::: "memory");)
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  out[blockIdx.x * 128 + threadIdx.x] = s[127 - threadIdx.x];
}

// --block 128 --grid 2
KERNEL CLUSTER(2) fence_of_the_block(const int* in, int* out) {
  __shared__ int s[128];
  const unsigned rank = cg::this_cluster().block_rank();
  cg::this_cluster().sync();
  store(mapped(&s[threadIdx.x], rank ^ 1), in[blockIdx.x * 128 + threadIdx.x]);
  EITHER(asm volatile("fence.acq_rel.cluster;" ::: "memory"), asm volatile("fence.acq_rel.cta;" ::: "memory"));
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  out[blockIdx.x * 128 + threadIdx.x] = s[127 - threadIdx.x];
}

// --block 128 --grid 2
KERNEL CLUSTER(2) missing_wait(const int* in, int* out) {
  __shared__ int s[128];
  const unsigned rank = cg::this_cluster().block_rank();
  s[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  RIGHT(asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");)
  out[blockIdx.x * 128 + threadIdx.x] = load(mapped(&s[threadIdx.x], rank ^ 1));
  WRONGLY(asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");)
  cg::this_cluster().sync();
}

// --block 128 --grid 2
KERNEL CLUSTER(2) arrives_twice(const int* in, int* out) {
  __shared__ int s[128];
  const unsigned rank = cg::this_cluster().block_rank();
  s[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  ptx::barrier_cluster_arrive();
  RIGHT(ptx::barrier_cluster_wait();)
  const int mine = s[127 - threadIdx.x] * 2;
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  out[blockIdx.x * 128 + threadIdx.x] = mine;
}

// --block 128 --grid 2
KERNEL CLUSTER(2) work_between_arrival_and_wait(const int* in, int* out) {
  __shared__ int mine[128], theirs[128];
  const unsigned rank = cg::this_cluster().block_rank(), i = threadIdx.x;
  mine[i] = in[blockIdx.x * 128 + i];
  EITHER(, theirs[i] = 0;)
  ptx::barrier_cluster_arrive();
  EITHER(theirs[i] = mine[i] * 2, theirs[i] = 1);
  ptx::barrier_cluster_wait();
  int sum = load(mapped(EITHER(&mine[i], &theirs[i]), rank ^ 1));
  out[blockIdx.x * 128 + i] = sum + theirs[i];
  cg::this_cluster().sync();
}

// --block 128 --grid 4
KERNEL CLUSTER(4) rank_inside_the_cluster(const int* in, int* out) {
  __shared__ int s[128];
  const unsigned rank = cg::this_cluster().block_rank();
  s[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  cg::this_cluster().sync();
  out[blockIdx.x * 128 + threadIdx.x] = load(mapped(&s[threadIdx.x], EITHER((rank + 1) % 4, rank + 1)));
  cg::this_cluster().sync();
}

// --block 128 --grid 2
KERNEL CLUSTER(2) one_block_arrives(const int* in, int* out) {
  __shared__ int s[128];
  const unsigned rank = cg::this_cluster().block_rank();
  s[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  cg::this_cluster().sync();
  if (rank == 0) out[threadIdx.x] = load(mapped(&s[threadIdx.x], 1));
  WRONGLY(if (rank == 0))
  cg::this_cluster().sync();
}

// --block 64 --grid 2
KERNEL CLUSTER(2) half_of_a_block_waits(const int* in, int* out) {
  __shared__ int s[64];
  const unsigned rank = cg::this_cluster().block_rank();
  s[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  if (EITHER(true, threadIdx.x < 32 || rank == 0)) cg::this_cluster().sync();
  EITHER(, __syncthreads();)
  if (rank == 0) out[threadIdx.x] = load(mapped(&s[threadIdx.x], 1));
  if (EITHER(true, threadIdx.x < 32)) cg::this_cluster().sync();
  EITHER(, __syncthreads();)
}

// --block 128 --grid 2
KERNEL CLUSTER(2) undefined_in_the_other_block(const int* in, int* out) {
  __shared__ int s[128];
  const unsigned rank = cg::this_cluster().block_rank();
  if (EITHER(true, rank == 0)) s[threadIdx.x] = in[threadIdx.x];
  cg::this_cluster().sync();
  if (rank == 0) out[threadIdx.x] = load(mapped(&s[threadIdx.x], 1));
  cg::this_cluster().sync();
}

// --block 128 --grid 2
KERNEL CLUSTER(2) written_by_both_blocks(const int* in, int* out) {
  __shared__ int s[256];
  const unsigned rank = cg::this_cluster().block_rank();
  cg::this_cluster().sync();
  store(mapped(&s[threadIdx.x + EITHER(128 * rank, 64 * rank)], 0), in[blockIdx.x * 128 + threadIdx.x]);
  cg::this_cluster().sync();
  if (rank == 0) out[threadIdx.x] = EITHER(s[threadIdx.x] + s[threadIdx.x + 128], s[threadIdx.x]);
}

// --block 128 --grid 2
KERNEL CLUSTER(2) rounds_of_a_ring(const int* in, int* out, int rounds) {
  __shared__ int s[2][128];
  const unsigned rank = cg::this_cluster().block_rank(), i = threadIdx.x;
  s[0][i] = in[blockIdx.x * 128 + i];
  cg::this_cluster().sync();
  for (int round = 0; round < rounds; ++round) {
    const int from = round & 1, to = EITHER(from ^ 1, from);
    store(mapped(&s[to][i], rank ^ 1), s[from][i] + 1);
    cg::this_cluster().sync();
  }
  out[blockIdx.x * 128 + i] = s[0][i];
}

// --block 64 --grid 4,2
KERNEL CLUSTER(2, 2) between_clusters(const int* in, int* out) {
  __shared__ int s[64];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned block = blockIdx.x + 4 * blockIdx.y;
  s[threadIdx.x] = in[block * 64 + threadIdx.x];
  cluster.sync();
  const int sum = *cluster.map_shared_rank(&s[threadIdx.x], 3 - cluster.block_rank());
  cluster.sync();
  out[EITHER(block, cluster.block_rank()) * 64 + threadIdx.x] = sum;
}

// --block 64 --grid 2
KERNEL CLUSTER(2) global_memory_of_a_cluster(const int* in, int* out) {
  const unsigned at = blockIdx.x * 64 + threadIdx.x;
  out[at] = in[at];
  EITHER(cg::this_cluster().sync(), __syncthreads());
  out[128 + at] = out[at ^ 64];
}
