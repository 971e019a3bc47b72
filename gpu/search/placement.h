// Decides on which devices models and live indexes are kept, and opens them there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/status.h"
#include "gpu/residency/arena.h"
#include "gpu/residency/shared_device.h"
#include "gpu/search/side_threads.h"
#include "search/backend.h"

namespace glove::gpu {

// Does not keep arenas alive: their searchers do. Thread-safe.
class Placement {
 public:
  using Devices = std::vector<std::shared_ptr<SharedDevice>>;
  using Opened = Result<std::shared_ptr<Searcher>>;

  //   host, log  as in DeviceBackendOptions
  Placement(Backend* host, Log* log, int64_t least_slice_bytes)
      : host_(host), log_(log), least_slice_bytes_(least_slice_bytes) {}

  // Opens a model with vectors on one of the devices or on several of them: small ones on one, large ones on
  // several. If there is only one device, its errors are those of upload(). Otherwise a device that does not
  // work is left out; one that fails during the upload leaves its rows to the host, unless all fail.
  // Opens a model without vectors on one device: in an arena that has most of the same index already, or on
  // the device of which models take the least memory, or on the next one if it fails. The error is that of
  // the first device that was tried. REQUIRES: !devices.empty()
  Opened open(Devices devices, const ModelPtr& model, const InterruptCheck& interrupted);

  // Makes an arena for the model on this device, in_turn(), and calls use(arena) before others can find it.
  Result<std::shared_ptr<Arena>> upload(const std::shared_ptr<SharedDevice>& device, const ModelPtr& model,
                                        const InterruptCheck& interrupted,
                                        const std::function<void(const std::shared_ptr<Arena>&)>& use = {});

  // Returns the arena of a model with vectors that is on one device as a whole, so that an analysis need not
  // upload it again, or null if there is none.
  std::shared_ptr<Arena> find(const Model& model);

 private:
  std::vector<std::shared_ptr<Arena>> arenas_of(uint64_t model);
  Opened open_whole(const std::shared_ptr<SharedDevice>& device, const ModelPtr& model,
                    const InterruptCheck& interrupted);
  Opened open_on_first_with_room(const Devices& devices, const ModelPtr& model,
                                 const InterruptCheck& interrupted);
  Opened spread(const Devices& devices, const ModelPtr& model, int64_t wanted,
                const InterruptCheck& interrupted);
  Opened open_slices(const Devices& devices, const ModelPtr& model, std::span<const int64_t> ends,
                     const InterruptCheck& interrupted);
  Opened add_segments(const Devices& devices, const ModelPtr& model, const InterruptCheck& interrupted);
  Opened open_segments(Devices devices, const ModelPtr& model, const InterruptCheck& interrupted);
  void log_unusable(const SharedDevice& device, const std::string& reason) const;

  Backend* const host_;
  Log* const log_;
  const int64_t least_slice_bytes_;
  const std::shared_ptr<SideThreads> threads_ = std::make_shared<SideThreads>();
  ForkSafeMutex mutex_;
  // Each with the id of its model, or 0 if it is that of a live index.
  std::vector<std::pair<uint64_t, std::weak_ptr<Arena>>> arenas_ GLOVE_GUARDED_BY(mutex_);
};

}  // namespace glove::gpu
