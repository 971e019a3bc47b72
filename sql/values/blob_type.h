// Signs that BLOBs which are read as float32 have numbers of another type. bfloat16 and bytes show none.
#pragma once

#include <array>
#include <span>
#include <string>

#include "base/status.h"

namespace glove::sql {

// Whether the BLOB has float64 that were float32: the low half of each then ends in 29 zero bits, and some
// are far beyond the other components. Takes no time for others.
bool has_widened_floats(std::span<const float> vector);

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
