#include "gpu/backend/cuda_device.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/concat.h"
#include "gpu/analysis/cuda_analysis.h"
#include "gpu/device/cuda_error.h"
#include "gpu/device/cuda_memory.h"
#include "gpu/device/pool.h"
#include "gpu/kernels/packed_rows.h"
#include "gpu/kernels/score_all.h"
#include "gpu/layout/plan.h"
#include "gpu/search/batch_search.h"
#include "gpu/search/single_search.h"

namespace glove::gpu {
namespace {

// Every copy adds 2 us to the transfer time of its bytes, so blocks must be large. A whole ring should still
// fit in the cores' caches, so that copies find there what threads have just written.
constexpr int64_t kRingBlock = int64_t{8} << 20;
constexpr int kRingSlots = 4;
constexpr int64_t kRowsPerCopy = int64_t{1} << 22;  // rows whose dot products are returned at a time

class CudaRing : public CopyRing {
 public:
  // REQUIRES: the ring's device is the current one.
  Status create() {
    GLOVE_RETURN_IF_ERROR(cuda_status(cudaGetDevice(&device_), "asking for the device"));
    GLOVE_RETURN_IF_ERROR(stream_.create());
    GLOVE_RETURN_IF_ERROR(memory_.reserve(kRingSlots * kRingBlock));
    for (Event& event : copied_) GLOVE_RETURN_IF_ERROR(event.create(cudaEventDisableTiming));
    return {};
  }

  int slots() const override { return kRingSlots; }
  std::span<std::byte> block(int slot) override {
    return {memory_.data() + slot * kRingBlock, static_cast<size_t>(kRingBlock)};
  }

  Status copy(int slot, std::byte* device_address, int64_t bytes) override {
    const ScopedDevice current(device_);
    GLOVE_RETURN_IF_ERROR(stream_.upload(device_address, block(slot).data(), bytes));
    Status recorded = stream_.record(copied_[slot], "copying to the device");
    if (!recorded.ok()) static_cast<void>(stream_.wait("copying to the device"));
    return recorded;
  }

  Status wait(int slot) override {
    const ScopedDevice current(device_);
    return cuda_status(cudaEventSynchronize(copied_[slot].get()), "copying to the device");
  }

 private:
  int device_ = 0;
  Stream stream_;
  PinnedArray<std::byte> memory_;
  Event copied_[kRingSlots];
};

// The device resources that score_all needs.
struct ScoreSearch {
  Stream stream;
  Event events[2];
  DeviceArray<float> query;
  PinnedArray<float> query_staging;
  DeviceArray<double> dots;
  PinnedArray<double> dots_staging;

  Status create() {
    GLOVE_RETURN_IF_ERROR(stream.create());
    for (Event& event : events) GLOVE_RETURN_IF_ERROR(event.create(cudaEventDefault));
    return {};
  }
};

class CudaDevice : public Device {
 public:
  CudaDevice(int number, DeviceInfo info, const DeviceShape& shape)
      : number_(number), info_(std::move(info)), shape_(shape), owner_(getpid()) {}

  const DeviceInfo& info() const override { return info_; }
  Result<int64_t> free_bytes() override;
  Result<DeviceBlock> allocate(int64_t bytes) override;
  void deallocate(std::byte* data) override;
  Result<std::shared_ptr<CopyRing>> take_ring() override;
  Status propose(const DevicePart& part, std::span<SearchRequest> requests, int64_t top_rows,
                 const InterruptCheck& interrupted) override;
  Status pack_rows(const DevicePart& part, std::byte* rows) override;
  Status score_all(const DevicePart& part, const Query& query, std::span<double> dots,
                   const InterruptCheck& interrupted, ScanCost& cost) override;
  Result<std::unique_ptr<KMeansPass>> kmeans_pass(const DevicePart& part, const FixedSums& format,
                                                  int64_t count) override {
    return make_cuda_pass(number_, part, format, count, shape_);
  }

 private:
  Status propose_one(const DevicePart& part, SearchRequest& request, int64_t top_rows,
                     const InterruptCheck& interrupted);

  const int number_;
  const DeviceInfo info_;
  const DeviceShape shape_;
  const pid_t owner_;
  std::atomic<uint32_t> scans_{0};

  Pool<CudaRing> rings_;
  Pool<SingleSearch> single_searches_;
  Pool<BatchSearch> batch_searches_;
  Pool<ScoreSearch> score_searches_;
};

Result<int64_t> CudaDevice::free_bytes() {
  const ScopedDevice current(number_);
  size_t free = 0;
  size_t total = 0;
  GLOVE_RETURN_IF_ERROR(cuda_status(cudaMemGetInfo(&free, &total), "asking for free memory"));
  return static_cast<int64_t>(free);
}

Result<DeviceBlock> CudaDevice::allocate(int64_t bytes) {
  const ScopedDevice current(number_);
  void* data = nullptr;
  const cudaError_t error = cudaMalloc(&data, static_cast<size_t>(bytes));
  if (error == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    return make_error(ErrorCode::kOutOfMemory, info_.name, " could not give ", bytes, " bytes of its memory");
  }
  GLOVE_RETURN_IF_ERROR(cuda_status(error, "allocating device memory"));
  return DeviceBlock(this, static_cast<std::byte*>(data), bytes);
}

void CudaDevice::deallocate(std::byte* data) {
  if (getpid() != owner_) return;  // a forked child does not own the driver's state
  const ScopedDevice current(number_);
  static_cast<void>(cudaFree(data));
}

Result<std::shared_ptr<CopyRing>> CudaDevice::take_ring() {
  const ScopedDevice current(number_);
  GLOVE_ASSIGN_OR_RETURN(auto ring, rings_.take());
  const auto loan = std::make_shared<Pool<CudaRing>::Loan>(std::move(ring));
  return std::shared_ptr<CopyRing>(loan, loan->operator->());
}

Status CudaDevice::propose_one(const DevicePart& part, SearchRequest& request, int64_t top_rows,
                               const InterruptCheck& interrupted) {
  if (!single_scan_fits(part.dims, shape_))  // concerns this model only; the others continue here
    return {ErrorCode::kOutOfMemory, "a query of " + std::to_string(part.dims) +
                                         " dimensions does not fit the shared memory of " + info_.name};
  GLOVE_ASSIGN_OR_RETURN(auto search, single_searches_.take());
  // Every other scan starts where the previous one ended, because those rows are still in the cache.
  const bool reversed = (scans_.fetch_add(1, std::memory_order_relaxed) & 1u) != 0;
  const SinglePlan plan = plan_single(part, top_rows, info_.coarse_from);
  return search->run(part, shape_, plan, top_rows, reversed, interrupted, request);
}

Status CudaDevice::propose(const DevicePart& part, std::span<SearchRequest> requests, int64_t top_rows,
                           const InterruptCheck& interrupted) {
  const ScopedDevice current(number_);
  if (requests.size() == 1) return propose_one(part, requests.front(), top_rows, interrupted);
  std::vector<size_t> singly;
  const BatchPlan plan =
      plan_batch(part.rows, part.dims, static_cast<int64_t>(requests.size()), top_rows, part.rows_to_scan());
  if (plan.worthwhile) {
    GLOVE_ASSIGN_OR_RETURN(auto search, batch_searches_.take());
    GLOVE_RETURN_IF_ERROR(search->run(part, shape_, plan, requests, top_rows, interrupted, singly));
  } else {
    for (size_t i = 0; i < requests.size(); ++i) singly.push_back(i);
  }
  for (const size_t i : singly) {
    GLOVE_RETURN_IF_ERROR(propose_one(part, requests[i], top_rows, interrupted));
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
  }
  return {};
}

Status CudaDevice::pack_rows(const DevicePart& part, std::byte* rows) {
  const ScopedDevice current(number_);
  Stream stream;
  GLOVE_RETURN_IF_ERROR(stream.create());
  GLOVE_RETURN_IF_ERROR(cuda_status(launch_packed_rows(part, rows, stream.get()), "packing rows"));
  return stream.wait("packing rows");
}

Status CudaDevice::score_all(const DevicePart& part, const Query& query, std::span<double> dots,
                             const InterruptCheck& interrupted, ScanCost& cost) {
  const ScopedDevice current(number_);
  GLOVE_ASSIGN_OR_RETURN(auto search, score_searches_.take());
  const Stream& stream = search->stream;
  const int64_t step = std::min(kRowsPerCopy, part.rows);
  GLOVE_RETURN_IF_ERROR(search->query.reserve(part.dims));
  GLOVE_RETURN_IF_ERROR(search->query_staging.reserve(part.dims));
  GLOVE_RETURN_IF_ERROR(search->dots.reserve(step));
  GLOVE_RETURN_IF_ERROR(search->dots_staging.reserve(step));
  double* const on_device = search->dots.data();
  std::ranges::copy(query.vector, search->query_staging.data());
  GLOVE_RETURN_IF_ERROR(
      stream.upload(search->query.data(), search->query_staging.data(), part.dims, "copying the query"));
  for (int64_t first = 0; first < part.rows; first += step) {
    const int64_t rows = std::min(step, part.rows - first);
    GLOVE_RETURN_IF_ERROR(stream.record(search->events[0]));
    GLOVE_RETURN_IF_ERROR(
        cuda_status(launch_score_all(part.vectors + first * part.dims, search->query.data(), rows,
                                     static_cast<int32_t>(part.dims), on_device, stream.get()),
                    "launching a pass"));
    GLOVE_RETURN_IF_ERROR(
        stream.download(search->dots_staging.data(), on_device, rows, "copying similarities"));
    GLOVE_RETURN_IF_ERROR(stream.record(search->events[1]));
    GLOVE_RETURN_IF_ERROR(stream.wait("scoring every row"));
    float milliseconds = 0;
    if (cudaEventElapsedTime(&milliseconds, search->events[0].get(), search->events[1].get()) == cudaSuccess)
      cost.rescore_us += milliseconds * 1e3;
    std::copy_n(search->dots_staging.data(), rows, dots.begin() + first);
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
  }
  cost.rows_scanned += part.rows;
  cost.bytes_scanned += part.rows * part.dims * 4;
  return {};
}

// Returns the device's shape, or an error unless this build contains machine code, or code that the driver
// can compile, for the device.
Result<DeviceShape> shape_of(int number, const DeviceInfo& info) {
  DeviceShape shape;
  const cudaError_t error = device_shape(number, &shape);
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction) {
    static_cast<void>(cudaGetLastError());
    return make_error(ErrorCode::kUnavailable, "this build has no code for ", info.name,
                      " (compute capability ", info.compute_capability / 10, ".",
                      info.compute_capability % 10, ")");
  }
  GLOVE_RETURN_IF_ERROR(cuda_status(error, "preparing the scan"));
  return shape;
}

// Returns why there is no device, in words that say what to do.
Error no_device(cudaError_t error) {
  static_cast<void>(cudaGetLastError());
  if (error == cudaErrorInsufficientDriver) {
    int driver = 0;
    static_cast<void>(cudaDriverGetVersion(&driver));
    if (driver == 0) return {ErrorCode::kUnavailable, "there is no NVIDIA driver on this machine"};
    return make_error(ErrorCode::kUnavailable, "the NVIDIA driver supports CUDA ", driver / 1000, ".",
                      driver % 1000 / 10, ", and this build needs CUDA ", CUDART_VERSION / 1000,
                      "; install a newer driver");
  }
  if (error == cudaErrorNoDevice || error == cudaSuccess)
    return {ErrorCode::kUnavailable, "the NVIDIA driver shows no device (is CUDA_VISIBLE_DEVICES set?)"};
  return cuda_failure(error, "looking for a device");
}

}  // namespace

Result<int> count_cuda_devices() {
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted != cudaSuccess || count == 0) return no_device(counted);
  return count;
}

Result<std::unique_ptr<Device>> open_cuda_device(int number) {
  const ScopedDevice current(number);
  cudaDeviceProp properties;
  GLOVE_RETURN_IF_ERROR(cuda_status(cudaGetDeviceProperties(&properties, number), "asking for the device"));
  DeviceInfo info;
  info.name = properties.name;
  info.compute_capability = properties.major * 10 + properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.total_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  if (info.compute_capability < 75)
    return Error{ErrorCode::kUnavailable,
                 info.name + " is too old: compute capability 7.5 (Turing) or later is needed"};
  if (properties.cooperativeLaunch == 0)
    return Error{ErrorCode::kUnavailable, info.name + " cannot launch cooperative kernels"};
  GLOVE_ASSIGN_OR_RETURN(const DeviceShape shape, shape_of(number, info));
  return std::unique_ptr<Device>(std::make_unique<CudaDevice>(number, std::move(info), shape));
}

}  // namespace glove::gpu
