#include "gpu/kernels/batch_bounds.cuh"
#include "gpu/kernels/launch.cuh"
#include "gpu/primitives/warp/exact_dot.cuh"

namespace glove::gpu {
namespace {

constexpr int kAnswerThreads = 256;
constexpr int kTeamLanes = 8;  // lanes that multiply one row
// Rows of a list that can be ranked in the shared memory of every supported device.
constexpr int kMaxCandidates = 3072;

// Shared memory of answer_kernel.
struct AnswerMemory {
  union {
    uint32_t counts[kBins];
    uint32_t leaders[kMaxCandidates];  // the places of candidates that may be among the best
  };
  double similarities[kMaxCandidates];
  int32_t rows[kMaxCandidates];
  ThresholdScratch scratch;
  uint32_t candidates;
  uint32_t leader_count;
};

// Writes the rows of the list that its own best lower bounds do not rule out to memory.rows, as far as they
// fit, and returns their number.
__device__ uint32_t find_candidates(const BatchScanParams& scan, int64_t query, AnswerMemory& memory) {
  const uint32_t size = scan.list_sizes[query];
  if (size > scan.list_capacity) return kMaxCandidates + 1;
  if (threadIdx.x == 0) memory.candidates = 0;
  const uint16_t code = threshold_code(list_threshold(scan, query, memory.counts, memory.scratch));
  const ListedRow* const list = scan.lists + query * scan.list_capacity;
  for (uint32_t i = threadIdx.x; i < size; i += kAnswerThreads) {
    const ListedRow listed = list[i];
    if (listed.upper_code < code) continue;
    const uint32_t slot = atomicAdd(&memory.candidates, 1u);
    if (slot < kMaxCandidates) memory.rows[slot] = listed.row;
  }
  __syncthreads();
  return memory.candidates;
}

// Computes the similarities of the candidates.
__device__ void score_candidates(const BatchScanParams& scan, int64_t query, uint32_t count,
                                 AnswerMemory& memory) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float* const vector = scan.query_vectors + query * scan.part.dims;
  const double norm = scan.parameters[query].norm_squared;
  for (uint32_t base = 0; base < count; base += kAnswerThreads / kTeamLanes) {
    const uint32_t i = base + threadIdx.x / kTeamLanes;
    const float* const row =
        i < count ? scan.part.vectors + static_cast<int64_t>(memory.rows[i]) * scan.part.dims : nullptr;
    const double row_norm = i < count ? __ldg(scan.part.norms_squared + memory.rows[i]) : 0.0;
    const double dot = team_exact_dot(vector, row, scan.part.dims, lane);
    if (i < count && lane % kTeamLanes == 0) memory.similarities[i] = cosine_from_dots(dot, norm, row_norm);
  }
  __syncthreads();
}

// Finds the places of the candidates whose similarities are in the bin of the last of the best or in a higher
// one, and returns their number. Candidates are ranked by comparing pairs, which would take long for all of
// many.
__device__ uint32_t find_leaders(uint32_t count, uint32_t wanted, AnswerMemory& memory) {
  if (count <= kAnswerThreads) {
    if (threadIdx.x < count) memory.leaders[threadIdx.x] = threadIdx.x;
    __syncthreads();
    return count;
  }
  for (int i = static_cast<int>(threadIdx.x); i < kBins; i += kAnswerThreads) memory.counts[i] = 0;
  if (threadIdx.x == 0) memory.leader_count = 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < count; i += kAnswerThreads)
    atomicAdd(memory.counts + bin_of(static_cast<float>(memory.similarities[i])), 1u);
  __syncthreads();
  const float least = block_threshold(memory.counts, wanted, memory.scratch);
  for (uint32_t i = threadIdx.x; i < count; i += kAnswerThreads)
    if (static_cast<float>(memory.similarities[i]) >= least) {
      const uint32_t slot = atomicAdd(&memory.leader_count, 1u);
      if (slot < kMaxCandidates) memory.leaders[slot] = i;
    }
  __syncthreads();
  return min(memory.leader_count, static_cast<uint32_t>(kMaxCandidates));
}

// Writes the best candidates in order.
__device__ void write_best(const BatchScanParams& scan, int64_t query, uint32_t count, AnswerMemory& memory) {
  const auto wanted = static_cast<uint32_t>(scan.top_rows);
  int32_t* const ids = scan.answers.ids + query * scan.answer_capacity;
  double* const similarities = scan.answers.similarities + query * scan.answer_capacity;
  const uint32_t leaders = find_leaders(count, wanted, memory);
  for (uint32_t i = threadIdx.x; i < leaders; i += kAnswerThreads) {
    const double similarity = memory.similarities[memory.leaders[i]];
    const int32_t row = memory.rows[memory.leaders[i]];
    uint32_t better = 0;
    for (uint32_t j = 0; j < leaders && better < wanted; ++j) {
      const double other = memory.similarities[memory.leaders[j]];
      better += other > similarity || (other == similarity && memory.rows[memory.leaders[j]] < row);
    }
    if (better >= wanted) continue;
    // verify: lemma ranks-distinct
    ids[better] = row;
    // verify: lemma ranks-distinct
    similarities[better] = similarity;
  }
  if (threadIdx.x == 0) scan.answers.sizes[query] = static_cast<int32_t>(min(count, wanted));
}

// Writes the answer from a query's list. One block per query.
__global__ void __launch_bounds__(kAnswerThreads)
    answer_kernel(const __grid_constant__ BatchScanParams scan) {
  extern __shared__ __align__(128) std::byte shared[];
  auto& memory = *reinterpret_cast<AnswerMemory*>(shared);
  const int64_t query = blockIdx.x;
  const uint32_t candidates = find_candidates(scan, query, memory);
  const bool rank = scan.part.vectors != nullptr;
  if (candidates > kMaxCandidates || (!rank && candidates > scan.answer_capacity)) {
    if (threadIdx.x == 0) scan.answers.sizes[query] = kListOverflow;
    return;
  }
  if (rank) {
    score_candidates(scan, query, candidates, memory);
    write_best(scan, query, candidates, memory);
    return;
  }
  int32_t* const ids = scan.answers.ids + query * scan.answer_capacity;
  for (uint32_t i = threadIdx.x; i < candidates; i += kAnswerThreads) ids[i] = memory.rows[i];
  if (threadIdx.x == 0) scan.answers.sizes[query] = static_cast<int32_t>(candidates);
}

}  // namespace

cudaError_t launch_batch_answers(const BatchScanParams& scan, cudaStream_t stream) {
  static_assert(sizeof(AnswerMemory) <= 64512, "what compute capability 7.5 has");
  return launch(answer_kernel, {scan.queries, kAnswerThreads, sizeof(AnswerMemory), sizeof(AnswerMemory)},
                stream, scan);
}

}  // namespace glove::gpu
