#include "gpu/search/placement.h"

#include <algorithm>

#include "base/require.h"
#include "gpu/residency/model_slice.h"
#include "gpu/search/searchers.h"
#include "gpu/search/spread_plan.h"
#include "search/candidates.h"

namespace glove::gpu {

Result<std::shared_ptr<Arena>> Placement::upload(
    const std::shared_ptr<SharedDevice>& device, const ModelPtr& model, const InterruptCheck& interrupted,
    const std::function<void(const std::shared_ptr<Arena>&)>& use) {
  std::shared_ptr<Arena> arena;
  const auto work = [&]() -> Status {
    GLOVE_ASSIGN_OR_RETURN(const int64_t room, device->room_for(model->words()));
    GLOVE_ASSIGN_OR_RETURN(arena, Arena::make(device, model, room, interrupted));
    if (use) use(arena);
    const Lock lock(mutex_);
    std::erase_if(arenas_, [](const auto& entry) { return entry.second.expired(); });
    arenas_.emplace_back(has_vectors(*model) ? model->id() : 0, arena);
    return {};
  };
  GLOVE_RETURN_IF_ERROR(device->in_turn(interrupted, work));
  return arena;
}

// Returns the arenas that are alive, the newest last.
//   model  the id of a model with vectors, or 0 for those of live indexes
std::vector<std::shared_ptr<Arena>> Placement::arenas_of(uint64_t model) {
  std::vector<std::shared_ptr<Arena>> alive;
  const Lock lock(mutex_);
  alive.reserve(arenas_.size());
  for (const auto& [id, arena] : arenas_)
    if (id == model)
      if (auto held = arena.lock()) alive.push_back(std::move(held));
  return alive;
}

std::shared_ptr<Arena> Placement::find(const Model& model) {
  const auto found = arenas_of(model.id());
  return found.empty() ? nullptr : found.back();
}

Placement::Opened Placement::open(Devices devices, const ModelPtr& model, const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(!devices.empty());
  if (!has_vectors(*model)) return open_segments(std::move(devices), model, interrupted);
  if (devices.size() == 1) return open_whole(devices.front(), model, interrupted);
  sort_by_use(devices);
  const int64_t wanted = worthwhile_devices(*model, static_cast<int64_t>(devices.size()), least_slice_bytes_);
  if (wanted == 1) {
    GLOVE_ASSIGN_OR_RETURN(auto searcher, open_on_first_with_room(devices, model, interrupted));
    if (searcher != nullptr) return searcher;
  }
  return spread(devices, model, wanted, interrupted);
}

Placement::Opened Placement::open_whole(const std::shared_ptr<SharedDevice>& device, const ModelPtr& model,
                                        const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(auto arena, upload(device, model, interrupted));
  return make_device_searcher(std::move(arena));
}

// Returns null if no device has room for the model with its vectors. Opens no more devices than necessary.
Placement::Opened Placement::open_on_first_with_room(const Devices& devices, const ModelPtr& model,
                                                     const InterruptCheck& interrupted) {
  for (const auto& device : devices) {
    Status status = device->available();
    if (status.ok()) {
      const Result<int64_t> room = device->room_for(model->words());
      if (room.ok() && room.value() < resident_bytes(*model)) continue;
      Opened opened = room.ok() ? open_whole(device, model, interrupted) : Opened(room.error());
      if (opened.ok() || !is_device_failure(opened.error())) return opened;
      status = opened.status();
    }
    log_unusable(*device, status.error().message);
  }
  return std::shared_ptr<Searcher>();
}

Placement::Opened Placement::spread(const Devices& devices, const ModelPtr& model, int64_t wanted,
                                    const InterruptCheck& interrupted) {
  std::vector<Result<int64_t>> found(devices.size(), int64_t{0});
  const auto look = [&](size_t i, const InterruptCheck&) {  // opens the device, which takes long
    const Status status = devices[i]->available();
    found[i] = status.ok() ? devices[i]->room_for(model->words()) : status.error();
  };
  if (!threads_->run(devices.size(), look, interrupted)) return interrupted_error();
  Devices working;
  std::vector<int64_t> rooms;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (found[i].ok()) {
      working.push_back(devices[i]);
      rooms.push_back(found[i].value());
    } else if (is_device_failure(found[i].error())) {
      log_unusable(*devices[i], found[i].error().message);
    } else {
      return found[i].error();
    }
  }
  if (working.empty()) return found.front().error();
  if (working.size() == 1) return open_whole(working.front(), model, interrupted);
  const std::vector<int64_t> ends =
      divide_rows(*model, rooms, std::min(wanted, static_cast<int64_t>(working.size())));
  if (!ends.empty()) return open_slices(working, model, ends, interrupted);
  int64_t room = 0;
  for (const int64_t bytes : rooms) room += std::max<int64_t>(bytes, 0);
  return Error{ErrorCode::kOutOfMemory,
               model->path() + " does not fit in the memory of the devices: " + megabytes(room) + " of all " +
                   std::to_string(working.size()) + " together are there for it"};
}

// Uploads the slices side by side.
//   ends  as divide_rows() returns them
Placement::Opened Placement::open_slices(const Devices& devices, const ModelPtr& model,
                                         std::span<const int64_t> ends, const InterruptCheck& interrupted) {
  std::vector<SearchedSlice> slices;
  std::vector<std::shared_ptr<SharedDevice>> slice_devices;
  int64_t first = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] == first) continue;
    if (ends[i] - first == model->words()) return open_whole(devices[i], model, interrupted);
    slice_devices.push_back(devices[i]);
    SearchedSlice& slice = slices.emplace_back();
    slice.first_row = std::exchange(first, ends[i]);
    slice.rows = ends[i] - slice.first_row;
  }
  std::vector<Status> statuses(slices.size());
  const auto open_slice = [&](size_t i, const InterruptCheck& own_check) {
    SearchedSlice& slice = slices[i];
    const ModelPtr rows = slice_of(model, slice.first_row, slice.first_row + slice.rows);
    if (host_ != nullptr) {
      auto on_host = host_->open(rows, own_check);
      if (on_host.ok()) slice.on_host = std::move(on_host).value();
    }
    auto opened = open_whole(slice_devices[i], rows, own_check);
    slice.device = slice_devices[i]->name();
    statuses[i] = opened.status();
    if (opened.ok()) slice.on_device = std::move(opened).value();
  };
  if (!threads_->run(slices.size(), open_slice, interrupted)) return interrupted_error();
  Status failure;
  for (size_t i = 0; i < slices.size(); ++i) {
    if (statuses[i].ok()) continue;
    slices[i].failure = statuses[i].error().message;
    if (slices[i].on_host == nullptr || !is_device_failure(statuses[i].error())) return statuses[i].error();
    failure = statuses[i];
  }
  const bool none = std::all_of(slices.begin(), slices.end(),
                                [](const SearchedSlice& slice) { return slice.on_device == nullptr; });
  if (none) return failure.error();
  return make_spread_searcher(model->path(), std::move(slices), threads_, log_);
}

// Adds the segments to an arena that suits them. Returns null if there is none.
Placement::Opened Placement::add_segments(const Devices& devices, const ModelPtr& model,
                                          const InterruptCheck& interrupted) {
  std::shared_ptr<Searcher> opened;
  for (auto& arena : arenas_of(0)) {
    const auto& device = arena->device();
    if (std::ranges::find(devices, device) == devices.end() || !device->available().ok()) continue;
    const auto work = [&]() -> Status {
      if (!arena->suits(*model)) return {};
      GLOVE_RETURN_IF_ERROR(arena->add(model, interrupted));
      opened = make_segment_searcher(arena, model);
      return {};
    };
    GLOVE_RETURN_IF_ERROR(device->in_turn(interrupted, work));
    if (opened != nullptr) break;
  }
  return opened;
}

Placement::Opened Placement::open_segments(Devices devices, const ModelPtr& model,
                                           const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(auto opened, add_segments(devices, model, interrupted));
  if (opened != nullptr) return opened;
  if (devices.size() > 1) sort_by_use(devices);
  Status first_failure;
  for (const auto& device : devices) {
    const auto made = upload(device, model, interrupted, [&](const std::shared_ptr<Arena>& arena) {
      opened = make_segment_searcher(arena, model);
    });
    if (made.ok()) return opened;
    if (!is_device_failure(made.error())) return made.error();
    if (first_failure.ok()) first_failure = made.status();
  }
  return first_failure.error();
}

void Placement::log_unusable(const SharedDevice& device, const std::string& reason) const {
  if (log_ != nullptr)
    log_->write_once(device.name() + ": " + reason, device.name() + " is not used: " + reason);
}

}  // namespace glove::gpu
