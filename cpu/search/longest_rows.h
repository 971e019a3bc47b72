// The order of a search by inner product: the longest rows first, because |q| times a length bounds the
// scores of all shorter rows.
#pragma once

#include <cstdint>

#include "base/mutex.h"
#include "base/status.h"
#include "model/model.h"
#include "search/row_mask.h"

namespace glove::cpu {

// Keeps a copy of the longest rows' codes for the searches of one model. Thread-safe.
class LongestRows {
 public:
  // Returns the copy, by falling length; null if there is none: at the first search, if scores are no inner
  // products, and if lengths differ by too little for it to pay. REQUIRES: always the same model. Errors: an
  // interrupt.
  Result<AdmissibleCodesPtr> codes(const Model& model, int threads, const InterruptCheck& interrupted);

 private:
  ForkSafeMutex mutex_;
  int64_t searches_ GLOVE_GUARDED_BY(mutex_) = 0;
  AdmissibleCodesPtr codes_ GLOVE_GUARDED_BY(mutex_);
};

}  // namespace glove::cpu
