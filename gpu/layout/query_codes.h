// A quantised query (model/quantized_query.h) in the layouts that the scans read: one or two int8 planes.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/layout/device_part.h"
#include "gpu/layout/packed_rows.h"
#include "gpu/layout/tile.h"
#include "model/quantized_query.h"
#include "model/shifted_codes.h"

namespace glove {
struct Query;
}

namespace glove::gpu {

// Codes of the two-plane scan have a magnitude of at most 127 * 128 + 63, so that code = 128 * high + low
// with both halves in an int8.
constexpr int32_t kTwoPlaneCode = 16319;
// Codes of the batch scan use one plane.
constexpr int32_t kOnePlaneCode = 127;
// |sum(c * Q)| of the batch scan stays below this limit, so that a float represents the sum exactly.
constexpr int64_t kBatchSumLimit = int64_t{1} << 22;

// How the rows of a part are coded whose codes are shifted (model/shifted_codes.h).
struct DeviceCoding {
  CodingPtr coding;
  float longest;  // of the lengths of some rows
  float mean;     // likewise
};

// A query as kernels take it. Thresholds are of numbers in -1 .. 1, so if the codes are shifted, the bounds
// are those of the codes times a power of two, without ShiftBound::base.
struct DeviceQuery {
  QuantizedQuery codes;
  float least;  // what the upper bound of a row must reach because of Query::least
};

// Returns the codes for a scan of one query, which are those of quantize_query() unless the part's codes are
// shifted. REQUIRES: as for that, and the float environment.
DeviceQuery quantize_for_device(const DevicePart& part, const Query& query, int32_t max_code = kTwoPlaneCode);

// Returns the codes for the batch scan, as fine as one plane and kBatchSumLimit allow. REQUIRES: likewise.
DeviceQuery quantize_for_batch(const DevicePart& part, const Query& query);

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

// Warpgroups multiply pairs of steps: a lane has 16 consecutive bytes of a row for a pair.
constexpr int kPairBytes = 2 * kStepComponents;
// Pairs of steps of the largest kernel.
constexpr int kMostPairs = 5;

// Returns the number of pairs of steps that warpgroups take for a row of `dims` components: one of the
// numbers for which there are kernels, or more than kMostPairs. They multiply whole packed rows, which end in
// other bytes than codes; the query is zero there.
constexpr int64_t column_pairs(int64_t dims) {
  const int64_t needed = (packed_row_bytes(dims) + kPairBytes - 1) / kPairBytes;
  return needed <= 2 ? 2 : needed <= kMostPairs ? kMostPairs : needed;
}

// Returns the size in bytes of the packed form of `queries` queries, a multiple of eight.
constexpr int64_t column_bytes(int64_t queries, int64_t dims) {
  return queries * column_pairs(dims) * kPairBytes;
}

// Writes query number `query` of a batch in the order in which warpgroups read the second operand of
// wgmma.m64n256k32: [queries/8][pairs][4 words][8 queries][16 codes]. Lane t of the four that share a row has
// its bytes 16t to 16t + 15 of a pair, of which the first four are for the first word, the next four for the
// second, and so on: code 16t + 4w + i of a pair is number 4t + i of word w. REQUIRES: columns is zero where
// nothing has been written; |codes| <= 127.
void pack_columns(std::span<const int16_t> codes, int64_t query, int64_t dims, int8_t* columns);

}  // namespace glove::gpu
