// Makes the packed rows of a part from its tiles. Host code may include this header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "gpu/layout/device_part.h"
#include "gpu/layout/packed_rows.h"

namespace glove::gpu {

// Packs part.level, including the rows that complete the last tile.
//   rows  [tile_count(part.rows) * kTileRows, packed_row_bytes(part.dims)], 16-byte aligned
cudaError_t launch_packed_rows(const DevicePart& part, std::byte* rows, cudaStream_t stream);

}  // namespace glove::gpu
