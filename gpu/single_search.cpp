#include "gpu/single_search.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "gpu/plan.h"
#include "gpu/query_codes.h"
#include "loader/quantize.h"

namespace glove::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kFirstCapacity = 8192;
constexpr auto kCheckEvery = std::chrono::milliseconds(2);  // for interrupts and lost devices

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

int64_t SingleSearch::bytes_read(const DeviceModel& model) {
  return code_bytes(model.words, model.dims) + tile_count(model.words) * kTileRows * 8;
}

Status SingleSearch::create() {
  GLOVE_RETURN_IF_ERROR(stream_.create());
  GLOVE_RETURN_IF_ERROR(counters_.reserve(2 * sizeof(ScanCounters)));
  GLOVE_RETURN_IF_ERROR(done_.reserve(sizeof(ScanDone)));
  std::memset(done_.data(), 0, sizeof(ScanDone));
  return cuda_status(cudaMemsetAsync(counters_.data(), 0, 2 * sizeof(ScanCounters), stream_.get()),
                     "clearing counters");
}

Status SingleSearch::reserve(const DeviceModel& model, int64_t capacity) {
  GLOVE_RETURN_IF_ERROR(tile_upper_.reserve(tile_count(model.words) * 4));
  if (capacity > capacity_) {
    capacity_ = 0;
    GLOVE_RETURN_IF_ERROR(answer_.reserve(capacity * 12));
    capacity_ = capacity;
  }
  return {};
}

// Puts the query into the kernel's parameter, or, if it is too long for that, into device memory.
Status SingleSearch::pack(const DeviceModel& model, const Query& query, SingleScan& scan) {
  const QuantizedQuery quantized = quantize_query(query, kTwoPlaneCode);
  scan.bound = bound_of(quantized);
  const int64_t bytes = query_bytes(model.dims);
  std::byte* to = scan.query;
  if (bytes > kInlineQueryBytes) {
    GLOVE_RETURN_IF_ERROR(long_query_.reserve(bytes));
    GLOVE_RETURN_IF_ERROR(long_query_staging_.reserve(bytes));
    to = long_query_staging_.data();
  }
  pack_planes(quantized.codes, reinterpret_cast<int8_t*>(to));
  std::memcpy(to + query_floats_offset(model.dims), query.vector.data(), static_cast<size_t>(model.dims) * 4);
  scan.long_query = nullptr;
  if (to == scan.query) return {};
  scan.long_query = long_query_.data();
  return cuda_status(cudaMemcpyAsync(long_query_.data(), to, static_cast<size_t>(bytes),
                                     cudaMemcpyHostToDevice, stream_.get()),
                     "copying the query");
}

// Spins: the answer comes sooner than a sleeping thread wakes up.
Status SingleSearch::wait(uint32_t sequence, const InterruptCheck& interrupted) {
  auto* done = done_.as<ScanDone>();
  const std::atomic_ref<uint32_t> arrived(done->sequence);
  auto check_at = Clock::now() + kCheckEvery;
  while (arrived.load(std::memory_order_acquire) != sequence) {
    pause_briefly();
    if (Clock::now() < check_at) continue;
    check_at = Clock::now() + kCheckEvery;
    const cudaError_t state = cudaStreamQuery(stream_.get());
    if (state != cudaSuccess && state != cudaErrorNotReady) return cuda_failure(state, "scanning");
    if (state == cudaSuccess && arrived.load(std::memory_order_acquire) != sequence)
      return {ErrorCode::kUnavailable, "CUDA: a scan ended without an answer"};
    if (interrupted && interrupted()) {
      GLOVE_RETURN_IF_ERROR(cuda_status(cudaStreamSynchronize(stream_.get()), "scanning"));
      return {ErrorCode::kInterrupted, "interrupted"};
    }
  }
  return {};
}

Status SingleSearch::launch(const DeviceModel& model, const ScanShape& shape, SingleScan& scan,
                            const InterruptCheck& interrupted) {
  scan.codes = model.codes;
  scan.scales = model.scales;
  scan.residuals = model.residuals;
  scan.vectors = model.vectors;
  scan.tiles = static_cast<int32_t>(tile_count(model.words));
  scan.groups = static_cast<int32_t>(component_groups(model.dims));
  scan.dims = static_cast<int32_t>(model.dims);
  scan.static_tiles = scan.tiles / 8 * 7;
  scan.sequence = ++sequence_;
  scan.counters = counters_.as<ScanCounters>() + (sequence_ & 1u);
  scan.next_counters = counters_.as<ScanCounters>() + ((sequence_ & 1u) ^ 1u);
  scan.tile_upper = tile_upper_.as<float>();
  scan.capacity = static_cast<uint32_t>(capacity_);
  scan.dots = answer_.as<double>();
  scan.ids = answer_.as<int32_t>(capacity_ * 8);
  scan.done = done_.as<ScanDone>();
  GLOVE_RETURN_IF_ERROR(cuda_status(launch_single_scan(scan, shape, stream_.get()), "launching a scan"));
  return wait(scan.sequence, interrupted);
}

Result<Candidates> SingleSearch::run(const DeviceModel& model, const ScanShape& shape, const Query& query,
                                     int64_t wanted, bool reversed, const InterruptCheck& interrupted,
                                     ScanCost& cost) {
  const auto start = Clock::now();
  GLOVE_RETURN_IF_ERROR(reserve(model, std::max(kFirstCapacity, 4 * wanted)));
  SingleScan scan;
  GLOVE_RETURN_IF_ERROR(pack(model, query, scan));
  scan.wanted = static_cast<int32_t>(wanted);
  scan.count_every_row = count_every_row(model.words, wanted) ? 1 : 0;
  scan.reversed = reversed ? 1 : 0;
  GLOVE_RETURN_IF_ERROR(launch(model, shape, scan, interrupted));
  const ScanDone done = *done_.as<ScanDone>();
  if (done.candidates > scan.capacity) {  // never cut: once more with room for all
    GLOVE_RETURN_IF_ERROR(reserve(model, int64_t{done.candidates} + kFirstCapacity));
    GLOVE_RETURN_IF_ERROR(launch(model, shape, scan, interrupted));
  }
  const auto count = static_cast<size_t>(done.candidates);
  Candidates result;
  result.ids.assign(scan.ids, scan.ids + count);
  if (model.vectors != nullptr) result.dots.assign(scan.dots, scan.dots + count);

  const double select_us = static_cast<double>(done.select_ns) * 1e-3;
  const double rescore_us = static_cast<double>(done.rescore_ns) * 1e-3;
  const double wall_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  cost.select_us += select_us;
  cost.rescore_us += rescore_us;
  cost.scan_us += std::max(0.0, wall_us - select_us - rescore_us);  // packing and launching included
  cost.candidates += static_cast<int64_t>(count);
  cost.rows_scanned += model.words;
  cost.bytes_scanned += bytes_read(model);
  return result;
}

}  // namespace glove::cuda
