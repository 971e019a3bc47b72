// The copies of a model's rows that searches read.
#pragma once

#include <cstdint>

namespace glove {

// What a search for one query reads of every row. A search that began with a coarser level than 8 bits goes
// on with these once that promises to be faster, and a model without one is scanned by them.
enum class FirstLevel : uint8_t {
  kFastest,   // what promises to be
  kCoarsest,  // planes, or 4 bits
  kCodes8,
};

namespace cpu {

// A copy of a model's rows, which bounds their scores, or as vectors tells them.
enum class Level : uint8_t { kVectors, kCodes8, kCodes4, kPlanes };

}  // namespace cpu
}  // namespace glove
