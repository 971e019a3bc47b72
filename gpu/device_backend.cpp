#include "gpu/device_backend.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <set>

#include "base/cores.h"
#include "base/fork_safe_mutex.h"
#include "base/thread_pool.h"
#include "base/timer.h"
#include "base/turnstile.h"
#include "gpu/part_search.h"
#include "gpu/residency.h"
#include "model/exact_dot.h"
#include "search/candidates.h"

namespace glove::gpu {
namespace {

// The device, which the backend and its searchers share.
class SharedDevice {
 public:
  SharedDevice(DeviceFactory open_device, MemoryLimit memory_limit)
      : open_device_(std::move(open_device)), memory_limit_(std::move(memory_limit)) {}

  // A forked child has its parent's addresses but not its driver, so it must not call CUDA.
  bool in_forked_child() const { return owner_ != 0 && owner_ != getpid(); }

  // Opens the device at the first call. Takes no lock afterwards.
  Status available();

  // Copies what a scan needs of the model to the device. One upload runs at a time, so that two do not count
  // on the same free bytes. `interrupted` may run the host's code, which may call back into this class.
  Result<std::shared_ptr<ResidentModel>> upload(const ModelPtr& model, const InterruptCheck& interrupted);

  // Frees the model, or, in a forked child, leaves it alone. The limit stops counting it before it is freed.
  void drop(std::shared_ptr<ResidentModel> resident);

  // Remembers the error if it means that the device is lost.
  void note_error(const Error& error);

  // REQUIRES: available() has returned ok.
  Device& device() { return *device_; }

  // Takes no lock: reads what works_ and failed_ have published.
  SearcherInfo info(const ResidentModel* resident) const;

 private:
  Status open();
  void fail(const Error& error);
  Result<int64_t> budget(const Model& model);

  const DeviceFactory open_device_;
  const MemoryLimit memory_limit_;
  std::atomic<pid_t> owner_{0};      // the process that opened the device, or is about to
  std::atomic<bool> works_{false};   // device_ is set, and not lost
  std::atomic<bool> failed_{false};  // unavailable_ is set; it and device_ stay as they are
  Turnstile uploads_;
  std::mutex open_mutex_;           // held while the device is opened
  ForkSafeMutex mutex_;             // guards everything below; never held while the device or the host works
  std::unique_ptr<Device> device_;  // set once
  std::optional<Error> unavailable_;
  std::set<const ResidentModel*> resident_;  // all that are alive
};

Status SharedDevice::available() {
  if (in_forked_child())
    return {ErrorCode::kUnavailable,
            "CUDA was started before this process was forked and does not work in the child"};
  if (works_.load(std::memory_order_acquire)) return {};
  return failed_.load(std::memory_order_acquire) ? Status(*unavailable_) : open();
}

// The driver may be slow, but only the first caller and concurrent ones wait for it.
Status SharedDevice::open() {
  owner_ = getpid();  // before open_mutex_ is locked, so that a child forked from now on does not wait for it
  const std::lock_guard opening(open_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (unavailable_) return *unavailable_;
    if (device_) return {};
  }
  auto device = open_device_();
  const std::lock_guard lock(mutex_);
  if (!device.ok()) {
    fail(device.error());
    return device.error();
  }
  device_ = std::move(device).value();
  works_.store(true, std::memory_order_release);
  return {};
}

void SharedDevice::note_error(const Error& error) {
  if (error.code != ErrorCode::kUnavailable) return;
  const std::lock_guard lock(mutex_);
  fail(error);
}

// REQUIRES: mutex_ is held.
void SharedDevice::fail(const Error& error) {
  if (!unavailable_) unavailable_ = error;
  failed_.store(true, std::memory_order_release);
  works_.store(false, std::memory_order_release);
}

// Returns the bytes that an upload of this model may use now.
Result<int64_t> SharedDevice::budget(const Model& model) {
  GLOVE_ASSIGN_OR_RETURN(const int64_t limit, memory_limit_());
  GLOVE_ASSIGN_OR_RETURN(const int64_t free, device_->free_bytes());
  int64_t allowed = std::max<int64_t>(0, free - scratch_reserve(model.words()));
  if (limit > 0) {
    int64_t used = 0;
    const std::lock_guard lock(mutex_);
    for (const ResidentModel* const resident : resident_) used += resident->device_bytes();
    allowed = std::min(allowed, limit - used);
  }
  return allowed;
}

Result<std::shared_ptr<ResidentModel>> SharedDevice::upload(const ModelPtr& model,
                                                            const InterruptCheck& interrupted) {
  GLOVE_RETURN_IF_ERROR(available());
  switch (uploads_.enter(interrupted)) {
    case Turnstile::Entry::kInterrupted:
      return interrupted_error();
    case Turnstile::Entry::kAlreadyInside:
      return Error{
          ErrorCode::kInvalidArgument,
          "this thread is uploading a model to the device, and cannot search on it until that has ended"};
    case Turnstile::Entry::kEntered:
      break;
  }
  const TurnstileExit leaving(uploads_);
  GLOVE_ASSIGN_OR_RETURN(const int64_t allowed, budget(*model));
  auto resident = ResidentModel::upload(*device_, model, allowed, interrupted);
  if (!resident.ok()) {
    note_error(resident.error());
    return resident;
  }
  const std::lock_guard lock(mutex_);
  resident_.insert(resident.value().get());
  return resident;
}

void SharedDevice::drop(std::shared_ptr<ResidentModel> resident) {
  if (in_forked_child()) {
    // Deliberately leaked: its memory belongs to the parent.
    static_cast<void>(new std::shared_ptr<ResidentModel>(std::move(resident)));
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    resident_.erase(resident.get());
  }
  resident.reset();  // may wait for its background upload, and for the driver
}

SearcherInfo SharedDevice::info(const ResidentModel* resident) const {
  SearcherInfo info;
  info.state = "not loaded";
  if (in_forked_child()) return info;
  const bool works = works_.load(std::memory_order_acquire);
  const bool failed = !works && failed_.load(std::memory_order_acquire);
  if ((!works && !failed) || device_ == nullptr) return info;
  info.device = device_->info().name;
  if (failed) {
    info.state = "failed: " + unavailable_->message;
  } else if (resident != nullptr) {
    info.state = "resident";
    info.device_bytes = resident->device_bytes();
  }
  return info;
}

// Computes D for every row on the host, for models whose vectors did not fit on the device.
Status score_on_host(const Model& model, const Query& query, std::span<double> dots,
                     const InterruptCheck& interrupted) {
  constexpr int64_t kChunkRows = 4096;
  const auto work = [&](int, int64_t chunk) {
    const int64_t end = std::min(model.words(), (chunk + 1) * kChunkRows);
    for (int64_t row = chunk * kChunkRows; row < end; ++row)
      dots[static_cast<size_t>(row)] = exact_dot(query.vector.data(), model.vector(row), model.dims());
  };
  const int64_t chunks = (model.words() + kChunkRows - 1) / kChunkRows;
  if (!ThreadPool::instance().run(usable_cores(), chunks, work, interrupted)) return interrupted_error();
  return {};
}

class DeviceSearcher final : public Searcher {
 public:
  DeviceSearcher(std::shared_ptr<SharedDevice> device, std::shared_ptr<ResidentModel> resident)
      : device_(std::move(device)), resident_(std::move(resident)) {}
  ~DeviceSearcher() override { device_->drop(std::move(resident_)); }
  DeviceSearcher(const DeviceSearcher&) = delete;
  DeviceSearcher& operator=(const DeviceSearcher&) = delete;

  Status search(std::span<SearchRequest> requests) override;
  Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                   ScanCost& cost) override;
  SearcherInfo info() const override { return device_->info(resident_.get()); }

 private:
  const std::shared_ptr<SharedDevice> device_;
  std::shared_ptr<ResidentModel> resident_;
};

Status DeviceSearcher::search(std::span<SearchRequest> requests) {
  GLOVE_RETURN_IF_ERROR(device_->available());
  const Model& model = *resident_->model();
  // Excluded words are filtered out here, so that many more rows are requested.
  int64_t top_rows = 0;
  for (const SearchRequest& request : requests)
    top_rows = std::max(top_rows, request.k + static_cast<int64_t>(request.query->excluded.size()));
  const SharedInterrupt shared(requests);
  const std::span<const DevicePart> parts = resident_->parts();
  if (Status status = propose_in_parts(device_->device(), parts, requests, top_rows, shared.check());
      !status.ok()) {
    device_->note_error(status.error());
    return status;
  }
  for (SearchRequest& request : requests) {
    GLOVE_RETURN_IF_ERROR(check_interrupt(shared.check()));
    const Timer timer;
    if (parts.front().vectors == nullptr) rescore(model, *request.query, request.rows);
    keep_best(*request.query, request.k, request.rows);
    request.cost.rescore_us += timer.microseconds();
  }
  resident_->upload_rest();
  return {};
}

Status DeviceSearcher::score_all(const Query& query, std::span<double> dots,
                                 const InterruptCheck& interrupted, ScanCost& cost) {
  GLOVE_RETURN_IF_ERROR(device_->available());
  const Model& model = *resident_->model();
  const std::span<const DevicePart> parts = resident_->parts();
  if (parts.front().vectors == nullptr) {
    resident_->upload_rest();
    const Timer timer;
    GLOVE_RETURN_IF_ERROR(score_on_host(model, query, dots, interrupted));
    cost.rows_scanned += model.words();
    cost.rescore_us += timer.microseconds();
    return {};
  }
  Status status = score_all_parts(device_->device(), parts, query, dots, interrupted, cost);
  if (!status.ok()) device_->note_error(status.error());
  return status;
}

class DeviceBackend final : public Backend {
 public:
  DeviceBackend(DeviceFactory open_device, MemoryLimit memory_limit)
      : device_(std::make_shared<SharedDevice>(std::move(open_device), std::move(memory_limit))) {}

  std::string_view name() const override { return "cuda"; }
  Status available() override { return device_->available(); }
  Result<std::shared_ptr<Searcher>> open(const ModelPtr& model, const InterruptCheck& interrupted) override {
    GLOVE_ASSIGN_OR_RETURN(auto resident, device_->upload(model, interrupted));
    return std::shared_ptr<Searcher>(std::make_shared<DeviceSearcher>(device_, std::move(resident)));
  }
  SearcherInfo info() const override { return device_->info(nullptr); }

 private:
  const std::shared_ptr<SharedDevice> device_;
};

}  // namespace

std::unique_ptr<Backend> make_device_backend(DeviceFactory open_device, MemoryLimit memory_limit) {
  return std::make_unique<DeviceBackend>(std::move(open_device), std::move(memory_limit));
}

}  // namespace glove::gpu
