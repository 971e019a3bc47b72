#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "base/timer.h"
#include "gpu/residency/device_masks.h"
#include "gpu/residency/model_slice.h"
#include "gpu/search/searchers.h"
#include "lists/code_estimate.h"
#include "model/quantize.h"

namespace glove::gpu {
namespace {

// A query may exclude up to this many rows beyond those that the mask hides.
constexpr size_t kMostUnmasked = 32;

bool same_rows(const SearchRequest& a, const SearchRequest& b) {
  return a.query->excluded == b.query->excluded && a.query->among == b.query->among;
}

// Candidates that a thread bounds in more time than it takes to wake up.
constexpr size_t kBoundsPerThread = 256;

// The mask of all segments as one part.
DeviceMask joined(const DeviceMasks::Mask& mask, std::span<const PlacedRows> placed) {
  DeviceMask all = {reinterpret_cast<const uint32_t*>(mask.words.data())};
  for (size_t i = 0; i < placed.size(); ++i) {
    const DeviceMask& own = mask.placed[i];
    if (all.rows_of_tiles == 0) all.first_tile = placed[i].first_tile + own.first_tile;
    all.rows += own.rows;
    all.rows_of_tiles += own.rows_of_tiles;
  }
  return all;
}

// One launch reads all segments. Rows that a query excludes, of which a live index may have many, are hidden
// by a mask; each excluded row that the last mask lacks costs one more candidate.
class SegmentSearcher final : public Searcher {
 public:
  SegmentSearcher(std::shared_ptr<Arena> arena, ModelPtr model)
      : arena_(std::move(arena)), model_(std::move(model)) {
    const std::vector<int64_t> first_tiles = arena_->tiles_of(*model_);
    std::vector<std::pair<int64_t, const ModelPart*>> parts;
    for (const ModelPart& part : model_->parts()) parts.emplace_back(first_tiles[parts.size()], &part);
    std::ranges::sort(parts);
    std::vector<PlacedRows> placed;
    for (const auto& [first_tile, part] : parts) {
      parts_.push_back(part);
      placed.push_back({first_tile, part->first_row, part->rows});
    }
    const int64_t tiles = placed.back().first_tile + tile_count(placed.back().rows);
    part_ = arena_->first_tiles(tiles);
    if (model_->is_shifted()) {
      coding_ = device_coding(*model_);
      part_.coding = &coding_;
    }
    part_.mask.rows = model_->words();  // and no padding
    has_foreign_tiles_ = tiles != tiles_of_parts(*model_);
    masks_.emplace(arena_->device(), std::move(placed));
  }

  Status search(std::span<SearchRequest> requests) override {
    const SharedInterrupt shared(requests);
    while (!requests.empty()) {
      size_t alike = 1;
      while (alike < requests.size() && same_rows(requests[0], requests[alike])) ++alike;
      GLOVE_RETURN_IF_ERROR(search_alike(requests.first(alike), shared.check()));
      requests = requests.subspan(alike);
    }
    return {};
  }

  Status score_all(const Query&, std::span<double>, const InterruptCheck&, ScanCost&) override {
    return {ErrorCode::kUnavailable, model_->path() + " has its vectors in a table, and not on the device"};
  }

  SearcherInfo info() const override {
    return arena_->device()->info(arena_->device_bytes() + masks_->bytes());
  }

 private:
  // Returns null if no mask is needed.
  Result<DeviceMasks::MaskPtr> mask_for(const Query& query, const InterruptCheck& interrupted) {
    if (query.among == nullptr && !has_foreign_tiles_ && query.excluded.size() <= kMostUnmasked)
      return DeviceMasks::MaskPtr();
    return masks_->mask_for(query.among, query.excluded, kMostUnmasked, interrupted);
  }

  // Searches for requests with the same rows.
  Status search_alike(std::span<SearchRequest> requests, const InterruptCheck& interrupted) {
    const std::vector<int32_t>& hidden = requests.front().query->excluded;
    GLOVE_ASSIGN_OR_RETURN(const DeviceMasks::MaskPtr mask, mask_for(*requests.front().query, interrupted));
    DevicePart part = part_;
    if (mask != nullptr) {
      part.mask = joined(*mask, masks_->placed());
      part = from_first_admissible(part);
    }
    for (SearchRequest& request : requests) request.rows.clear();
    if (part.rows_to_scan() == 0) return {};
    int64_t top_rows = 0;
    for (const SearchRequest& request : requests) top_rows = std::max(top_rows, request.k);
    top_rows += static_cast<int64_t>(hidden.size() - (mask != nullptr ? mask->hidden.size() : 0));
    GLOVE_RETURN_IF_ERROR(arena_->device()->run([&](Device& device) {
      return device.propose(part, requests, std::min(top_rows, part.rows), interrupted);
    }));
    const Timer timer;
    size_t rows = 0;
    for (const SearchRequest& request : requests) rows += request.rows.size();
    const auto threads = static_cast<int>(std::clamp<size_t>(rows / kBoundsPerThread, 1, 16));
    const auto take = [&](int, int64_t i) {
      take_candidates(part.first_row, requests[static_cast<size_t>(i)]);
    };
    GLOVE_RETURN_IF_ERROR(
        ThreadPool::for_each(std::min(threads, usable_cores()), std::ssize(requests), interrupted, take));
    ScanCost cost;
    cost.select_us = timer.microseconds();
    charge(requests, cost);
    return {};
  }

  // Replaces the device's candidates, whose rows count from `first_row`, by those that a caller may have,
  // with the model's ids and bounds.
  void take_candidates(int64_t first_row, SearchRequest& request) const {
    const Query& query = *request.query;
    QuantizedQuery quantized;  // for bounds that the device does not return
    std::vector<Neighbor> rows;
    rows.reserve(request.rows.size());
    for (const Neighbor& found : request.rows) {
      const auto placed = masks_->placed();
      const int64_t on_device = first_row + found.id;
      const auto after = std::ranges::upper_bound(placed, on_device / kTileRows, {}, &PlacedRows::first_tile);
      if (after == placed.begin()) continue;
      const ModelPart& part = *parts_[static_cast<size_t>(after - placed.begin()) - 1];
      const int64_t row = on_device - (after - 1)->first_tile * kTileRows;
      if (row >= part.rows) continue;
      const auto id = static_cast<int32_t>(part.first_row + row);
      if (std::ranges::binary_search(query.excluded, id)) continue;
      double bound = found.similarity;
      if (bound == kNoScore ||
          part_.coding != nullptr) {  // the device returns others for codes that are shifted
        if (quantized.codes.empty()) quantized = query_codes(*model_, query, kEstimateQueryCode);
        bound = code_bound(part.level(8), row, part.dims, quantized);
      }
      rows.push_back({id, bound});
    }
    std::ranges::sort(rows, ranks_before);
    request.rows = std::move(rows);
  }

  const std::shared_ptr<Arena> arena_;
  const ModelPtr model_;
  std::vector<const ModelPart*> parts_;  // in the order of their tiles
  DeviceCoding coding_;                  // set if the codes are shifted
  DevicePart part_;                      // everything up to the model's last tile
  bool has_foreign_tiles_;               // part_ includes tiles of other models
  std::optional<DeviceMasks> masks_;     // of part_
};

}  // namespace

std::shared_ptr<Searcher> make_segment_searcher(std::shared_ptr<Arena> arena, ModelPtr model) {
  return std::make_shared<SegmentSearcher>(std::move(arena), std::move(model));
}

}  // namespace glove::gpu
