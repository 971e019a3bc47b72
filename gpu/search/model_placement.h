// Opens models on the devices that suit them: small ones on one, large ones on several.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "gpu/residency/shared_device.h"
#include "gpu/search/resident_searchers.h"
#include "gpu/search/side_threads.h"
#include "search/backend.h"

namespace glove::gpu {

// Thread-safe.
class ModelPlacement {
 public:
  //   host, log  as in DeviceBackendOptions
  ModelPlacement(ResidentSearchers& searchers, Backend* host, Log* log, int64_t least_slice_bytes)
      : searchers_(searchers), host_(host), log_(log), least_slice_bytes_(least_slice_bytes) {}

  // Uploads the model to one of the devices or to several of them. If there is only one, its errors are those
  // of SharedDevice::upload(). Otherwise a device that does not work is left out; one that fails during the
  // upload leaves its rows to the host, unless all fail. REQUIRES: !devices.empty()
  Result<std::shared_ptr<Searcher>> open(std::vector<std::shared_ptr<SharedDevice>> devices,
                                         const ModelPtr& model, const InterruptCheck& interrupted);

 private:
  using Devices = std::vector<std::shared_ptr<SharedDevice>>;
  using Opened = Result<std::shared_ptr<Searcher>>;

  Opened open_whole(const std::shared_ptr<SharedDevice>& device, const ModelPtr& model,
                    const InterruptCheck& interrupted);
  Opened open_on_first_with_room(const Devices& devices, const ModelPtr& model,
                                 const InterruptCheck& interrupted);
  Opened spread(const Devices& devices, const ModelPtr& model, int64_t wanted,
                const InterruptCheck& interrupted);
  Opened open_slices(const Devices& devices, const ModelPtr& model, std::span<const int64_t> ends,
                     const InterruptCheck& interrupted);
  void log_unusable(const SharedDevice& device, const std::string& reason) const;

  ResidentSearchers& searchers_;
  Backend* const host_;
  Log* const log_;
  const int64_t least_slice_bytes_;
  const std::shared_ptr<SideThreads> threads_ = std::make_shared<SideThreads>();
};

}  // namespace glove::gpu
