// Signs that BLOBs which are read as float32 have numbers of another type. bfloat16 and bytes show none.
#pragma once

#include <array>
#include <span>
#include <string>

#include "base/status.h"
#include "loader/formats/elements.h"

namespace glove::sql {

// Whether the BLOB has float64 that were float32: the low half of each then ends in 29 zero bits, and some
// are far beyond the other components. Takes no time for others.
bool has_widened_floats(std::span<const float> vector);

// Whether a BLOB that was read as numbers of this type has float32 instead: more than two fifths of the lower
// halves are then far from the upper ones (by six powers of ten; 64 times, for float16), or the highest bytes
// are those of float32. Never true of numbers that are all of about one magnitude.
bool are_rather_float32(std::span<const float> vector, ElementType type);

// Looks at the first BLOBs of a column.
class BlobTypes {
 public:
  // Call it for each BLOB.
  void add(std::span<const float> vector);
  // An error if most of the BLOBs have the signs of another type. `subject` begins the message, and `remedy`
  // ends it.
  Status check(const std::string& subject, const std::string& remedy) const;

 private:
  int looked_at_ = 0;
  std::array<int, 2> likely_{};  // how many of them float64 and float16 are
};

}  // namespace glove::sql
