#include "gpu/device_backend.h"
#include "base/cores.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/float_environment.h"
#include "base/parallel.h"
#include "gpu/residency.h"
#include "model/exact_dot.h"

namespace glove::gpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kAskEvery = std::chrono::milliseconds(2);  // for interrupts

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// A model's place in the backend. Guarded by the backend's mutex.
struct Entry {
  std::shared_ptr<ResidentModel> resident;
  std::optional<Error> failure;  // of the last upload; the next prepare() tries again
  bool uploading = false;
};

class DeviceBackend : public Backend {
 public:
  DeviceBackend(DeviceFactory open_device, MemoryLimit memory_limit)
      : open_device_(std::move(open_device)), memory_limit_(std::move(memory_limit)) {}

  std::string_view name() const override { return "cuda"; }
  Status available() override;
  Status prepare(const ModelPtr& model, const InterruptCheck& interrupted) override;
  Result<std::vector<Candidates>> propose(const ModelPtr& model, std::span<const Query> queries, int64_t k,
                                          const InterruptCheck& interrupted, ScanCost& cost) override;
  Status score_all(const ModelPtr& model, const Query& query, std::span<double> dots,
                   const InterruptCheck& interrupted, ScanCost& cost) override;
  Residency residency(const Model& model) const override;
  void release(const Model& model) override;

 private:
  class UploadEnd;

  // A forked child has its parent's addresses but not its driver: nothing of CUDA may be called in it.
  bool in_forked_child() const { return owner_ != 0 && owner_ != getpid(); }
  std::shared_ptr<Entry> entry_of(uint64_t id, bool create) const;
  Result<int64_t> budget(const Model& model);
  Result<std::shared_ptr<ResidentModel>> upload(const ModelPtr& model, const InterruptCheck& interrupted);
  Result<std::shared_ptr<ResidentModel>> resident(const ModelPtr& model, const InterruptCheck& interrupted);
  void note_error(const Error& error);

  const DeviceFactory open_device_;
  const MemoryLimit memory_limit_;

  // Guards everything below; never held while the device or the caller's code works.
  mutable std::mutex mutex_;
  bool opened_ = false;
  std::atomic<pid_t> owner_{0};
  std::unique_ptr<Device> device_;
  std::optional<Error> unavailable_;
  mutable std::map<uint64_t, std::shared_ptr<Entry>> entries_;
  // The thread that uploads: one at a time, so that two do not count on the same free bytes.
  std::optional<std::thread::id> uploader_;
  std::condition_variable upload_ended_;
};

// Lets the next upload begin, whatever ends this one.
class DeviceBackend::UploadEnd {
 public:
  UploadEnd(DeviceBackend& backend, Entry& entry) : backend_(backend), entry_(entry) {}
  ~UploadEnd() {
    const std::lock_guard lock(backend_.mutex_);
    entry_.uploading = false;
    backend_.uploader_.reset();
    backend_.upload_ended_.notify_all();
  }
  UploadEnd(const UploadEnd&) = delete;
  UploadEnd& operator=(const UploadEnd&) = delete;

 private:
  DeviceBackend& backend_;
  Entry& entry_;
};

Status DeviceBackend::available() {
  if (in_forked_child())
    return {ErrorCode::kUnavailable,
            "CUDA was started before this process was forked and does not work in the child"};
  const std::lock_guard lock(mutex_);
  if (!opened_) {
    opened_ = true;
    owner_ = getpid();
    auto device = open_device_();
    if (device.ok())
      device_ = std::move(device).value();
    else
      unavailable_ = device.error();
  }
  return unavailable_ ? Status(*unavailable_) : Status();
}

void DeviceBackend::note_error(const Error& error) {
  if (error.code != ErrorCode::kUnavailable) return;
  const std::lock_guard lock(mutex_);
  if (!unavailable_) unavailable_ = error;
}

std::shared_ptr<Entry> DeviceBackend::entry_of(uint64_t id, bool create) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found != entries_.end()) return found->second;
  if (!create) return nullptr;
  return entries_[id] = std::make_shared<Entry>();
}

// What an upload of this model may take now.
Result<int64_t> DeviceBackend::budget(const Model& model) {
  GLOVE_ASSIGN_OR_RETURN(const int64_t limit, memory_limit_());
  GLOVE_ASSIGN_OR_RETURN(const int64_t free, device_->free_bytes());
  int64_t allowed = std::max<int64_t>(0, free - scratch_reserve(model.words()));
  if (limit > 0) {
    int64_t used = 0;
    const std::lock_guard lock(mutex_);
    for (const auto& [id, entry] : entries_)
      if (entry->resident) used += entry->resident->device_bytes();
    allowed = std::min(allowed, limit - used);
  }
  return allowed;
}

Result<std::shared_ptr<ResidentModel>> DeviceBackend::upload(const ModelPtr& model,
                                                             const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(const int64_t allowed, budget(*model));
  return ResidentModel::upload(*device_, model, allowed, interrupted);
}

Status DeviceBackend::prepare(const ModelPtr& model, const InterruptCheck& interrupted) {
  return resident(model, interrupted).status();
}

// The model on the device; uploads it if it is not there, and waits while another thread uploads one.
// `interrupted` may run the host's code, which may come back here.
Result<std::shared_ptr<ResidentModel>> DeviceBackend::resident(const ModelPtr& model,
                                                               const InterruptCheck& interrupted) {
  GLOVE_RETURN_IF_ERROR(available());
  const std::shared_ptr<Entry> entry = entry_of(model->id(), true);
  std::unique_lock lock(mutex_);
  while (!entry->resident && uploader_) {
    if (*uploader_ == std::this_thread::get_id())
      return Error{
          ErrorCode::kInvalidArgument,
          "this thread is uploading a model to the device, and cannot search on it until that has ended"};
    upload_ended_.wait_for(lock, kAskEvery);
    if (!interrupted) continue;
    lock.unlock();
    if (interrupted()) return Error{ErrorCode::kInterrupted, "interrupted"};
    lock.lock();
  }
  if (entry->resident) return entry->resident;
  uploader_ = std::this_thread::get_id();
  entry->uploading = true;
  lock.unlock();
  const UploadEnd end(*this, *entry);
  auto uploaded = upload(model, interrupted);
  lock.lock();
  if (uploaded.ok()) {
    entry->resident = uploaded.value();
    entry->failure.reset();
  } else if (uploaded.error().code != ErrorCode::kInterrupted) {
    entry->failure = uploaded.error();
  }
  lock.unlock();
  if (!uploaded.ok()) note_error(uploaded.error());
  return uploaded;
}

Result<std::vector<Candidates>> DeviceBackend::propose(const ModelPtr& model, std::span<const Query> queries,
                                                       int64_t k, const InterruptCheck& interrupted,
                                                       ScanCost& cost) {
  GLOVE_ASSIGN_OR_RETURN(const std::shared_ptr<ResidentModel> on_device, resident(model, interrupted));
  // Excluded words are dropped by the engine, so that many more rows are asked for.
  size_t excluded = 0;
  for (const Query& query : queries) excluded = std::max(excluded, query.excluded.size());
  const int64_t wanted = std::min(model->words(), k + static_cast<int64_t>(excluded));
  auto proposed = device_->propose(on_device->view(), queries, wanted, interrupted, cost);
  if (!proposed.ok())
    note_error(proposed.error());
  else
    on_device->upload_rest();
  return proposed;
}

// D for every row, on the host: for models whose vectors did not fit on the device.
Status score_on_host(const Model& model, const Query& query, std::span<double> dots,
                     const InterruptCheck& interrupted) {
  constexpr int64_t kPiece = 4096;
  std::atomic<int64_t> next{0};
  std::atomic<bool> stop{false};
  const auto caller = std::this_thread::get_id();
  const auto work = [&](int64_t, int64_t) {
    const ScopedFloatEnvironment float_environment;
    const bool may_ask = interrupted && std::this_thread::get_id() == caller;
    while (!stop) {
      if (may_ask && interrupted()) stop = true;
      const int64_t begin = next.fetch_add(kPiece);
      if (stop || begin >= model.words()) return;
      const int64_t end = std::min(model.words(), begin + kPiece);
      for (int64_t row = begin; row < end; ++row)
        dots[static_cast<size_t>(row)] = exact_dot(query.vector.data(), model.vector(row), model.dims());
    }
  };
  const auto threads = std::min<int64_t>(usable_cores(), (model.words() + kPiece - 1) / kPiece);
  run_in_parallel(static_cast<int>(threads), threads, work);
  return stop ? Status(ErrorCode::kInterrupted, "the search was interrupted") : Status();
}

Status DeviceBackend::score_all(const ModelPtr& model, const Query& query, std::span<double> dots,
                                const InterruptCheck& interrupted, ScanCost& cost) {
  GLOVE_ASSIGN_OR_RETURN(const std::shared_ptr<ResidentModel> on_device, resident(model, interrupted));
  const DeviceModel view = on_device->view();
  if (view.vectors == nullptr) {
    on_device->upload_rest();
    const auto start = Clock::now();
    GLOVE_RETURN_IF_ERROR(score_on_host(*model, query, dots, interrupted));
    cost.rows_scanned += model->words();
    cost.rescore_us += microseconds_since(start);
    return {};
  }
  Status status = device_->score_all(view, query, dots, interrupted, cost);
  if (!status.ok()) note_error(status.error());
  return status;
}

Residency DeviceBackend::residency(const Model& model) const {
  Residency residency;
  residency.state = "not loaded";
  if (in_forked_child()) return residency;
  const std::shared_ptr<Entry> entry = entry_of(model.id(), false);
  const std::lock_guard lock(mutex_);
  if (device_) residency.device = device_->info().name;
  if (unavailable_ && device_) {
    residency.state = "failed: " + unavailable_->message;
  } else if (entry && entry->uploading) {
    residency.state = "uploading";
  } else if (entry && entry->resident) {
    residency.state = "resident";
    residency.device_bytes = entry->resident->device_bytes();
  } else if (entry && entry->failure) {
    residency.state = "failed: " + entry->failure->message;
  }
  return residency;
}

void DeviceBackend::release(const Model& model) {
  if (in_forked_child()) return;
  std::shared_ptr<Entry> gone;
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(model.id()); found != entries_.end()) {
    gone = std::move(found->second);
    entries_.erase(found);
  }
}

}  // namespace

std::unique_ptr<Backend> make_device_backend(DeviceFactory open_device, MemoryLimit memory_limit) {
  return std::make_unique<DeviceBackend>(std::move(open_device), std::move(memory_limit));
}

}  // namespace glove::gpu
