// Reads the codes of those parts of a model that have none in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "model/model_part.h"

namespace glove {

// Used by the thread that called Searcher::search(). What a function returns is valid until the next call.
class PartReader {
 public:
  virtual ~PartReader() = default;

  // Returns the codes of 8 bits of tiles [first, first + tiles_at_once(part)) of a part, or of as many as
  // there are. REQUIRES: `first` is a multiple of that number.
  virtual Result<std::span<const int8_t>> read_tiles(size_t part, int64_t first) = 0;
  virtual int64_t tiles_at_once(size_t part) const = 0;

  // Returns codes of 8 bits whose first row is this row of the model; none if it is not there any more.
  virtual Result<CodeLevel> read_row(int64_t row) = 0;

  // Returns the bytes of tiles [first, last) of plane one of a part.
  virtual Result<std::span<const uint8_t>> read_plane1(size_t part, int64_t first, int64_t last) = 0;
};

}  // namespace glove
