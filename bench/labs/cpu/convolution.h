// 3 x 3 convolution of a float32 matrix, step by step. Values beyond the border are 0.
#pragma once

#include <cstdint>

namespace glove::labs {

// in and out [rows, columns]
struct Convolution {
  const float* in;
  int64_t rows;
  int64_t columns;
  float weights[3][3];
  float* out;
};

// The lab's: nine products per value, with a test of the border for each.
void lab_convolution(const Convolution& task);

// Sixteen values at a time, the border apart; a share of the rows per thread.
//   at_once      1 or 4 rows of the result, which share what they read
//   past_caches  writes without reading the output's lines first
void convolve_rows(const Convolution& task, int threads, int at_once, bool past_caches);

// A copy by the same threads, which write past the caches as well: the limit.
void copy_rows(const Convolution& task, int threads);

}  // namespace glove::labs
