// The codes of some rows, copied into tiles of their own, so that a scan reads no others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/huge_pages.h"
#include "base/status.h"
#include "model/model.h"
#include "search/row_mask.h"

namespace glove {

// Immutable; any thread may use it.
class CopiedCodes {
 public:
  // Copies the codes of 8 bits of these rows, in their order, on up to `threads` threads. REQUIRES: there is
  // a row, and none is there twice. Errors: an interrupt.
  static Result<CopiedCodesPtr> copy(const Model& model, std::vector<int32_t> rows, int threads,
                                     const InterruptCheck& interrupted, double next_length = kNoLength);
  // The memory that a copy of this many rows uses.
  static int64_t bytes(int64_t rows, int64_t dims);

  CopiedCodes(const CopiedCodes&) = delete;
  CopiedCodes& operator=(const CopiedCodes&) = delete;

  // Has one level, that of 8 bits, and neither vectors nor norms. Its row i is row rows()[i] of the model.
  const ModelPart& part() const { return part_; }
  std::span<const int32_t> rows() const { return rows_; }
  // Whether these are the rows with the greatest CodeLevel::lengths, by falling length. next_length() is the
  // next length then. Otherwise they are all rows that may be in an answer.
  bool is_by_length() const { return next_length_ != kNoLength; }
  double next_length() const { return next_length_; }

 private:
  static constexpr double kNoLength = -1;

  CopiedCodes(const Model& model, std::vector<int32_t> rows, double next_length);
  void copy_tile(const Model& model, int64_t tile);

  std::vector<int32_t> rows_;
  double next_length_;
  HugePageBuffer<int8_t> codes_;
  std::vector<float> scales_;
  std::vector<float> residuals_;
  std::vector<float> along_, lengths_;  // of codes that are shifted
  ModelPart part_;
};

}  // namespace glove
