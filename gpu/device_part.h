// A part of a model (model/model_part.h) in device memory. Kernels take it as it is.
#pragma once

#include <cstdint>

namespace glove::gpu {

// CodeLevel with device addresses, padded to whole tiles of kTileRows rows: padding rows have codes 0, scale
// 0 and residual +infinity, as zero rows have.
struct DeviceLevel {
  int32_t bits = 8;
  const int8_t* codes = nullptr;
  const float* scales = nullptr;
  const float* residuals = nullptr;
};

// ModelPart with device addresses. Row numbers that a device returns count from the part's first row.
struct DevicePart {
  int64_t first_row = 0;
  int64_t rows = 0;
  int32_t dims = 0;
  const float* vectors = nullptr;         // [rows, dims], or null if they are not (yet) there
  const double* norms_squared = nullptr;  // [rows], there if `vectors` are
  DeviceLevel level;
};

}  // namespace glove::gpu
