#include "gpu/residency/device_masks.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "model/quantize.h"

namespace glove::gpu {
namespace {

constexpr size_t kMostKept = 8;

// Copies the words through the ring's blocks.
Status copy_words(CopyRing& ring, std::span<const std::byte> words, std::byte* to,
                  const InterruptCheck& interrupted) {
  int slot = 0;
  while (!words.empty()) {
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    GLOVE_RETURN_IF_ERROR(ring.wait(slot));
    const auto piece = words.first(std::min(words.size(), ring.block(slot).size()));
    std::memcpy(ring.block(slot).data(), piece.data(), piece.size());
    GLOVE_RETURN_IF_ERROR(ring.copy(slot, to, static_cast<int64_t>(piece.size())));
    to += piece.size();
    words = words.subspan(piece.size());
    slot = (slot + 1) % ring.slots();
  }
  return {};
}

// Counts the bits of words: as std::popcount, in steps that compilers turn into SIMD instructions.
int64_t rows_in(std::span<const uint32_t> words) {
  int64_t rows = 0;
  for (uint32_t word : words) {
    word -= word >> 1 & 0x55555555u;
    word = (word & 0x33333333u) + (word >> 2 & 0x33333333u);
    word = (word + (word >> 4)) & 0x0f0f0f0fu;
    word += word >> 8;
    rows += (word + (word >> 16)) & 63u;
  }
  return rows;
}

// Whether both are the same, without locking one, which could have to free it with a lock held.
bool are_same(const std::weak_ptr<const RowMask>& kept, const RowMaskPtr& among) {
  return !kept.owner_before(among) && !among.owner_before(kept);
}

// Whether a mask without some hidden rows also serves where these are hidden.
bool serves(const std::vector<int32_t>& some, const std::vector<int32_t>& hidden, size_t most_left) {
  return some.size() <= hidden.size() && hidden.size() - some.size() <= most_left &&
         (some == hidden || std::ranges::includes(hidden, some));
}

}  // namespace

Result<DeviceBlock> SpareBlocks::take() {
  {
    const Lock lock(mutex_);
    if (!spare_.empty()) {
      DeviceBlock block = std::move(spare_.back());
      spare_.pop_back();
      return block;
    }
  }
  GLOVE_ASSIGN_OR_RETURN(const int64_t room, device_.room_for(8 * bytes_));
  if (bytes_ > room)
    return Error{ErrorCode::kOutOfMemory, "the mask of the rows to search needs " + std::to_string(bytes_) +
                                              " bytes of device memory"};
  GLOVE_ASSIGN_OR_RETURN(DeviceBlock block, device_.device().allocate(bytes_));
  ++blocks_;
  device_.count_bytes(bytes_);
  return block;
}

void SpareBlocks::give_back(DeviceBlock block) {
  const Lock lock(mutex_);
  spare_.push_back(std::move(block));
}

DeviceMasks::DeviceMasks(std::shared_ptr<SharedDevice> device, std::vector<PlacedRows> placed)
    : device_(std::move(device)),
      placed_(std::move(placed)),
      tiles_(placed_.back().first_tile + tile_count(placed_.back().rows)),
      blocks_(
          shared_on(device_, new SpareBlocks(*device_, tiles_ * static_cast<int64_t>(sizeof(uint32_t))))) {}

DeviceMasks::MaskPtr DeviceMasks::find(const RowMaskPtr& among, const std::vector<int32_t>& hidden,
                                       size_t most_left) {
  const Lock lock(mutex_);
  const auto found = std::ranges::find_if(kept_, [&](const MaskPtr& mask) {
    return mask->admits_all == (among == nullptr) && are_same(mask->among, among) &&
           serves(mask->hidden, hidden, most_left);
  });
  if (found == kept_.end()) return nullptr;
  std::rotate(kept_.begin(), found, found + 1);
  return kept_.front();
}

Result<DeviceMasks::MaskPtr> DeviceMasks::mask_for(const RowMaskPtr& among,
                                                   const std::vector<int32_t>& hidden, size_t most_left,
                                                   const InterruptCheck& interrupted) {
  MaskPtr mask = find(among, hidden, most_left);
  if (mask != nullptr) return mask;
  const auto work = [&]() -> Status {
    GLOVE_ASSIGN_OR_RETURN(mask, make(among, hidden, interrupted));
    return {};
  };
  GLOVE_RETURN_IF_ERROR(device_->in_turn(interrupted, work));
  std::vector<MaskPtr> gone;  // freed when no lock is held
  const Lock lock(mutex_);
  // A mask of rows that no statement has any more is of no use; neither is a former one of the same rows.
  std::vector<MaskPtr> kept = {mask};
  for (MaskPtr& former : kept_) {
    const bool needed = !are_same(former->among, among) && (former->admits_all || !former->among.expired());
    (needed && kept.size() < kMostKept ? kept : gone).push_back(std::move(former));
  }
  kept_.swap(kept);
  return mask;
}

// Returns the word of each tile, and counts rows.
std::vector<uint32_t> DeviceMasks::words_of(const RowMask* among, const std::vector<int32_t>& hidden,
                                            std::vector<DeviceMask>& counts) const {
  std::vector<uint32_t> words(static_cast<size_t>(tiles_));
  for (const PlacedRows& placed : placed_) {
    const std::span<uint32_t> own = std::span(words).subspan(static_cast<size_t>(placed.first_tile),
                                                             static_cast<size_t>(tile_count(placed.rows)));
    for (size_t tile = 0; tile < own.size(); ++tile)
      own[tile] =
          among == nullptr ? ~0u : among->of_tile(placed.first_row + static_cast<int64_t>(tile) * kTileRows);
    const int64_t in_last = placed.rows % kTileRows;
    if (in_last > 0) own.back() &= (1u << in_last) - 1;
    const int64_t rows = rows_in(own);
    for (auto row = std::ranges::lower_bound(hidden, placed.first_row);
         row != hidden.end() && *row < placed.first_row + placed.rows; ++row) {
      const int64_t place = *row - placed.first_row;
      own[static_cast<size_t>(place / kTileRows)] &= ~(1u << place % kTileRows);
    }
    const auto tiles = static_cast<int64_t>(own.size()) - std::count(own.begin(), own.end(), 0u);
    const auto first = std::ranges::find_if(own, [](uint32_t word) { return word != 0; }) - own.begin();
    counts.push_back({nullptr, rows, std::min(tiles * kTileRows, placed.rows), tiles > 0 ? first : 0});
  }
  return words;
}

Result<DeviceMasks::MaskPtr> DeviceMasks::make(const RowMaskPtr& among, const std::vector<int32_t>& hidden,
                                               const InterruptCheck& interrupted) const {
  GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
  std::vector<DeviceMask> placed;
  const std::vector<uint32_t> words = words_of(among.get(), hidden, placed);
  GLOVE_ASSIGN_OR_RETURN(DeviceBlock block, blocks_->take());
  const auto* const begin = reinterpret_cast<const uint32_t*>(block.data());
  for (size_t i = 0; i < placed.size(); ++i) placed[i].words = begin + placed_[i].first_tile;
  // From here on it is given back also after an error.
  const MaskPtr mask =
      shared_on(device_, static_cast<const Mask*>(new Mask{blocks_, among, among == nullptr, hidden,
                                                           std::move(block), std::move(placed)}));
  GLOVE_ASSIGN_OR_RETURN(const auto ring, device_->device().take_ring());
  Status status = copy_words(*ring, std::as_bytes(std::span(words)), mask->words.data(), interrupted);
  Status copied = ring->wait_for_all();
  GLOVE_RETURN_IF_ERROR(std::move(status));
  GLOVE_RETURN_IF_ERROR(std::move(copied));
  return mask;
}

}  // namespace glove::gpu
