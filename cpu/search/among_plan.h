// How to search among few rows.
#pragma once

#include <span>

#include "base/status.h"
#include "cpu/search/scan.h"
#include "search/admissible_codes.h"
#include "search/searcher.h"

namespace glove::cpu {

// What promises to be fastest for requests that have the same mask.
struct AmongPlan {
  bool scores = false;       // score every admissible row, and scan none
  AdmissibleCodesPtr codes;  // a copy to scan; null: scan the model's tiles that have an admissible row
};

// Makes the copy if it pays: if this search and the earlier ones with the mask would have saved what copying
// costs. Without a mask it plans a scan of the model. REQUIRES: there is a request, and the masks are the
// same. Errors: an interrupt.
Result<AmongPlan> plan_among(const ScanContext& context, std::span<SearchRequest> requests);

}  // namespace glove::cpu
