// Finds the searcher of a model that is already on a device, so that an analysis need not upload it again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/fork_safe_mutex.h"
#include "base/status.h"
#include "gpu/search/device_searcher.h"

namespace glove::gpu {

// The searchers of whole models that a backend has opened. Does not keep them alive. Thread-safe.
class ResidentSearchers {
 public:
  // Uploads the model to the device.
  Result<std::shared_ptr<DeviceSearcher>> open(const std::shared_ptr<SharedDevice>& device,
                                               const ModelPtr& model, const InterruptCheck& interrupted);

  // Returns a searcher of the model, or null if none is open.
  std::shared_ptr<DeviceSearcher> find(const Model& model);

 private:
  ForkSafeMutex mutex_;
  std::map<uint64_t, std::weak_ptr<DeviceSearcher>> by_model_ GLOVE_GUARDED_BY(mutex_);
};

}  // namespace glove::gpu
