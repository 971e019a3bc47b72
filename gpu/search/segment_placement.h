// Opens live indexes on the devices: in an arena that has most of their segments already, or in a new one.
#pragma once

#include <memory>
#include <vector>

#include "base/fork_safe_mutex.h"
#include "base/status.h"
#include "gpu/residency/segment_arena.h"
#include "gpu/residency/shared_device.h"
#include "search/searcher.h"

namespace glove::gpu {

// Does not keep arenas alive: their searchers do. Thread-safe.
class SegmentPlacement {
 public:
  using Devices = std::vector<std::shared_ptr<SharedDevice>>;

  // Makes the model's parts resident on one of the devices: on one that has others of the same index, or on
  // that of which models take the least memory, or on the next one if it fails. The error is that of the
  // first device that was tried. REQUIRES: !devices.empty(); the model has no vectors.
  Result<std::shared_ptr<Searcher>> open(Devices devices, const ModelPtr& model,
                                         const InterruptCheck& interrupted);

 private:
  Result<std::shared_ptr<Searcher>> open_in_arena(const Devices& devices, const ModelPtr& model,
                                                  const InterruptCheck& interrupted);
  Result<std::shared_ptr<Searcher>> open_on(const std::shared_ptr<SharedDevice>& device,
                                            const ModelPtr& model, const InterruptCheck& interrupted);
  std::vector<std::shared_ptr<SegmentArena>> arenas();

  ForkSafeMutex mutex_;
  std::vector<std::weak_ptr<SegmentArena>> arenas_ GLOVE_GUARDED_BY(mutex_);
};

}  // namespace glove::gpu
