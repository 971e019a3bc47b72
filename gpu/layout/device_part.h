// A part of a model (model/model_part.h) in device memory. Kernels take it as a parameter.
#pragma once

#include <cstddef>
#include <cstdint>

namespace glove::gpu {

// A CodeLevel with device addresses, padded to whole tiles of kTileRows rows. Padding rows are encoded like
// zero rows: codes 0, scale 0 and residual +infinity.
struct DeviceLevel {
  const int8_t* codes = nullptr;
  const float* scales = nullptr;
  const float* residuals = nullptr;
  // Of codes that are shifted (model/shifted_codes.h); otherwise null.
  const float* along = nullptr;
  const float* lengths = nullptr;
};

// The rows of a part that a search may return; the default: all.
struct DeviceMask {
  const uint32_t* words = nullptr;  // [tile_count(part.rows)] bit i of a word: row i of that tile
  int64_t rows = 0;                 // admissible ones; 0 without words: all of the part
  int64_t rows_of_tiles = 0;        // of the tiles that have one of them
  int64_t first_tile = 0;           // that has one of them
};

struct DeviceCoding;  // gpu/layout/query_codes.h

// A ModelPart with device addresses. Row numbers that a device returns count from the part's first row.
struct DevicePart {
  int64_t first_row = 0;
  int64_t rows = 0;
  int32_t dims = 0;
  const float* vectors = nullptr;         // [rows, dims]; null until they are uploaded
  const double* norms_squared = nullptr;  // [rows]; set if `vectors` is
  DeviceLevel level;                      // of 8 bits
  // What the scan of 4-bit codes reads besides vectors; null until it is uploaded, and for models without
  // such codes.
  DeviceLevel coarse;
  const std::byte* packed_rows = nullptr;  // [rows, packed_row_bytes(dims)]
  DeviceMask mask;
  const DeviceCoding* coding = nullptr;  // in host memory; set if the level's codes are shifted

  // The rows whose codes a search reads, and those that it may return.
  int64_t rows_to_scan() const { return mask.words == nullptr ? rows : mask.rows_of_tiles; }
  int64_t admissible_rows() const { return mask.rows > 0 ? mask.rows : rows; }
};

}  // namespace glove::gpu
