// Synthetic rows in memory, as a model without words: unit vectors around 4,096 centres, with the codes of
// both widths. Row i depends on the seed and on i only.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "model/model.h"

namespace glove::bench {

class GiantRows {
 public:
  // The number of rows must be a multiple of this, so that every array ends with a page of memory.
  static constexpr int64_t kUnit = 1024;

  // Makes the rows on all cores.
  static Result<GiantRows> make(uint64_t seed, int64_t rows, int64_t dims);

  // Returns the first rows. REQUIRES: rows is a multiple of kTileRows, and there are so many.
  ModelPtr first(int64_t rows) const;

  // Returns all rows, `times` times one after another, with the 8-bit codes only. All copies are the same
  // memory.
  Result<ModelPtr> repeated(int64_t times) const;

  // Bytes of memory that the arrays take.
  int64_t bytes() const;

 private:
  struct Arrays;
  explicit GiantRows(std::shared_ptr<Arrays> arrays);

  std::shared_ptr<Arrays> arrays_;
  ModelPtr all_;
};

// Fills x, [dims], with row number `row`. centres: [kCentres, dims].
constexpr int64_t kCentres = 4096;
void make_row(uint64_t seed, int64_t row, const float* centres, int64_t dims, float* x);
void make_centre(uint64_t seed, int64_t centre, int64_t dims, float* x);

}  // namespace glove::bench
