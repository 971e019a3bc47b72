// Lists that the lanes of a warp append to together: one lane adds the number of votes to a counter, and each writes behind those
// that the lanes before it have asked for; in right forms and in broken ones.
// The names are as in probes.cu; all run in two blocks. votes.txt lists the verdicts.
#define BLOCK(n) extern "C" __global__ void __launch_bounds__(n)
#define ALL 0xffffffffu

__device__ unsigned below(int lane) { return (1u << lane) - 1; }

__device__ unsigned above() {
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_gt;" : "=r"(mask));
  return mask;
}

// Room for `wanted` elements, from which each lane gets the first one's place.
__device__ unsigned room(unsigned* count, unsigned votes, unsigned wanted, int leader) {
  unsigned first = 0;
  if ((threadIdx.x & 31) == leader) first = atomicAdd(count, wanted);
  return __shfl_sync(ALL, first, leader);
}

#define LANES                                             \
  const int i = blockIdx.x * 64 + threadIdx.x;            \
  const int lane = threadIdx.x & 31;                      \
  const bool keep = in[i] > 0;                            \
  const unsigned votes = __ballot_sync(ALL, keep);        \
  const int leader = __ffs(votes) - 1;                    \
  if (votes == 0) return;

BLOCK(64) ok_append(const int* in, int* out, unsigned* count) {
  LANES
  const unsigned place = room(count, votes, __popc(votes), leader) + __popc(votes & below(lane));
  if (keep) out[place] = i;
}
BLOCK(64) ok_append_by_last(const int* in, int* out, unsigned* count) {
  LANES
  const unsigned place = room(count, votes, __popc(votes), 31 - __clz(votes)) + __popc(votes & below(lane));
  if (keep) out[place] = i;
}
BLOCK(64) ok_append_behind_those_above(const int* in, int* out, unsigned* count) {
  LANES
  const unsigned place = room(count, votes, __popc(votes), leader) + __popc(votes & above());
  if ((votes >> lane & 1) != 0) out[place] = i;
}
BLOCK(64) ok_append_pairs(const int* in, int2* out, unsigned* count) {
  LANES
  const unsigned place = room(count, votes, 2 * __popc(votes), leader) + 2 * __popc(votes & below(lane));
  if (keep) out[place] = make_int2(i, 0), out[place + 1] = make_int2(0, i);
}
BLOCK(64) ok_append_in_a_loop(const int* in, int* out, unsigned* count, int n) {
  const int lane = threadIdx.x & 31;
#pragma unroll 1
  for (int base = blockIdx.x * 64 + threadIdx.x - lane; base < n; base += 128) {
    const bool keep = base + lane < n && in[base + lane] > 0;
    const unsigned votes = __ballot_sync(ALL, keep);
    if (votes == 0) continue;
    const unsigned place = room(count, votes, __popc(votes), __ffs(votes) - 1) + __popc(votes & below(lane));
    if (keep) out[place] = base;
  }
}
BLOCK(64) ok_append_two_lists(const int* in, int* out, int* rest, unsigned* counts) {
  LANES
  const unsigned place = room(counts, votes, __popc(votes), leader) + __popc(votes & below(lane));
  const unsigned others = __ballot_sync(ALL, !keep);
  if (keep) out[place] = i;
  if (others == 0) return;
  const unsigned behind = room(counts + 1, others, __popc(others), __ffs(others) - 1) + __popc(others & below(lane));
  if (!keep) rest[behind] = i;
}
// Only the voters come to the shuffle, which names them.
BLOCK(64) ok_append_in_branch(const int* in, int* out, unsigned* count) {
  const int i = blockIdx.x * 64 + threadIdx.x, lane = threadIdx.x & 31;
  const bool keep = in[i] > 0;
  const unsigned votes = __ballot_sync(ALL, keep);
  const int leader = __ffs(votes) - 1;
  if (keep) {
    unsigned first = 0;
    if (lane == leader) first = atomicAdd(count, __popc(votes));
    first = __shfl_sync(votes, first, leader);
    out[first + __popc(votes & below(lane))] = i;
  }
}
BLOCK(64) unproved_branch_without_some_voters(const int* in, int* out, unsigned* count) {
  const int i = blockIdx.x * 64 + threadIdx.x, lane = threadIdx.x & 31;
  const bool keep = in[i] > 0;
  const unsigned votes = __ballot_sync(ALL, keep);
  if (keep && in[i + 1] > 0) {
    unsigned first = 0;
    const int leader = __ffs(votes) - 1;
    if (lane == leader) first = atomicAdd(count, __popc(votes));
    first = __shfl_sync(votes, first, leader);
    out[first + __popc(votes & below(lane))] = i;
  }
}
// __clz is no voter's number: the shuffle may ask a lane that does not come.
BLOCK(64) unproved_branch_asks_no_voter(const int* in, int* out, unsigned* count) {
  const int i = blockIdx.x * 64 + threadIdx.x, lane = threadIdx.x & 31;
  const bool keep = in[i] > 0;
  const unsigned votes = __ballot_sync(ALL, keep);
  const int leader = __clz(votes);
  if (keep) {
    unsigned first = 0;
    if (lane == leader) first = atomicAdd(count, __popc(votes));
    first = __shfl_sync(votes, first, leader);
    out[first + __popc(votes & below(lane))] = i;
  }
}
BLOCK(64) unproved_mask_with_own_lane(const int* in, int* out, unsigned* count) {
  LANES
  const unsigned place = room(count, votes, __popc(votes), leader) + __popc(votes & (2u << lane) - 1);
  if (keep) out[place] = i;
}
BLOCK(64) race_mask_of_too_few(const int* in, int* out, unsigned* count) {
  LANES
  const unsigned place = room(count, votes, __popc(votes), leader) + __popc(votes & below(lane) >> 1);
  if (keep) out[place] = i;
}
BLOCK(64) unproved_no_voter_writes(const int* in, int* out, unsigned* count) {
  LANES
  const unsigned place = room(count, votes, __popc(votes), leader) + __popc(votes & below(lane));
  if (!keep) out[place] = i;
}
BLOCK(64) unproved_other_ballot(const int* in, int* out, unsigned* count) {
  LANES
  const unsigned others = __ballot_sync(ALL, in[i + 1] > 0);
  const unsigned place = room(count, votes, __popc(votes), leader) + __popc(others & below(lane));
  if (keep) out[place] = i;
}
BLOCK(64) unproved_count_of_other_ballot(const int* in, int* out, unsigned* count) {
  LANES
  const unsigned others = __ballot_sync(ALL, in[i + 1] > 0);
  const unsigned place = room(count, votes, __popc(others), leader) + __popc(votes & below(lane));
  if (keep) out[place] = i;
}
BLOCK(64) unproved_count_less_one(const int* in, int* out, unsigned* count) {
  LANES
  const unsigned place = room(count, votes, __popc(votes) - 1, leader) + __popc(votes & below(lane));
  if (keep) out[place] = i;
}
BLOCK(64) unproved_count_of_one(const int* in, int* out, unsigned* count) {
  LANES
  const unsigned place = room(count, votes, 1, leader) + __popc(votes & below(lane));
  if (keep) out[place] = i;
}
BLOCK(64) unproved_place_used_twice(const int* in, int* out, unsigned* count) {
  LANES
  const unsigned place = room(count, votes, __popc(votes), leader) + __popc(votes & below(lane));
  if (keep) out[place] = i, out[place + 1] = i;
}
BLOCK(64) unproved_shuffle_from_another(const int* in, int* out, unsigned* count) {
  LANES
  unsigned first = 0;
  if (lane == leader) first = atomicAdd(count, __popc(votes));
  first = __shfl_sync(ALL, first, leader ^ 1);
  if (keep) out[first + __popc(votes & below(lane))] = i;
}
// The last voter draws, and writes where the first one's place is.
BLOCK(64) unproved_leader_writes_too(const int* in, int* out, unsigned* count) {
  LANES
  const int last = 31 - __clz(votes);
  unsigned first = 0;
  if (lane == last) first = atomicAdd(count, __popc(votes)), out[first] = -1;
  first = __shfl_sync(ALL, first, last);
  if (keep) out[first + __popc(votes & below(lane))] = i;
}
// Two numbers of lanes may be the same one, and then so are the tickets.
BLOCK(64) unproved_ticket_handed_round_twice(const int* in, int* out, unsigned* count) {
  LANES
  const unsigned own = atomicAdd(count, 2 * __popc(votes));
  const unsigned first = __shfl_sync(ALL, own, leader), other = __shfl_sync(ALL, own, 31 - __clz(votes));
  if (keep) out[first + __popc(votes & below(lane))] = i, out[other + __popc(votes & below(lane))] = i;
}
BLOCK(64) divergence_ballot_in_branch(const int* in, int* out, unsigned* count) {
  const int i = blockIdx.x * 64 + threadIdx.x, lane = threadIdx.x & 31;
  if (in[i] > 0) {
    const unsigned votes = __ballot_sync(ALL, in[i] > 1);
    const unsigned place = room(count, votes, __popc(votes), __ffs(votes) - 1) + __popc(votes & below(lane));
    out[place] = i;
  }
}
// Without votes the leader is no lane, and the shuffle asks the last lane, which has drawn nothing.
BLOCK(64) unproved_no_votes(const int* in, int* out, unsigned* count) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  const unsigned votes = __ballot_sync(ALL, in[i] > 0);
  const unsigned place = room(count, votes, __popc(votes), __ffs(votes) - 1) + (threadIdx.x & 31);
  out[place] = i;
}

// One addition for the block: each warp's votes come behind those of the warps before it.
#define COUNTS                                            \
  __shared__ unsigned counts[2], first;                   \
  const int i = blockIdx.x * 64 + threadIdx.x;            \
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5; \
  const bool keep = in[i] > 0;                            \
  const unsigned votes = __ballot_sync(ALL, keep);        \
  if (lane == 0) counts[warp] = __popc(votes);

BLOCK(64) ok_append_block(const int* in, int* out, unsigned* count) {
  COUNTS
  __syncthreads();
  if (threadIdx.x == 0) first = atomicAdd(count, counts[0] + counts[1]);
  __syncthreads();
  const unsigned before = warp > 0 ? counts[0] : 0;
  if (keep) out[first + before + __popc(votes & below(lane))] = i;
}
BLOCK(64) race_block_forgets_other_warp(const int* in, int* out, unsigned* count) {
  COUNTS
  __syncthreads();
  if (threadIdx.x == 0) first = atomicAdd(count, counts[0] + counts[1]);
  __syncthreads();
  if (keep) out[first + __popc(votes & below(lane))] = i;
}
BLOCK(64) unproved_block_with_inclusive_sums(const int* in, int* out, unsigned* count) {
  COUNTS
  __syncthreads();
  if (threadIdx.x == 0) first = atomicAdd(count, counts[0] + counts[1]);
  __syncthreads();
  if (keep) out[first + counts[0] + (warp > 0 ? counts[1] : 0) + __popc(votes & below(lane))] = i;
}
BLOCK(64) unproved_block_counts_one_warp(const int* in, int* out, unsigned* count) {
  COUNTS
  __syncthreads();
  if (threadIdx.x == 0) first = atomicAdd(count, counts[0]);
  __syncthreads();
  const unsigned before = warp > 0 ? counts[0] : 0;
  if (keep) out[first + before + __popc(votes & below(lane))] = i;
}
BLOCK(64) race_block_without_barrier(const int* in, int* out, unsigned* count) {
  COUNTS
  if (threadIdx.x == 0) first = atomicAdd(count, counts[0] + counts[1]);
  __syncthreads();
  const unsigned before = warp > 0 ? counts[0] : 0;
  if (keep) out[first + before + __popc(votes & below(lane))] = i;
}
