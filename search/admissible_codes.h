// The codes of the rows that a mask admits, copied into tiles of their own, so that a scan reads no others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/huge_pages.h"
#include "base/status.h"
#include "model/model.h"
#include "search/row_mask.h"

namespace glove {

// Immutable; any thread may use it.
class AdmissibleCodes {
 public:
  // Copies the codes of 8 bits on up to `threads` threads. REQUIRES: the mask is complete, is one of this
  // model, and admits a row. Errors: an interrupt.
  static Result<AdmissibleCodesPtr> copy(const Model& model, const RowMask& mask, int threads,
                                         const InterruptCheck& interrupted);
  // The memory that a copy of this many rows uses.
  static int64_t bytes(int64_t rows, int64_t dims);

  AdmissibleCodes(const AdmissibleCodes&) = delete;
  AdmissibleCodes& operator=(const AdmissibleCodes&) = delete;

  // Has one level, that of 8 bits, and neither vectors nor norms. Its row i is row rows()[i] of the model.
  const ModelPart& part() const { return part_; }
  std::span<const int32_t> rows() const { return rows_; }

 private:
  AdmissibleCodes(const Model& model, const RowMask& mask);
  void copy_tile(const Model& model, int64_t tile);

  std::vector<int32_t> rows_;  // ascending
  HugePageBuffer<int8_t> codes_;
  std::vector<float> scales_;
  std::vector<float> residuals_;
  std::vector<float> along_, lengths_;  // of codes that are shifted
  ModelPart part_;
};

}  // namespace glove
