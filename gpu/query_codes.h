// A quantised query (model/quantized_query.h) in the layouts that the scans read: one or two int8 planes.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/packed_rows.h"
#include "gpu/tile.h"
#include "model/quantized_query.h"
#include "search/query.h"

namespace glove::gpu {

// Codes of the two-plane scan have a magnitude of at most 127 * 128 + 63, so that code = 128 * high + low
// with both halves in an int8.
constexpr int32_t kTwoPlaneCode = 16319;
// Codes of the batch scan use one plane.
constexpr int32_t kOnePlaneCode = 127;
// |sum(c * Q)| of the batch scan stays below this limit, so that a float represents the sum exactly.
constexpr int64_t kBatchSumLimit = int64_t{1} << 22;

// Returns the codes for the batch scan, as fine as one plane and kBatchSumLimit allow. REQUIRES:
// query.norm_squared > 0, and the float environment.
QuantizedQuery quantize_for_batch(const Query& query);

// Writes the two planes in the layout that the single scan reads: for each group of four components, four
// high bytes and then four low bytes.
//   planes  [8 * component_groups(dims)]
void pack_planes(std::span<const int16_t> codes, int8_t* planes);

// Returns the number of steps of 32 components that the tensor cores take for a query of `dims` components.
constexpr int64_t matrix_steps(int64_t dims) {
  return (dims + kStepComponents - 1) / kStepComponents;
}

// Returns the size in bytes of the packed form of `queries` queries, rounded up to whole pairs of blocks of
// eight.
constexpr int64_t fragment_bytes(int64_t queries, int64_t dims) {
  return (queries + kPairQueries - 1) / kPairQueries * matrix_steps(dims) * kPairStepBytes;
}

// Writes query number `query` of a batch in the order in which the lanes of a warp read the second operand of
// mma.m16n8k32: [queries/16][steps][32 lanes][2 blocks of 8 queries][2 words of 4 codes]. REQUIRES: fragments
// is zero where nothing has been written; |codes| <= 127.
void pack_fragments(std::span<const int16_t> codes, int64_t query, int64_t dims, int8_t* fragments);

// Returns the number of multiplications of kStepComponents that warpgroups take for a query. They multiply
// whole packed rows, which end in other bytes than codes; the query is zero there.
constexpr int64_t column_depths(int64_t dims) {
  return (packed_row_bytes(dims) + kStepComponents - 1) / kStepComponents;
}

// Returns the size in bytes of the packed form of `queries` queries, a multiple of eight.
constexpr int64_t column_bytes(int64_t queries, int64_t dims) {
  return queries * column_depths(dims) * kStepComponents;
}

// Writes query number `query` of a batch in the order in which warpgroups read the second operand of
// wgmma.m64n256k32: [queries/8][2 * depths][8 queries][16 codes]. REQUIRES: columns is zero where nothing has
// been written; |codes| <= 127.
void pack_columns(std::span<const int16_t> codes, int64_t query, int64_t dims, int8_t* columns);

}  // namespace glove::gpu
