// Decisions that depend on sizes only: what is uploaded to the device, and how a search is divided into
// launches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gpu/layout/block_layout.h"
#include "gpu/layout/device_part.h"
#include "model/model_part.h"

namespace glove::gpu {

// The arrays of a level of `rows` rows, padded to whole tiles.
struct LevelSlots {
  Slot<int8_t> codes;
  Slot<float> scales;
  Slot<float> residuals;
  bool is_shifted = false;
  Slot<float> along;    // if it is shifted
  Slot<float> lengths;  // likewise

  DeviceLevel in(std::byte* block) const {
    DeviceLevel level{codes.in(block), scales.in(block), residuals.in(block)};
    if (!is_shifted) return level;
    level.along = along.in(block);
    level.lengths = lengths.in(block);
    return level;
  }
};
// bits: per code, 8 or 4
LevelSlots add_level(BlockLayout& layout, int bits, int64_t rows, int64_t dims, bool is_shifted = false);

// What a device may hold of a part besides the 8-bit level.
struct ExactSlots {
  Slot<double> norms_squared;
  Slot<float> vectors;
  LevelSlots coarse;            // unused without 4-bit codes
  Slot<std::byte> packed_rows;  // likewise
};
ExactSlots add_exact_arrays(BlockLayout& layout, int64_t rows, int64_t dims, bool with_coarse);

// Bytes that the arrays of a part take on the device.
struct MemoryPlan {
  int64_t scan_bytes = 0;   // the 8-bit level: required for any search
  int64_t exact_bytes = 0;  // vectors and norms: spare the host the rescoring
  // Let one query read 4 bits per component instead of 8. REQUIRES: the model has such codes.
  int64_t coarse_bytes = 0;
};
MemoryPlan plan_memory(int64_t rows, int64_t dims);

// Returns the part without the tiles before the first one that has an admissible row.
DevicePart from_first_admissible(const DevicePart& part);

// How a device answers one query.
struct SinglePlan {
  int bits = 8;  // of the codes that it scans
  // Counts every row to find the threshold, and not only the best row of each tile. It must unless k is small
  // compared with the number of tiles.
  bool count_every_row = false;
  bool ranked = false;  // the device puts the answer in order
  int64_t bytes = 0;    // that the scan reads
};
constexpr int64_t kRankedTo = 16384;  // rows; it compares every candidate with every other

// Plans a search for the best `top_rows` rows of a part.
//   coarse_from  as in coarse_worthwhile()
SinglePlan plan_single(const DevicePart& part, int64_t top_rows, int64_t coarse_from);

// Bytes of 8-bit codes from which on reading half as many saves more time than looking rows up takes.
constexpr int64_t kCoarseFrom = int64_t{128} << 20;
// Returns whether a single search should scan the 4-bit codes if they and the vectors are on the device: the
// part has at least `from` bytes of 8-bit codes, and top_rows is small compared with the number of tiles.
bool coarse_worthwhile(int64_t rows, int64_t dims, int64_t top_rows, int64_t from);

// How to search a batch: a sample of tiles yields thresholds, and then all tiles yield lists of the rows
// above them.
struct BatchPlan {
  bool worthwhile = false;        // otherwise run single searches
  int64_t sample_tiles = 0;       // so few that the bounds of a round fit in kSampleBytes
  int64_t list_capacity = 0;      // rows that a query's list holds
  int64_t queries_per_round = 0;  // a multiple of 16, so that lists fit in kListBytes
};
constexpr int64_t kListBytes = int64_t{256} << 20;
constexpr int64_t kSampleBytes = int64_t{256} << 20;
constexpr int64_t kMaxBatchTopRows = 256;  // the last step ranks several times as many rows in shared memory
constexpr int64_t kMaxRoundQueries = 1024;
constexpr int64_t kMaxBatchDims = 4096;  // keeps the sums of the batch scan below kBatchSumLimit

// Bytes of device memory that an upload leaves free for the scratch memory of searches: for a batch its
// lists, the bounds of its sample (8 bytes per row at most) and its queries; and 2 bytes per row for each of
// four single searches, in case their bounds do not fit in shared memory.
constexpr int64_t scratch_reserve(int64_t rows) {
  constexpr int64_t kQueryBytes = int64_t{32} << 20;
  return kListBytes + std::clamp(8 * rows, kQueryBytes, kSampleBytes) + kQueryBytes + 8 * rows;
}

// Plans a batch of `queries` queries for the best `top_rows` rows each.
//   rows_to_scan  of `rows`: those of tiles that have an admissible row
BatchPlan plan_batch(int64_t rows, int64_t dims, int64_t queries, int64_t top_rows, int64_t rows_to_scan);
inline BatchPlan plan_batch(int64_t rows, int64_t dims, int64_t queries, int64_t top_rows) {
  return plan_batch(rows, dims, queries, top_rows, rows);
}

}  // namespace glove::gpu
