// Searches a live index whose segments are in device memory. Their vectors are in the user's table, so the
// searcher returns candidates, as Searcher::search() describes for a model without vectors.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gpu/residency/arena.h"
#include "gpu/residency/device_masks.h"
#include "search/searcher.h"

namespace glove::gpu {

// One launch reads all segments. Rows that a query excludes, of which a live index may have many, are hidden
// by a mask; each excluded row that the last mask lacks costs one more candidate.
class SegmentSearcher final : public Searcher {
 public:
  // REQUIRES: the arena has the model's parts; the caller is within SharedDevice::in_turn().
  SegmentSearcher(std::shared_ptr<Arena> arena, ModelPtr model);

  Status search(std::span<SearchRequest> requests) override;
  // kUnavailable: there are no vectors.
  Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                   ScanCost& cost) override;
  SearcherInfo info() const override;

 private:
  Result<DeviceMasks::MaskPtr> mask_for(const Query& query, const InterruptCheck& interrupted);
  Status search_alike(std::span<SearchRequest> requests, const InterruptCheck& interrupted);
  void take_candidates(int64_t first_row, SearchRequest& request) const;

  const std::shared_ptr<Arena> arena_;
  const ModelPtr model_;
  std::vector<const ModelPart*> parts_;  // in the order of their tiles
  DeviceCoding coding_;                  // set if the codes are shifted
  DevicePart part_;                      // everything up to the model's last tile
  bool has_foreign_tiles_;               // part_ includes tiles of other models
  std::optional<DeviceMasks> masks_;     // of part_
};

}  // namespace glove::gpu
