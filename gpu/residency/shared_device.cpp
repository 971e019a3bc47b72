#include "gpu/residency/shared_device.h"

#include <algorithm>

#include "base/concat.h"
#include "base/scope_exit.h"
#include "gpu/layout/plan.h"

namespace glove::gpu {

Error forked_child_error() {
  return {ErrorCode::kUnavailable,
          "CUDA was started before this process was forked and does not work in the child"};
}

std::string megabytes(int64_t bytes) {
  return std::to_string((bytes + 999'999) / 1'000'000) + " MB";
}

Status SharedDevice::available() {
  if (in_forked_child()) return forked_child_error();
  if (works_.load(std::memory_order_acquire)) return {};
  return failed_.load(std::memory_order_acquire) ? Status(*unavailable_) : open();
}

// The driver may be slow, but only the first caller and concurrent ones wait for it.
Status SharedDevice::open() {
  owner_ = getpid();  // before open_mutex_ is locked, so that a child forked from now on does not wait for it
  const Lock opening(open_mutex_);
  {
    const Lock lock(mutex_);
    if (unavailable_) return *unavailable_;
    if (device_) return {};
  }
  auto device = open_device_();
  const Lock lock(mutex_);
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
  const Lock lock(mutex_);
  fail(error);
}

void SharedDevice::fail(const Error& error) {
  if (!unavailable_) unavailable_ = error;
  failed_.store(true, std::memory_order_release);
  works_.store(false, std::memory_order_release);
}

Result<int64_t> SharedDevice::room_for(int64_t rows) {
  GLOVE_REQUIRE(device_ != nullptr);
  GLOVE_ASSIGN_OR_RETURN(const int64_t limit, memory_limit_());
  GLOVE_ASSIGN_OR_RETURN(const int64_t free, device_->free_bytes());
  const int64_t room = std::max<int64_t>(0, free - scratch_reserve(rows));
  return limit > 0 ? std::min(room, limit - used_bytes()) : room;
}

std::string SharedDevice::name() const {
  const SearcherInfo opened = info(std::nullopt);
  return "device " + std::to_string(number_) + (opened.device.empty() ? "" : " (" + opened.device + ")");
}

Status SharedDevice::in_turn(const InterruptCheck& interrupted, const std::function<Status()>& work) {
  GLOVE_RETURN_IF_ERROR(available());
  GLOVE_RETURN_IF_ERROR(uploads_.enter(
      interrupted,
      invalid_argument(
          "this thread is uploading a model to the device, and cannot search on it until that has ended")));
  const ScopeExit leaving([this] { uploads_.leave(); });
  Status status = work();
  if (!status.ok()) note_error(status.error());
  return status;
}

SearcherInfo SharedDevice::info(std::optional<int64_t> resident_bytes) const {
  SearcherInfo info;
  info.state = "not loaded";
  if (in_forked_child()) return info;
  const bool works = works_.load(std::memory_order_acquire);
  const bool failed = !works && failed_.load(std::memory_order_acquire);
  if ((!works && !failed) || device_ == nullptr) return info;
  info.device = device_->info().name;
  if (failed) {
    info.state = "failed: " + unavailable_->message;
  } else if (resident_bytes) {
    info.state = "resident";
    info.device_bytes = *resident_bytes;
  }
  return info;
}

void sort_by_use(std::vector<std::shared_ptr<SharedDevice>>& devices) {
  std::vector<std::pair<int64_t, std::shared_ptr<SharedDevice>>> by_use;
  for (auto& device : devices) {
    const int64_t used = device->used_bytes();
    by_use.emplace_back(used, std::move(device));
  }
  std::ranges::stable_sort(by_use, [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < devices.size(); ++i) devices[i] = std::move(by_use[i].second);
}

}  // namespace glove::gpu
