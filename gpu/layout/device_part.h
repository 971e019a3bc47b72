// A part of a model (model/model_part.h) in device memory. Kernels take it as a parameter.
#pragma once

#include <cstddef>
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

// The rows of a part that a search may return; the default: all.
struct DeviceMask {
  const uint32_t* words = nullptr;  // [tile_count(part.rows)] bit i of a word: row i of that tile
  int64_t rows = 0;                 // admissible ones; 0 without words: all of the part
  int64_t rows_of_tiles = 0;        // of the tiles that have one of them
};

// The lists of the positions of a tile: the number of the first position's, and a bit for each position with
// which another begins.
struct TileLists {
  int32_t first = 0;
  uint32_t starts = 0;
};

// The sign plane of rows in lists (lists/sign_plane.h).
struct DeviceSigns {
  const float* rotation = nullptr;  // [bits, dims], all rows of a rotation
  const uint32_t* words = nullptr;  // those of plane_tiles.h
  int32_t bits = 0;                 // 0: there is none
};

// A PlaneLevel with device addresses, without plane two and without the lists that have no rows.
struct DevicePlanes {
  const float* centroids = nullptr;  // [lists, dims]
  const TileLists* tiles = nullptr;  // [tile_count(rows)]
  const int32_t* rows = nullptr;     // [rows], the row at each position
  const uint32_t* plane1 = nullptr;  // the words of plane_tiles.h
  int32_t lists = 0;
  int32_t most_k = 0;  // more rows are expected to be found faster without planes
  DeviceSigns signs;
};

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
  DevicePlanes planes;                     // null until `coarse` is set, and for models without lists
  DeviceMask mask;

  // The rows whose codes a search reads, and those that it may return.
  int64_t rows_to_scan() const { return mask.words == nullptr ? rows : mask.rows_of_tiles; }
  int64_t admissible_rows() const { return mask.rows > 0 ? mask.rows : rows; }
};

}  // namespace glove::gpu
