// Decisions that depend on sizes only: what goes to the device, and how a search is cut into launches.
#pragma once

#include <cstdint>

namespace glove::gpu {

// Bytes of each array of a part on the device, padded to whole tiles and to kAlignment.
struct MemoryPlan {
  static constexpr int64_t kAlignment = 256;

  int64_t codes = 0;
  int64_t scales = 0;
  int64_t residuals = 0;
  int64_t norms_squared = 0;
  int64_t vectors = 0;

  int64_t scan_bytes() const { return codes + scales + residuals; }  // without these there is no search
  int64_t exact_bytes() const { return norms_squared + vectors; }    // these save the host the rescoring
};
MemoryPlan plan_memory(int64_t rows, int64_t dims);

// What an upload leaves free of the device for the scratch memory of searches: most of it for batches, and 2
// bytes a row for each of four single searches, should shared memory not hold their bounds.
constexpr int64_t scratch_reserve(int64_t rows) {
  return (int64_t{192} << 20) + 8 * rows;
}

// How thresholds are counted in a single search: by the best row of a tile, or, when k is not small against
// the number of tiles, row by row.
bool count_every_row(int64_t rows, int64_t top_rows);

// A batch: a sample of tiles gives thresholds, all tiles give lists of rows above them.
struct BatchPlan {
  bool worthwhile = false;  // else one search after the other
  int64_t sample_tiles = 0;
  int64_t list_capacity = 0;      // rows that a query's list holds
  int64_t queries_per_round = 0;  // a multiple of 16, so that lists fit in kListBytes
};
constexpr int64_t kListBytes = int64_t{128} << 20;
constexpr int64_t kMaxBatchTopRows = 256;  // the last step ranks several times as many in shared memory
constexpr int64_t kMaxRoundQueries = 1024;
constexpr int64_t kMaxBatchDims = 4096;  // keeps the sums of the batch scan under kBatchSumLimit
BatchPlan plan_batch(int64_t rows, int64_t dims, int64_t queries, int64_t top_rows);

}  // namespace glove::gpu
