// The device of a backend with everything that its searchers and analyses share: whether it works, what is
// resident on it, and whose turn it is to upload.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "base/fork_safe_mutex.h"
#include "base/status.h"
#include "base/turnstile.h"
#include "gpu/device_backend.h"
#include "gpu/residency.h"

namespace glove::gpu {

// Thread-safe.
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

}  // namespace glove::gpu
