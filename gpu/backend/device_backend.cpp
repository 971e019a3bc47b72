#include "gpu/backend/device_backend.h"

#include <utility>

#include "gpu/analysis/device_analysis.h"
#include "gpu/search/placement.h"
#include "search/combining_searcher.h"

namespace glove::gpu {
namespace {

class DeviceBackend final : public Backend {
 public:
  explicit DeviceBackend(DeviceBackendOptions options)
      : devices_(std::move(options.devices)),
        placement_(options.host, options.log, options.least_slice_bytes) {
    if (options.host != nullptr && options.host->analysis() != nullptr)
      analysis_ = make_device_analysis(devices_, placement_, *options.host->analysis());
  }

  std::string_view name() const override { return "cuda"; }
  Status available() override { return devices_.available(); }
  Result<std::shared_ptr<Searcher>> open(const ModelPtr& model, const InterruptCheck& interrupted) override {
    GLOVE_ASSIGN_OR_RETURN(auto devices, devices_.chosen());
    GLOVE_ASSIGN_OR_RETURN(auto searcher, placement_.open(std::move(devices), model, interrupted));
    return std::shared_ptr<Searcher>(std::make_shared<CombiningSearcher>(std::move(searcher)));
  }
  Analysis* analysis() override { return analysis_.get(); }
  SearcherInfo info() const override { return devices_.info(); }

 private:
  DeviceSet devices_;
  Placement placement_;
  std::unique_ptr<Analysis> analysis_;
};

}  // namespace

std::unique_ptr<Backend> make_device_backend(DeviceBackendOptions options) {
  return std::make_unique<DeviceBackend>(std::move(options));
}

}  // namespace glove::gpu
