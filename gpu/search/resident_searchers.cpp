#include "gpu/search/resident_searchers.h"

namespace glove::gpu {

Result<std::shared_ptr<DeviceSearcher>> ResidentSearchers::open(const std::shared_ptr<SharedDevice>& device,
                                                                const ModelPtr& model,
                                                                const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(auto resident, device->upload(model, interrupted));
  auto searcher = std::make_shared<DeviceSearcher>(device, std::move(resident));
  const Lock lock(mutex_);
  std::erase_if(by_model_, [](const auto& entry) { return entry.second.expired(); });
  by_model_[model->id()] = searcher;
  return searcher;
}

std::shared_ptr<DeviceSearcher> ResidentSearchers::find(const Model& model) {
  const Lock lock(mutex_);
  const auto found = by_model_.find(model.id());
  return found == by_model_.end() ? nullptr : found->second.lock();
}

}  // namespace glove::gpu
