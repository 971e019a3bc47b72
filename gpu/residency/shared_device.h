// A device of a backend with everything that its searchers and analyses share: whether it works, how much of
// its memory models use, and whose turn it is to upload.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/require.h"
#include "base/status.h"
#include "base/turnstile.h"
#include "gpu/device/device.h"

namespace glove::gpu {

// Opens the device; called once, at the first use.
using DeviceFactory = std::function<Result<std::unique_ptr<Device>>()>;

// Returns the bytes that the models of a backend may use on each device; 0 means all that is free.
using MemoryLimit = std::function<Result<int64_t>()>;

// The error of a forked child, which has its parent's addresses but not its driver, and so must not call
// CUDA.
Error forked_child_error();

// Returns "12 MB", rounded up, for messages about device memory.
std::string megabytes(int64_t bytes);

// Thread-safe.
class SharedDevice {
 public:
  SharedDevice(int number, DeviceFactory open_device, MemoryLimit memory_limit)
      : number_(number), open_device_(std::move(open_device)), memory_limit_(std::move(memory_limit)) {}

  bool in_forked_child() const { return owner_ != 0 && owner_ != getpid(); }

  // Opens the device at the first call. Takes no lock afterwards.
  Status available();

  // Runs `work`, which may upload to the device. One such call runs at a time, so that two do not count on
  // the same free bytes. `interrupted` may run the host's code, which may call back into this class.
  Status in_turn(const InterruptCheck& interrupted, const std::function<Status()>& work);

  // Returns the bytes that an upload of this many rows may use now. REQUIRES: available() has returned ok.
  Result<int64_t> room_for(int64_t rows);

  // Returns the bytes that models take, or will once they are uploaded.
  int64_t used_bytes() const { return used_bytes_; }

  // Counts these bytes as used by models; a negative number counts them as freed.
  void count_bytes(int64_t bytes) { used_bytes_ += bytes; }

  // Returns "device 1", with the device's name if it has been opened.
  std::string name() const;

  // Returns work(device()) if the device works, and remembers an error that means that it is lost.
  template <class Work>
  auto run(const Work& work) -> decltype(work(std::declval<Device&>())) {
    GLOVE_RETURN_IF_ERROR(available());
    auto result = work(*device_);
    if (!result.ok()) note_error(result.error());
    return result;
  }

  // REQUIRES: available() has returned ok.
  Device& device() {
    GLOVE_REQUIRE(device_ != nullptr);
    return *device_;
  }

  // Describes a model that takes this many bytes of the device or, without a number, is not there. Takes no
  // lock: reads what works_ and failed_ have published.
  SearcherInfo info(std::optional<int64_t> resident_bytes) const;

 private:
  Status open();
  void note_error(const Error& error);
  void fail(const Error& error) GLOVE_REQUIRES(mutex_);

  const int number_;
  const DeviceFactory open_device_;
  const MemoryLimit memory_limit_;
  std::atomic<pid_t> owner_{0};      // the process that opened the device, or is about to
  std::atomic<bool> works_{false};   // device_ is set, and not lost
  std::atomic<bool> failed_{false};  // unavailable_ is set; it and device_ stay as they are
  std::atomic<int64_t> used_bytes_{0};
  Turnstile uploads_;
  Mutex open_mutex_;                // held while the device is opened
  ForkSafeMutex mutex_;             // never held while the device or the host works
  std::unique_ptr<Device> device_;  // set once
  std::optional<Error> unavailable_;
};

// Lets the last holder delete an object that owns memory of the device. In a forked child the object is left
// alone: the driver and the object's threads are the parent's.
template <class T>
std::shared_ptr<T> shared_on(std::shared_ptr<SharedDevice> device, T* object) {
  return std::shared_ptr<T>(object, [device = std::move(device)](T* unused) {
    if (!device->in_forked_child()) delete unused;
  });
}

// Brings the devices with the fewest bytes in use to the front.
void sort_by_use(std::vector<std::shared_ptr<SharedDevice>>& devices);

}  // namespace glove::gpu
