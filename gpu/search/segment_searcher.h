// Searches a live index whose segments are in device memory. Their vectors are in the user's table, so the
// searcher returns candidates, as Searcher::search() describes for a model without vectors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "gpu/residency/arena.h"
#include "search/searcher.h"

namespace glove::gpu {

// One launch reads all segments. Rows that a query excludes, of which a live index may have many, are made
// inadmissible by another array of residuals, and the few by which a query differs from those cost as many
// more candidates.
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
  // A part of the model, and the row of part_ with which it begins.
  struct Placed {
    int64_t first_row;
    const ModelPart* part;
  };

  // Residuals for all rows of part_, +infinity for those that are not rows of the model or that are hidden.
  // Its memory counts as used by models.
  struct Mask {
    Mask(SharedDevice& on, std::vector<int32_t> rows, DeviceBlock block)
        : device(on), hidden(std::move(rows)), residuals(std::move(block)) {
      device.count_bytes(residuals.bytes());
    }
    ~Mask() { device.count_bytes(-residuals.bytes()); }
    Mask(const Mask&) = delete;
    Mask& operator=(const Mask&) = delete;

    SharedDevice& device;
    const std::vector<int32_t> hidden;  // row ids, ascending
    const DeviceBlock residuals;
  };
  using MaskPtr = std::shared_ptr<const Mask>;

  Result<MaskPtr> mask_for(const std::vector<int32_t>& hidden, const InterruptCheck& interrupted);
  void fill_residuals(const std::vector<int32_t>& hidden, int64_t first, std::span<float> residuals) const;
  Status copy_residuals(CopyRing& ring, const std::vector<int32_t>& hidden, std::byte* to,
                        const InterruptCheck& interrupted) const;
  Result<MaskPtr> make_mask(const std::vector<int32_t>& hidden, const InterruptCheck& interrupted);
  Status search_alike(std::span<SearchRequest> requests, const InterruptCheck& interrupted);
  void take_candidates(SearchRequest& request) const;

  const std::shared_ptr<Arena> arena_;
  const ModelPtr model_;
  std::vector<Placed> placed_;  // by first row
  DevicePart part_;             // everything up to the model's last tile
  bool has_foreign_tiles_;      // part_ includes tiles of other models
  mutable ForkSafeMutex mutex_;
  MaskPtr mask_ GLOVE_GUARDED_BY(mutex_);  // the last one; null if none was needed so far
};

}  // namespace glove::gpu
