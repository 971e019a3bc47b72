// Whether a request can be answered approximately, and what its search reads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cpu/kernels/kernels.h"
#include "cpu/search/scan.h"
#include "lists/recall_table.h"
#include "model/model_part.h"
#include "search/searcher.h"

namespace glove::cpu {

// How a calibration applies to the rows that a search may return, which are not those that were calibrated.
// `density` = rows now / calibrated rows; a search for k uses the calibration of k / density.
struct ProbePlan {
  const RecallTable* table;
  int64_t rows;  // in lists when they were calibrated
  int which;     // class of the calibration
  int64_t k;  // rows that the search looks for: those that are left of the class's, or at least the request's
};

// Returns nullopt if the request does not allow an approximate search, or the lists were not calibrated for
// it; `unmet` says why then (ScanCost::unmet).
std::optional<ProbePlan> plan_probe(const ScanContext& context, const SearchRequest& request,
                                    std::string_view& unmet);

// Returns the offsets of the lists if all parts' rows in them were as many as those of the calibration;
// nothing if those of the only part are.
std::vector<int64_t> calibrated_offsets(std::span<const ModelPart> parts, const ProbePlan& plan);

// The calibration of a part's lists; null if it has none.
inline const RecallTable* table_of(const ModelPart& part) {
  return part.planes == nullptr ? nullptr : part.planes->recall;
}

// Some tiles of a part, whose plane one is elsewhere, as a part of their own. Its first list is one of the
// whole part's.
class PlanePiece {
 public:
  PlanePiece(const ModelPart& whole, const PlaneTiles& tiles, std::span<const uint8_t> plane1);
  PlanePiece(const PlanePiece&) = delete;
  PlanePiece& operator=(const PlanePiece&) = delete;

  const ModelPart& part() const { return part_; }
  size_t first_list() const { return first_list_; }

 private:
  std::vector<int64_t> offsets_;
  PlaneLevel level_;
  ModelPart part_;
  size_t first_list_;
};

}  // namespace glove::cpu
