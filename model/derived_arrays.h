// What a model stores beside vectors and words, computed from them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace glove {

struct DerivedArrays {
  std::vector<double> norms_squared;
  std::vector<int8_t> codes;  // in tiles
  std::vector<float> scales;
  std::vector<float> residuals;
  std::vector<int32_t> sorted_ids;

  // Norms, codes, scales and residuals of [rows, dims] vectors, on up to `threads` threads. An error, which
  // begins with `source`, names the first row with a NaN or an infinity.
  Status compute_rows(const std::string& source, std::span<const float> vectors, int64_t rows, int64_t dims,
                      int threads);

  // The sorted order of words as Vocabulary sees them.
  void compute_order(std::span<const char> word_bytes, std::span<const int64_t> word_offsets);
};

}  // namespace glove
