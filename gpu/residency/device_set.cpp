#include "gpu/residency/device_set.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/concat.h"

namespace glove::gpu {
namespace {

constexpr int kMostDevices = 63;  // as many as the set of bits of the setting can name

bool is_chosen(uint64_t chosen, size_t device) {
  return chosen == 0 || (chosen >> device & 1) != 0;
}

// Returns "0, 1 and 2".
std::string numbers_below(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : i + 1 == count ? " and " : ", ") + std::to_string(i);
  return text;
}

}  // namespace

// The driver may be slow, but only the first caller and concurrent ones wait for it.
Status DeviceSet::count() {
  if (in_forked_child()) return forked_child_error();
  if (!counted_.load(std::memory_order_acquire)) GLOVE_RETURN_IF_ERROR(count_once());
  return no_device_ ? Status(*no_device_) : Status();
}

Status DeviceSet::count_once() {
  owner_ = getpid();  // before the mutex is locked, so that a child forked from now on does not wait for it
  const Lock lock(count_mutex_);
  if (counted_.load(std::memory_order_relaxed)) return {};
  const Result<int> counted = access_.count();
  if (!counted.ok()) no_device_ = counted.error();
  const int devices = counted.ok() ? std::min(counted.value(), kMostDevices) : 0;
  if (counted.ok() && devices < 1) no_device_ = Error{ErrorCode::kUnavailable, "there is no device"};
  for (int number = 0; number < devices; ++number)
    devices_.push_back(std::make_shared<SharedDevice>(
        number, [this, number] { return access_.open(number); }, access_.memory_limit));
  counted_.store(true, std::memory_order_release);
  return {};
}

Status DeviceSet::available() {
  GLOVE_RETURN_IF_ERROR(count());
  const Result<uint64_t> chosen = access_.chosen();
  if (!chosen.ok()) return {};  // chosen() says so to those that upload
  Status first_failure;
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (!is_chosen(chosen.value(), i)) continue;
    Status status = devices_[i]->available();
    if (status.ok()) return status;
    if (first_failure.ok()) first_failure = std::move(status);
  }
  return first_failure;
}

Result<std::vector<std::shared_ptr<SharedDevice>>> DeviceSet::chosen() {
  GLOVE_RETURN_IF_ERROR(count());
  GLOVE_ASSIGN_OR_RETURN(const uint64_t chosen, access_.chosen());
  if (chosen >> devices_.size() != 0) {
    size_t missing = devices_.size();
    while ((chosen >> missing & 1) == 0) ++missing;
    return invalid_argument("the setting 'devices' names device ", missing, ", which does not exist; ",
                            devices_.size() == 1 ? "the only device is " : "the devices are ",
                            numbers_below(devices_.size()));
  }
  std::vector<std::shared_ptr<SharedDevice>> devices;
  for (size_t i = 0; i < devices_.size(); ++i)
    if (is_chosen(chosen, i)) devices.push_back(devices_[i]);
  return devices;
}

Result<std::shared_ptr<SharedDevice>> DeviceSet::first() {
  GLOVE_ASSIGN_OR_RETURN(auto devices, chosen());
  for (auto& device : devices)
    if (device->available().ok()) return std::move(device);
  return devices.front()->available().error();
}

SearcherInfo DeviceSet::info() const {
  SearcherInfo first;
  first.state = "not loaded";
  if (in_forked_child() || !counted_.load(std::memory_order_acquire)) return first;
  bool any = false;
  for (const auto& device : devices_) {
    SearcherInfo info = device->info(std::nullopt);
    if (info.device.empty()) continue;  // not opened
    if (info.state == "not loaded") return info;
    if (!std::exchange(any, true)) first = std::move(info);
  }
  return first;
}

}  // namespace glove::gpu
