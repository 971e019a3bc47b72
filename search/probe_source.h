// What an approximate search reads of rows in lists whose codes are not in memory.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "model/model_part.h"

namespace glove {

// Used by the thread that called Searcher::search().
class ProbeSource {
 public:
  virtual ~ProbeSource() = default;

  // Returns the bytes of tiles [first, last) of plane one of a part of the model, valid until the next call.
  virtual Result<std::span<const uint8_t>> read_plane1(size_t part, int64_t first, int64_t last) = 0;

  // Returns codes of 8 bits whose first row is this row of the model; none if it is not there any more. Valid
  // until the next call.
  virtual Result<CodeLevel> read_codes(int64_t row) = 0;
};

}  // namespace glove
