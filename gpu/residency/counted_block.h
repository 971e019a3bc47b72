// Device memory that counts as used by models.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/status.h"
#include "gpu/device/device.h"
#include "gpu/residency/shared_device.h"

namespace glove::gpu {

// Owns a block of a device and keeps the device open. In a forked child, which must not call the driver, the
// memory is left alone.
class CountedBlock {
 public:
  // REQUIRES: available() has returned ok.
  static Result<CountedBlock> allocate(std::shared_ptr<SharedDevice> device, int64_t bytes) {
    GLOVE_ASSIGN_OR_RETURN(DeviceBlock block, device->device().allocate(bytes));
    return CountedBlock(std::move(device), std::move(block));
  }
  CountedBlock(CountedBlock&&) = default;
  CountedBlock& operator=(CountedBlock&&) = delete;
  ~CountedBlock() {
    if (device_ == nullptr) return;
    device_->count_bytes(-block_.bytes());
    if (device_->in_forked_child()) static_cast<void>(new DeviceBlock(std::move(block_)));
  }

  const std::shared_ptr<SharedDevice>& device() const { return device_; }
  std::byte* data() const { return block_.data(); }  // a device address
  int64_t bytes() const { return block_.bytes(); }

 private:
  CountedBlock(std::shared_ptr<SharedDevice> device, DeviceBlock block)
      : device_(std::move(device)), block_(std::move(block)) {
    device_->count_bytes(block_.bytes());
  }

  std::shared_ptr<SharedDevice> device_;  // destroyed after block_
  DeviceBlock block_;
};

}  // namespace glove::gpu
