#include "gpu/device_backend.h"

#include "gpu/device_analysis.h"
#include "gpu/device_searcher.h"
#include "gpu/resident_searchers.h"
#include "gpu/shared_device.h"
#include "search/candidates.h"
#include "search/combining_searcher.h"

namespace glove::gpu {
namespace {

class DeviceBackend final : public Backend {
 public:
  DeviceBackend(DeviceFactory open_device, MemoryLimit memory_limit, Analysis* host)
      : device_(std::make_shared<SharedDevice>(std::move(open_device), std::move(memory_limit))),
        searchers_(device_) {
    if (host != nullptr) analysis_ = make_device_analysis(device_, searchers_, *host);
  }

  std::string_view name() const override { return "cuda"; }
  Status available() override { return device_->available(); }
  Result<std::shared_ptr<Searcher>> open(const ModelPtr& model, const InterruptCheck& interrupted) override {
    if (!has_vectors(*model))
      return Error{
          ErrorCode::kUnavailable,
          "the backend cuda cannot search a live index, whose vectors are in a table; use the backend cpu"};
    GLOVE_ASSIGN_OR_RETURN(auto searcher, searchers_.open(model, interrupted));
    return std::shared_ptr<Searcher>(std::make_shared<CombiningSearcher>(std::move(searcher)));
  }
  Analysis* analysis() override { return analysis_.get(); }
  SearcherInfo info() const override { return device_->info(nullptr); }

 private:
  const std::shared_ptr<SharedDevice> device_;
  ResidentSearchers searchers_;
  std::unique_ptr<Analysis> analysis_;
};

}  // namespace

std::unique_ptr<Backend> make_device_backend(DeviceFactory open_device, MemoryLimit memory_limit,
                                             Analysis* host) {
  return std::make_unique<DeviceBackend>(std::move(open_device), std::move(memory_limit), host);
}

}  // namespace glove::gpu
