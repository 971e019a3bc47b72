// A model that is resident on a device, as a Searcher.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "gpu/residency/residency.h"
#include "gpu/residency/shared_device.h"
#include "search/searcher.h"

namespace glove::gpu {

// Searches on the device and frees the model's memory there when it is destroyed. The model may be a slice of
// a larger one; then rows and queries have the ids of that one.
class DeviceSearcher final : public Searcher {
 public:
  // first_row: where the slice begins in the larger model.
  DeviceSearcher(std::shared_ptr<SharedDevice> device, std::shared_ptr<ResidentModel> resident,
                 int64_t first_row = 0)
      : device_(std::move(device)), resident_(std::move(resident)), first_row_(first_row) {}
  ~DeviceSearcher() override { device_->drop(std::move(resident_)); }
  DeviceSearcher(const DeviceSearcher&) = delete;
  DeviceSearcher& operator=(const DeviceSearcher&) = delete;

  Status search(std::span<SearchRequest> requests) override;
  Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                   ScanCost& cost) override;
  // The device, and the resident model, which lives as long as the searcher.
  const std::shared_ptr<SharedDevice>& device() const { return device_; }
  ResidentModel& resident() const { return *resident_; }
  SearcherInfo info() const override { return device_->info(resident_->device_bytes()); }

 private:
  const std::shared_ptr<SharedDevice> device_;
  std::shared_ptr<ResidentModel> resident_;
  const int64_t first_row_;
};

}  // namespace glove::gpu
