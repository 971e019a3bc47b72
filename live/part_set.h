// The segments of a live index as one model, whose rows a searcher can scan.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "live/segment.h"
#include "search/model_searchers.h"
#include "search/row_mask.h"

namespace glove::live {

// Immutable; any thread may use it. The rows of the model are those of the segments, one segment after the
// other. The model has no vectors and no words.
class PartSet {
 public:
  // REQUIRES: there is a segment, all have the same dimensions, and their rows together do not exceed
  // kMaxRows. The engine must outlive the object.
  PartSet(Engine& engine, std::vector<SegmentPtr> segments);

  const std::vector<SegmentPtr>& segments() const { return *segments_; }
  ModelSearchers& searchers() const { return *searchers_; }
  const Model& model() const { return *searchers_->model(); }

  // Returns the id of a row of the model. REQUIRES: the row exists.
  int64_t id_of(int32_t row) const;
  // Returns the position of its segment, and its row in it.
  std::pair<size_t, int64_t> place_of(int32_t row) const;

  // Returns the row of the model that begins a segment.
  int64_t first_row(size_t segment) const { return model().parts()[segment].first_row; }

 private:
  std::shared_ptr<const std::vector<SegmentPtr>> segments_;
  ModelSearchersPtr searchers_;
};

// Returns the rows of the set that have a key of `keys` as their id. Errors: an interrupt.
Result<RowMaskPtr> admissible_rows(const KeySet& keys, const PartSet& set, const InterruptCheck& interrupted);

// Shared by the connections of a process, so that each segment is open once on a backend.
using PartSetPtr = std::shared_ptr<const PartSet>;

// Returns the set of these segments, which somebody in the process may hold already. REQUIRES and lifetimes
// as for PartSet. Any thread may call it.
PartSetPtr share_part_set(Engine& engine, const std::vector<SegmentPtr>& segments);

// The same, or null if nobody holds it.
PartSetPtr find_part_set(Engine& engine, const std::vector<SegmentPtr>& segments);

}  // namespace glove::live
