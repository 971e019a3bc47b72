// Signs that BLOBs which are read as float32 have numbers of another type. bfloat16 and bytes show none.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "base/status.h"
#include "loader/formats/elements.h"

namespace glove::sql {

// Whether the BLOB has float64 that were float32: the low half of each then ends in 29 zero bits, and some
// are far beyond the other components. Takes no time for others.
bool has_widened_floats(std::span<const float> vector);

// Whether a BLOB that should have numbers of this type has ordinary float32 instead: its numbers are not
// finite, or reach over more than six powers of ten, while as float32 they do not. False for other types than
// those of 16 bits.
bool are_rather_float32(std::span<const std::byte> bytes, ElementType type);

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
