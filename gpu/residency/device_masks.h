// Which rows of a model on a device searches may return, in device memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "gpu/layout/device_part.h"
#include "gpu/residency/shared_device.h"
#include "search/row_mask.h"

namespace glove::gpu {

// Consecutive rows of a model that fill whole tiles of a device.
struct PlacedRows {
  int64_t first_tile;
  int64_t first_row;  // its id
  int64_t rows;
};

// Device memory in blocks of one size, which are used again: allocating and freeing one takes longer than a
// search. It counts as used by models. Thread-safe.
class SpareBlocks {
 public:
  SpareBlocks(SharedDevice& device, int64_t bytes) : device_(device), bytes_(bytes) {}
  ~SpareBlocks() { device_.count_bytes(-bytes_ * blocks_); }

  // REQUIRES: the caller is within SharedDevice::in_turn().
  Result<DeviceBlock> take();
  void give_back(DeviceBlock block);

  int64_t bytes() const { return bytes_ * blocks_; }  // of all blocks

 private:
  SharedDevice& device_;
  const int64_t bytes_;
  std::atomic<int64_t> blocks_{0};
  ForkSafeMutex mutex_;
  std::vector<DeviceBlock> spare_ GLOVE_GUARDED_BY(mutex_);
};

// Makes masks of the rows that queries admit (Query::among) and of those that they hide, and keeps the last
// ones. Thread-safe.
class DeviceMasks {
 public:
  // One word per tile.
  struct Mask {
    ~Mask() { blocks->give_back(std::move(words)); }

    const std::shared_ptr<SpareBlocks> blocks;
    const std::weak_ptr<const RowMask> among;
    const bool admits_all;              // there was no `among`
    const std::vector<int32_t> hidden;  // row ids, ascending
    DeviceBlock words;
    std::vector<DeviceMask> placed;  // of each PlacedRows; `rows` counts hidden ones as well
  };
  using MaskPtr = std::shared_ptr<const Mask>;

  // Tiles that hold none of the rows are never admissible.
  //   placed  by first tile, and at least one
  DeviceMasks(std::shared_ptr<SharedDevice> device, std::vector<PlacedRows> placed);

  // Returns a mask of the rows in `among` (null: of all), without hidden ones: all of `hidden` but at most
  // `most_left` rows. Errors: an interrupt, or too little memory.
  Result<MaskPtr> mask_for(const RowMaskPtr& among, const std::vector<int32_t>& hidden, size_t most_left,
                           const InterruptCheck& interrupted);

  std::span<const PlacedRows> placed() const { return placed_; }
  int64_t bytes() const { return blocks_->bytes(); }  // of device memory

 private:
  MaskPtr find(const RowMaskPtr& among, const std::vector<int32_t>& hidden, size_t most_left);
  Result<MaskPtr> make(const RowMaskPtr& among, const std::vector<int32_t>& hidden,
                       const InterruptCheck& interrupted) const;
  std::vector<uint32_t> words_of(const RowMask* among, const std::vector<int32_t>& hidden,
                                 std::vector<DeviceMask>& counts) const;

  const std::shared_ptr<SharedDevice> device_;
  const std::vector<PlacedRows> placed_;
  const int64_t tiles_;
  const std::shared_ptr<SpareBlocks> blocks_;
  ForkSafeMutex mutex_;
  std::vector<MaskPtr> kept_ GLOVE_GUARDED_BY(mutex_);  // the last one first
};

}  // namespace glove::gpu
