// Loops over the lanes that have voted: each round the warp works for one of them; in right forms, whose names begin with ok, in broken
// ones, and in right ones that are not proved, whose names begin with open. ballots.txt lists the verdicts.
#define BLOCK extern "C" __global__ void __launch_bounds__(64)
#define ALL 0xffffffffu
#define LANES                                          \
  const int i = blockIdx.x * 64 + threadIdx.x;         \
  const int lane = threadIdx.x & 31;                   \
  unsigned votes = __ballot_sync(ALL, in[i] > 0);
#define EACH _Pragma("unroll 1") while (votes != 0)
#define NEXT                          \
  const int who = __ffs(votes) - 1;   \
  votes &= votes - 1;

// A row of 32 numbers for each voter.
BLOCK ok_rows(const int* in, const int* from, int* out) {
  LANES
  EACH {
    NEXT
    const int row = __shfl_sync(ALL, i, who);
    out[row * 32 + lane] = from[row * 32 + lane];
  }
}
BLOCK rows_of_neighbours(const int* in, const int* from, int* out) {
  LANES
  EACH {
    NEXT
    const int row = __shfl_sync(ALL, i, who);
    out[row * 32 + lane] = from[row];
    out[row * 32 + (lane + 1) % 32] = from[row + 1];
  }
}
// The voter's number tells how many.
BLOCK open_lengths(const int* in, int* out) {
  LANES
  const int length = in[i];
  EACH {
    NEXT
    const int n = __shfl_sync(ALL, length, who), row = __shfl_sync(ALL, i, who);
    for (int k = lane; k < n && k < 256; k += 32) out[row * 256 + k] = k;
  }
}
BLOCK lengths_all_at_once(const int* in, int* out) {
  LANES
  const int length = in[i];
  EACH {
    NEXT
    const int n = __shfl_sync(ALL, length, who), row = __shfl_sync(ALL, i, who);
    for (int k = 0; k < n && k < 256; ++k) out[row * 256 + k] = lane;
  }
}
// A sum by shuffles, which one lane stores.
__device__ int sum(int x) {
  for (int by = 16; by > 0; by /= 2) x += __shfl_xor_sync(ALL, x, by);
  return x;
}
BLOCK ok_sums(const int* in, const int* from, int* out) {
  LANES
  EACH {
    NEXT
    const int row = __shfl_sync(ALL, i, who);
    const int total = sum(from[row * 32 + lane]);
    if (lane == 0) out[row] = total;
  }
}
BLOCK sums_by_all(const int* in, const int* from, int* out) {
  LANES
  EACH {
    NEXT
    const int row = __shfl_sync(ALL, i, who);
    out[row] = sum(from[row * 32 + lane]) + lane;
  }
}
// Through shared memory, which the warp shares round after round.
BLOCK ok_staged(const int* in, const int* from, int* out) {
  __shared__ int stage[64];
  LANES
  const int base = threadIdx.x - lane;
  EACH {
    NEXT
    const int row = __shfl_sync(ALL, i, who);
    stage[threadIdx.x] = from[row * 32 + lane];
    __syncwarp();
    out[row * 32 + lane] = stage[base + (lane ^ 1)];
    __syncwarp();
  }
}
BLOCK staged_without_second(const int* in, const int* from, int* out) {
  __shared__ int stage[64];
  LANES
  const int base = threadIdx.x - lane;
  EACH {
    NEXT
    const int row = __shfl_sync(ALL, i, who);
    stage[threadIdx.x] = from[row * 32 + lane];
    __syncwarp();
    out[row * 32 + lane] = stage[base + (lane ^ 1)];
  }
}
// The last voter first.
BLOCK open_last_first(const int* in, int* out) {
  LANES
  EACH {
    const int who = 31 - __clz(votes);
    votes &= ~(1u << who);
    out[__shfl_sync(ALL, i, who) * 32 + lane] = lane;
  }
}
BLOCK last_first_shifted(const int* in, int* out) {
  LANES
  EACH {
    const int who = 31 - __clz(votes);
    votes &= ~(1u << who);
    out[__shfl_sync(ALL, i, who) * 16 + lane] = lane;
  }
}
// A branch that the voter's number decides.
BLOCK ok_kinds(const int* in, int* out) {
  LANES
  const int kind = in[i];
  EACH {
    NEXT
    const int row = __shfl_sync(ALL, i, who);
    if (__shfl_sync(ALL, kind, who) > 5)
      out[row * 32 + lane] = __shfl_xor_sync(ALL, lane, 1);
    else
      out[row * 32 + lane] = 0;
  }
}
BLOCK kinds_of_lanes(const int* in, int* out) {
  LANES
  const int kind = in[i];
  EACH {
    NEXT
    const int row = __shfl_sync(ALL, i, who);
    if (kind > 5)
      out[row * 32 + lane] = __shfl_xor_sync(ALL, lane, 1);
    else
      out[row * 32 + lane] = 0;
  }
}
// A lane that leaves early is missed by the next shuffle.
BLOCK some_leave(const int* in, int* out) {
  LANES
  EACH {
    NEXT
    const int row = __shfl_sync(ALL, i, who);
    if (in[row * 32 + lane] == 7) break;
    out[row * 32 + lane] = 1;
  }
}
// Two rows in each round.
BLOCK ok_two_rows(const int* in, int* out) {
  LANES
  EACH {
    NEXT
    const int row = __shfl_sync(ALL, i, who);
    out[row * 64 + lane] = 1;
    out[row * 64 + 32 + lane] = 2;
  }
}
BLOCK two_rows_of_three(const int* in, int* out) {
  LANES
  EACH {
    NEXT
    const int row = __shfl_sync(ALL, i, who);
    out[row * 64 + lane] = 1;
    out[row * 64 + 31 + lane] = lane;
  }
}
// Threads behind the end of the list vote as well.
BLOCK ok_guarded(const int* in, int* out, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x, lane = threadIdx.x & 31;
  unsigned votes = __ballot_sync(ALL, i < n && in[i] > 0);
  EACH {
    NEXT
    out[__shfl_sync(ALL, i, who) * 32 + lane] = 1;
  }
}
BLOCK guarded_shuffle(const int* in, int* out, const int* also) {
  const int i = blockIdx.x * 64 + threadIdx.x, lane = threadIdx.x & 31;
  unsigned votes = __ballot_sync(ALL, in[i] > 0);
  if (also[i] > 0) {
    EACH {
      NEXT
      out[__shfl_sync(ALL, i, who) * 32 + lane] = 1;
    }
  }
}
// One number for all lanes, from the voter's memory.
BLOCK ok_handed(const int* in, const int* from, int* out) {
  LANES
  const int own = from[i];
  EACH {
    NEXT
    const int value = __shfl_sync(ALL, own, who), row = __shfl_sync(ALL, i, who);
    if (value > 3) out[row * 32 + lane] = value + __shfl_down_sync(ALL, own, 1);
  }
}
BLOCK handed_to_one_place(const int* in, const int* from, int* out) {
  LANES
  const int own = from[i];
  EACH {
    NEXT
    const int value = __shfl_sync(ALL, own, who), row = __shfl_sync(ALL, i, who);
    if (value > 3) out[row * 32] = own + __shfl_down_sync(ALL, own, 1);
  }
}
BLOCK ok_counted(const int* in, int* out) {
  LANES
  EACH {
    NEXT
    atomicAdd(out + __shfl_sync(ALL, i, who), lane);
  }
}
BLOCK counted_plainly(const int* in, int* out) {
  LANES
  EACH {
    NEXT
    out[__shfl_sync(ALL, i, who)] += lane;
  }
}
// Rounds are not ordered: a lane may be rounds ahead of another.
BLOCK rounds_meet(const int* in, int* out) {
  LANES
  EACH {
    NEXT
    const int row = __shfl_sync(ALL, i, who);
    out[row + lane] = lane;
  }
}
BLOCK round_of_the_end(const int* in, int* out) {
  LANES
  EACH {
    NEXT
    const int row = __shfl_sync(ALL, i, who);
    if (lane == 1) out[i - lane] = row;
  }
  if (lane == 0 && votes == 0) out[i] = 1;
}
