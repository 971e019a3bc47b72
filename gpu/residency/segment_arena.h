// Device memory for the segments of a live index (live/segment.h). It has room for more of them, so that the
// segment of a sync is added by one small copy, and one scan reads all segments as one part.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "gpu/device/device.h"
#include "gpu/residency/counted_block.h"
#include "model/model.h"

namespace glove::gpu {

// The arrays of an arena's block. Each has `tiles` tiles and begins at a multiple of
// MemoryPlan::kAlignment.
struct ArenaPlan {
  int64_t tiles = 0;
  int64_t scales_at = 0;  // the codes begin at 0
  int64_t residuals_at = 0;
  int64_t bytes = 0;
};
ArenaPlan plan_arena(int64_t tiles, int64_t dims);

// Returns how many tiles the parts of a model have, each padded to whole tiles.
int64_t tiles_of_parts(const Model& model);

// Holds parts of models: the segments of one live index, in whole tiles. A part is recognised by the address
// of its codes and their number, which stay in host memory as long as the arena lives. Members may be called
// only within SharedDevice::in_turn() of its device, except for device() and device_bytes(). Meanwhile
// searches read the tiles of earlier calls, which never change.
class SegmentArena {
 public:
  // Allocates an arena for the parts of a model and for others. room: the most bytes that it may have.
  // kOutOfMemory, with the numbers in the message, if the parts alone do not fit.
  static Result<std::shared_ptr<SegmentArena>> make(std::shared_ptr<SharedDevice> device, const Model& model,
                                                    int64_t room);
  SegmentArena(int64_t dims, const ArenaPlan& plan, CountedBlock block);
  SegmentArena(const SegmentArena&) = delete;
  SegmentArena& operator=(const SegmentArena&) = delete;

  // Whether it can hold the parts of this model and is worth it: part of the model is here, the rest fits
  // behind it, and at most a quarter of what a scan would then read belongs to other models.
  bool suits(const Model& model) const;

  // Copies the parts of the model that are not here yet. After an error none of them is.
  Status add(const ModelPtr& model, const InterruptCheck& interrupted);

  // Returns the first tile of each part of a model. REQUIRES: add() was called with the model.
  std::vector<int64_t> tiles_of(const Model& model) const;

  // Returns the first `tiles` tiles as one part, whose rows include padding.
  DevicePart part(int64_t tiles) const;

  const std::shared_ptr<SharedDevice>& device() const { return block_.device(); }
  int64_t device_bytes() const { return block_.bytes(); }

 private:
  struct Place {
    const int8_t* codes;
    int64_t rows;
    int64_t first_tile;
  };
  std::optional<Place> find(const ModelPart& part) const;

  const int64_t dims_;
  const ArenaPlan plan_;
  const CountedBlock block_;
  std::vector<Place> places_;
  std::vector<ModelPtr> models_;  // keep the codes' addresses from being used for anything else
  int64_t end_ = 0;               // in tiles
};

}  // namespace glove::gpu
