// A model with vectors that is resident on a device, as a Searcher.
#pragma once

#include <memory>
#include <span>

#include "gpu/residency/arena.h"
#include "gpu/residency/device_masks.h"
#include "search/searcher.h"

namespace glove::gpu {

// Searches each part of the arena's model by a launch of its own.
class DeviceSearcher final : public Searcher {
 public:
  explicit DeviceSearcher(std::shared_ptr<Arena> arena);

  Status search(std::span<SearchRequest> requests) override;
  Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                   ScanCost& cost) override;
  SearcherInfo info() const override {
    return arena_->device()->info(arena_->device_bytes() + masks_.bytes());
  }

 private:
  const std::shared_ptr<Arena> arena_;
  DeviceMasks masks_;
};

}  // namespace glove::gpu
