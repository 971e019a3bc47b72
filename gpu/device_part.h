// A part of a model (model/model_part.h) in device memory. Kernels take it as a parameter.
#pragma once

#include <cstdint>

namespace glove::gpu {

// A CodeLevel with device addresses, padded to whole tiles of kTileRows rows. Padding rows are encoded like
// zero rows: codes 0, scale 0 and residual +infinity.
struct DeviceLevel {
  int32_t bits = 8;
  const int8_t* codes = nullptr;
  const float* scales = nullptr;
  const float* residuals = nullptr;
};

// A ModelPart with device addresses. Row numbers that a device returns count from the part's first row.
struct DevicePart {
  int64_t first_row = 0;
  int64_t rows = 0;
  int32_t dims = 0;
  const float* vectors = nullptr;         // [rows, dims]; null until they are uploaded
  const double* norms_squared = nullptr;  // [rows]; set if `vectors` is
  DeviceLevel level;
};

}  // namespace glove::gpu
