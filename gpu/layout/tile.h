// The tiles of model/quantize.h as kernels read them: in quads of 16 bytes, with one row per lane of a warp.
#pragma once

#include <cstdint>

#include "model/bound.h"
#include "model/quantize.h"

namespace glove::gpu {

constexpr int kWarpLanes = 32;
constexpr int kRowsPerTile = static_cast<int>(kTileRows);
constexpr int kComponentsPerGroup = static_cast<int>(kTileComponents);
// A quad is a uint4, 16 bytes, with one component group of four rows.
constexpr int kRowsPerQuad = 16 / kComponentsPerGroup;
constexpr int kQuadsPerGroup = kRowsPerTile / kRowsPerQuad;

// The kernels' shuffles and lane arithmetic depend on all of these.
static_assert(kRowsPerTile == kWarpLanes, "after a tile's products each lane holds the sum of one row");
static_assert(kComponentsPerGroup == 4, "__dp4a and the tensor cores take four int8 components in 32 bits");
static_assert(kQuadsPerGroup == 8, "lanes 0 to 7 read one component group, lanes 8 to 15 the next");

// A step of the tensor cores multiplies 32 components.
constexpr int kStepComponents = 32;
constexpr int kStepGroups = kStepComponents / kComponentsPerGroup;
// Queries are stored in pairs of blocks of eight. The operand of one pair and one step is one uint4 per lane.
constexpr int kBlockQueries = 8;
constexpr int kPairQueries = 2 * kBlockQueries;
constexpr int kPairStepBytes = kWarpLanes * 16;
static_assert(kPairStepBytes == kPairQueries * kStepComponents, "one byte per query and component");

}  // namespace glove::gpu
