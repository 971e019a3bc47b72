// The codes of 4 bits of a part whose file has planes in their place.
#pragma once

#include <vector>

#include "base/huge_pages.h"
#include "base/status.h"
#include "model/model_part.h"

namespace glove {

struct DerivedLevel4 {
  HugePageBuffer<int8_t> codes;
  std::vector<float> scales;
  std::vector<float> residuals;

  // A view of the arrays, which they must outlive.
  CodeLevel level() const { return {4, codes, scales, residuals}; }
};

// Computes from a part's vectors what a file without lists has, bit for bit, on up to `threads` threads (0 =
// the cores that this process may use). The only error is kInterrupted.
Result<DerivedLevel4> derive_level4(const ModelPart& part, int threads, const InterruptCheck& interrupted);

}  // namespace glove
