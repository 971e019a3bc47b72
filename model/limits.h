// The maximum sizes of a model. Readers reject larger inputs, and name the place in the file.
#pragma once

#include <cstdint>

namespace glove {

constexpr int64_t kMaxRows = 2147483647 - 64;  // ids are int32
constexpr int64_t kMaxDims = 65536;
constexpr int64_t kMaxWordBytes = 65536;

}  // namespace glove
