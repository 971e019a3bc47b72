#include "gpu/search/single_search.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/require.h"
#include "base/scope_exit.h"
#include "base/spin.h"
#include "base/timer.h"
#include "gpu/layout/query_codes.h"
#include "model/quantize.h"

namespace glove::gpu {
namespace {

constexpr int64_t kFirstCapacity = 8192;
constexpr int64_t kMostRanked = 4 * kRankedTo;  // candidates; equal rows can be far more than top_rows
constexpr double kUsBetweenChecks = 2000;       // for interrupts and lost devices

}  // namespace

Status SingleSearch::create() {
  GLOVE_RETURN_IF_ERROR(stream_.create());
  GLOVE_RETURN_IF_ERROR(counters_.reserve(2));
  GLOVE_RETURN_IF_ERROR(done_.reserve(1));
  std::memset(done_.data(), 0, sizeof(ScanDone));
  return stream_.fill(counters_.data(), 0, 2, "clearing counters");
}

Status SingleSearch::reserve(const DevicePart& part, const DeviceShape& shape, int64_t capacity) {
  GLOVE_RETURN_IF_ERROR(row_upper_.reserve(row_upper_bytes(part.dims, tile_count(part.rows), shape) / 2));
  if (capacity > capacity_) {
    capacity_ = 0;
    GLOVE_RETURN_IF_ERROR(similarities_.reserve(capacity));
    GLOVE_RETURN_IF_ERROR(ids_.reserve(capacity));
    GLOVE_RETURN_IF_ERROR(collected_similarities_.reserve(kMostRanked));
    GLOVE_RETURN_IF_ERROR(collected_ids_.reserve(kMostRanked));
    capacity_ = capacity;
    clear_answer(capacity_);
  }
  return {};
}

// Copies the query to the kernel's parameter or, if it is too long for that, to device memory.
Status SingleSearch::pack(const DevicePart& part, const Query& query, SingleScanParams& scan) {
  const QuantizedQuery quantized = quantize_for_device(part, query).codes;
  scan.bound = quantized.bound;
  scan.shift = quantized.shift;
  scan.norm_squared = query.norm_squared;
  scan.code_sum = quantized.code_sum;
  const int64_t bytes = query_bytes(part.dims);
  std::byte* to = scan.query;
  if (bytes > kInlineQueryBytes) {
    GLOVE_RETURN_IF_ERROR(long_query_.reserve(bytes));
    GLOVE_RETURN_IF_ERROR(long_query_staging_.reserve(bytes));
    to = long_query_staging_.data();
  }
  pack_planes(quantized.codes, reinterpret_cast<int8_t*>(to));
  std::memcpy(to + query_floats_offset(part.dims), query.vector.data(), static_cast<size_t>(part.dims) * 4);
  scan.long_query = nullptr;
  if (to == scan.query) return {};
  scan.long_query = long_query_.data();
  return stream_.upload(long_query_.data(), to, bytes, "copying the query");
}

// Restores the first `rows` places to what a launch expects.
void SingleSearch::clear_answer(int64_t rows) {
  std::fill_n(similarities_.data(), rows, kNothingYet);
  std::fill_n(ids_.data(), rows, kNoRow);
}

// Returns the number of rows that a launch that found `candidates` candidates writes to the answer.
int64_t SingleSearch::answer_rows(const SingleScanParams& scan, uint32_t candidates) {
  if (scan.answer.ranked_ids == nullptr) return std::min(candidates, scan.answer.capacity);
  return candidates > scan.answer.capacity ? 0 : std::min<int64_t>(candidates, scan.top_rows);
}

// True once the kernel has published the candidate count and every row of the answer. Resumes at
// `rows_seen_`.
bool SingleSearch::arrived(const SingleScanParams& scan) {
  ScanDone* const done = done_.data();
  const uint64_t candidates = std::atomic_ref<uint64_t>(done->candidates).load(std::memory_order_acquire);
  if (candidates >> 32 != scan.sequence ||
      std::atomic_ref<uint64_t>(done->times).load(std::memory_order_acquire) >> 32 != scan.sequence)
    return false;
  const int64_t rows = answer_rows(scan, static_cast<uint32_t>(candidates));
  for (; rows_seen_ < rows; ++rows_seen_) {
    if (std::atomic_ref<int32_t>(ids_.data()[rows_seen_]).load(std::memory_order_acquire) == kNoRow)
      return false;
    if (std::atomic_ref<double>(similarities_.data()[rows_seen_]).load(std::memory_order_acquire) ==
        kNothingYet)
      return false;
  }
  return true;
}

// Spins, because the answer arrives sooner than a sleeping thread wakes up.
Status SingleSearch::wait(const SingleScanParams& scan, const InterruptCheck& interrupted) {
  rows_seen_ = 0;
  Timer since_check;
  while (!arrived(scan)) {
    spin_pause();
    if (since_check.microseconds() < kUsBetweenChecks) continue;
    since_check.lap();
    const cudaError_t state = cudaStreamQuery(stream_.get());
    if (state != cudaSuccess && state != cudaErrorNotReady) return cuda_failure(state, "scanning");
    if (state == cudaSuccess) {  // everything has arrived
      if (done_.data()->candidates >> 32 == scan.sequence) return {};
      return {ErrorCode::kUnavailable, "CUDA: a scan ended without an answer"};
    }
    if (interrupted && interrupted()) {
      GLOVE_RETURN_IF_ERROR(stream_.wait("scanning"));
      return interrupted_error();
    }
  }
  return {};
}

Result<uint32_t> SingleSearch::launch(const DeviceShape& shape, int bits, SingleScanParams& scan, bool ranked,
                                      const InterruptCheck& interrupted) {
  scan.sequence = sequence_ + 1;
  scan.counters = counters_.data() + (scan.sequence & 1u);
  scan.next_counters = counters_.data() + ((scan.sequence & 1u) ^ 1u);
  scan.row_upper = row_upper_bytes(scan.part.dims, scan.tiles, shape) > 0 ? row_upper_.data() : nullptr;
  scan.answer.capacity = static_cast<uint32_t>(ranked ? std::min(capacity_, kMostRanked) : capacity_);
  scan.answer.similarities = ranked ? collected_similarities_.data() : similarities_.data();
  scan.answer.ids = ranked ? collected_ids_.data() : ids_.data();
  scan.answer.ranked_similarities = ranked ? similarities_.data() : nullptr;
  scan.answer.ranked_ids = ranked ? ids_.data() : nullptr;
  scan.done = done_.data();
  GLOVE_RETURN_IF_ERROR(
      cuda_status(launch_single_scan(bits, scan, shape, stream_.get()), "launching a scan"));
  ++sequence_;  // a failed launch has not cleared its counters
  if (Status status = wait(scan, interrupted); !status.ok()) {
    clear_answer(capacity_);
    return status.error();
  }
  return static_cast<uint32_t>(done_.data()->candidates);
}

// Copies the answer and restores what the next launch expects, even if there is no memory for the copy.
void SingleSearch::take_answer(int64_t rows, std::vector<Neighbor>& to) {
  const ScopeExit clearing([&] { clear_answer(rows); });
  to.clear();
  to.reserve(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i)
    to.push_back({ids_.data()[i], score_from_device(similarities_.data()[i])});
}

Status SingleSearch::run(const DevicePart& part, const DeviceShape& shape, const SinglePlan& plan,
                         int64_t top_rows, bool reversed, const InterruptCheck& interrupted,
                         SearchRequest& request) {
  GLOVE_REQUIRE(plan.bits == 8 ||
                (part.vectors != nullptr && part.coarse.codes != nullptr && part.packed_rows != nullptr));
  const Timer timer;
  GLOVE_RETURN_IF_ERROR(reserve(part, shape, std::max(kFirstCapacity, 4 * top_rows)));
  SingleScanParams scan;
  GLOVE_RETURN_IF_ERROR(pack(part, *request.query, scan));
  scan.part = part;
  scan.tiles = static_cast<int32_t>(tile_count(part.rows));
  scan.groups = static_cast<int32_t>(component_groups(part.dims));
  scan.top_rows = static_cast<int32_t>(top_rows);
  scan.count_every_row = plan.count_every_row ? 1 : 0;
  scan.reversed = reversed ? 1 : 0;
  GLOVE_ASSIGN_OR_RETURN(uint32_t count, launch(shape, plan.bits, scan, plan.ranked, interrupted));
  if (count > scan.answer.capacity) {  // never truncated: run again with room for all of them
    GLOVE_RETURN_IF_ERROR(reserve(part, shape, int64_t{count} + kFirstCapacity));
    GLOVE_ASSIGN_OR_RETURN(count,
                           launch(shape, plan.bits, scan, plan.ranked && count <= kMostRanked, interrupted));
  }
  take_answer(answer_rows(scan, count), request.rows);

  const uint64_t times = done_.data()->times;
  const double select_us = static_cast<double>(times >> 16 & 0xffff) * kTimeUnit * 1e-3;
  const double rescore_us = static_cast<double>(times & 0xffff) * kTimeUnit * 1e-3;
  const double wall_us = timer.microseconds();
  ScanCost& cost = request.cost;
  cost.select_us += select_us;
  cost.rescore_us += rescore_us;
  cost.scan_us += std::max(0.0, wall_us - select_us - rescore_us);  // including packing and launching
  cost.candidates += int64_t{count};
  cost.rows_scanned += part.admissible_rows();
  cost.bytes_scanned += plan.bytes;
  return {};
}

}  // namespace glove::gpu
