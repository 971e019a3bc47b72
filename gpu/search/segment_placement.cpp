#include "gpu/search/segment_placement.h"

#include <algorithm>
#include <utility>

#include "gpu/search/segment_searcher.h"
#include "search/device_failure.h"

namespace glove::gpu {

std::vector<std::shared_ptr<SegmentArena>> SegmentPlacement::arenas() {
  std::vector<std::shared_ptr<SegmentArena>> alive;
  const Lock lock(mutex_);
  std::erase_if(arenas_, [](const auto& arena) { return arena.expired(); });
  alive.reserve(arenas_.size());
  for (const auto& arena : arenas_)
    if (auto held = arena.lock()) alive.push_back(std::move(held));
  return alive;
}

// Returns null if there is no arena that suits the model.
Result<std::shared_ptr<Searcher>> SegmentPlacement::open_in_arena(const Devices& devices,
                                                                  const ModelPtr& model,
                                                                  const InterruptCheck& interrupted) {
  std::shared_ptr<Searcher> opened;
  for (auto& arena : arenas()) {
    const auto& device = arena->device();
    if (std::ranges::find(devices, device) == devices.end() || !device->available().ok()) continue;
    const auto work = [&]() -> Status {
      if (!arena->suits(*model)) return {};
      GLOVE_RETURN_IF_ERROR(arena->add(model, interrupted));
      opened = std::make_shared<SegmentSearcher>(arena, model);
      return {};
    };
    GLOVE_RETURN_IF_ERROR(device->in_turn(interrupted, work));
    if (opened != nullptr) break;
  }
  return opened;
}

Result<std::shared_ptr<Searcher>> SegmentPlacement::open_on(const std::shared_ptr<SharedDevice>& device,
                                                            const ModelPtr& model,
                                                            const InterruptCheck& interrupted) {
  std::shared_ptr<Searcher> opened;
  const auto work = [&]() -> Status {
    GLOVE_ASSIGN_OR_RETURN(const int64_t room, device->room_for(model->words()));
    GLOVE_ASSIGN_OR_RETURN(const auto arena, SegmentArena::make(device, *model, room));
    GLOVE_RETURN_IF_ERROR(arena->add(model, interrupted));
    opened = std::make_shared<SegmentSearcher>(arena, model);
    const Lock lock(mutex_);
    arenas_.push_back(arena);
    return {};
  };
  GLOVE_RETURN_IF_ERROR(device->in_turn(interrupted, work));
  return opened;
}

Result<std::shared_ptr<Searcher>> SegmentPlacement::open(Devices devices, const ModelPtr& model,
                                                         const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(auto found, open_in_arena(devices, model, interrupted));
  if (found != nullptr) return found;
  if (devices.size() > 1) sort_by_use(devices);
  Status first_failure;
  for (const auto& device : devices) {
    auto opened = open_on(device, model, interrupted);
    if (opened.ok() || !is_device_failure(opened.error())) return opened;
    if (first_failure.ok()) first_failure = opened.status();
  }
  return first_failure.error();
}

}  // namespace glove::gpu
