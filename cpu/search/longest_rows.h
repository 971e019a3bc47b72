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
  // Returns the copy for a search of so many queries, by falling length; null if there is none, because the
  // model is small, ranks by something else than inner products, has lengths that differ too little or rows
  // without a bound, or because too few queries came before, or the copy has not paid. REQUIRES: always the
  // same model. Errors: an interrupt.
  Result<CopiedCodesPtr> codes(const Model& model, int64_t queries, int threads,
                               const InterruptCheck& interrupted);
  // How many queries of a search the copy has answered, and how many it has not. Once it has cost more than
  // it saved, it is dropped.
  void count(int64_t answered, int64_t unanswered);

 private:
  ForkSafeMutex mutex_;
  int64_t queries_ GLOVE_GUARDED_BY(mutex_) = 0;
  bool was_made_ GLOVE_GUARDED_BY(mutex_) = false;
  int64_t balance_ GLOVE_GUARDED_BY(mutex_) = 0;  // of scans of as many rows as the copy has
  CopiedCodesPtr codes_ GLOVE_GUARDED_BY(mutex_);
};

}  // namespace glove::cpu
