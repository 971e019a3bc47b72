// The devices of a backend.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "gpu/residency/shared_device.h"

namespace glove::gpu {

// How a backend reaches the devices of the machine, and what the settings say of them.
struct DeviceAccess {
  // Returns the number of devices, or why there is none. Called once, at the first use.
  std::function<Result<int>()> count;

  // Opens a device, 0 <= number < count(). Called once for each device that is used.
  std::function<Result<std::unique_ptr<Device>>(int number)> open;

  // Returns the devices that may be used, as a set of bits: bit i is device i, and 0 means all. Called before
  // every upload.
  std::function<Result<uint64_t>()> chosen;

  // Called before every upload.
  MemoryLimit memory_limit;
};

// Thread-safe.
class DeviceSet {
 public:
  explicit DeviceSet(DeviceAccess access) : access_(std::move(access)) {}

  // Returns ok if one of the devices that may be used works. Counts the devices at the first call, and opens
  // the first one that may be used. Takes no lock afterwards.
  Status available();

  // Returns the devices that may be used, by rising number; not all of them need work. kInvalidArgument if
  // one is chosen that does not exist. Never empty.
  Result<std::vector<std::shared_ptr<SharedDevice>>> chosen();

  // Returns the first of those that works.
  Result<std::shared_ptr<SharedDevice>> first();

  // Describes a model that is on no device. Takes no lock.
  SearcherInfo info() const;

 private:
  bool in_forked_child() const { return owner_ != 0 && owner_ != getpid(); }
  Status count();
  Status count_once();

  const DeviceAccess access_;
  std::atomic<pid_t> owner_{0};  // the process that counted the devices, or is about to
  Mutex count_mutex_;            // held while the devices are counted
  std::atomic<bool> counted_{false};
  // These stay as they are once counted_ is set.
  std::optional<Error> no_device_;
  std::vector<std::shared_ptr<SharedDevice>> devices_;
};

}  // namespace glove::gpu
