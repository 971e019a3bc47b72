// The inner loops of the CPU backend, one table of function pointers per instruction set.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cpu/kernels/cluster_kernels.h"
#include "cpu/kernels/collector.h"
#include "lists/planes.h"
#include "model/model_part.h"
#include "model/quantized_query.h"

namespace glove::cpu {

// One way to scan a level of 8 bits: what its queries look like, and the loop itself. For rows of bits
// (RowMetric::kHamming), whose codes and query codes are the components, the bounds are the score.
struct ScanKernel {
  // The largest magnitude of a query code that scan() takes.
  int32_t max_query_code;

  // Multiply-adds that scan() does in a few milliseconds at most, on a slow machine.
  int64_t chunk_products;

  // The query codes of a batch in the order in which scan() reads them.
  //   packed  filled; its layout is the kernel's own
  void (*pack)(std::span<const QuantizedQuery> queries, int64_t groups, std::vector<int8_t>& packed);

  // Scores the rows of tiles [first_tile, last_tile) of a part against every query, by one of the part's
  // levels, and offers each row whose upper bound reaches the query's threshold to that query's collector,
  // by its number in the model.
  //   collectors  [queries.size()], one thread's own
  void (*scan)(const ModelPart& part, const CodeLevel& level, int64_t first_tile, int64_t last_tile,
               std::span<const QuantizedQuery> queries, const int8_t* packed, Collector* collectors);
};

// A row of a part that a bound does not rule out.
struct Survivor {
  int32_t row;     // in the part
  float estimate;  // of its similarity
  float upper;     // the upper bound of its similarity
};

// The codes of 4 bits are 2v - kNibbleOffset (model/nibbles.h).
constexpr int32_t kNibbleOffset = 15;

// What the caps (model/cap_bound.h) have achieved in the scans of one query by one thread. Random vectors
// have caps that rule out few rows.
struct CapTally {
  int64_t computed = 0;   // caps of rows that the first bound has left
  int64_t ruled_out = 0;  // of these rows

  // Returns false if computing them costs more than scoring the rows that they rule out, by measurement.
  bool pay() const { return computed < 700 || 7 * ruled_out >= 2 * computed; }
};

// A scan of a level of 4 bits for one query.
struct CoarseKernel {
  // The query's codes in the order in which scan() reads them. `words` is nibble_words(dims).
  void (*pack)(const SplitQuery& query, int64_t words, std::vector<int8_t>& packed);

  // Writes those rows of tiles [first_tile, last_tile) that are not zero and whose upper bound is not below
  // the threshold, in order, and returns their number. Computes caps while they pay, and adds them to `caps`.
  // `survivors` has room for all rows of the tiles.
  int64_t (*scan)(const ModelPart& part, const CodeLevel& level, int64_t first_tile, int64_t last_tile,
                  const SplitQuery& query, const int8_t* packed, float threshold, CapTally& caps,
                  Survivor* survivors);
};

// A query's codes in the order in which a scan by planes reads them.
// Filled by pack(); the layouts are the kernel's own.
struct PlaneCodes {
  std::vector<int8_t> high;      // the high halves, for plane one
  std::vector<int8_t> high_row;  // the high halves, for one row of plane two
  std::vector<int16_t> whole;
};

// What a scan by planes knows of a query and a part.
struct PlaneQuery {
  const PlaneCodes& codes;
  std::span<const float> products;  // [lists], of the centroids and the query's unit vector
  PlaneLine plane1;                 // of plane one and the high halves
  PlaneLine both;                   // of both planes and the high halves
  PlaneLine whole;                  // of both planes and codes of 16 bits
};

// The positions that plane one leaves, and the sum of each.
struct PlaneRows {
  std::vector<int32_t> positions;
  std::vector<int32_t> sums;
};

// Tiles [first, last) of a part, and those that are read next.
struct PlaneTiles {
  int64_t first, last;
  int64_t list = -1;  // one that has rows in the first tile or soon after it, if it is known
  int64_t next_first = 0, next_last = 0;
};

// Positions with an estimate of each one's similarity, to which a share of its distance is added.
struct PlaneEstimates {
  std::vector<int32_t> positions;
  std::vector<float> estimates;
  size_t count = 0;  // of both that are in use

  void reserve(size_t size) {
    if (positions.size() >= size) return;
    positions.resize(2 * size);
    estimates.resize(2 * size);
  }
};

// What a scan by planes leaves.
struct PlaneCounts {
  int64_t second_reads = 0;  // rows that plane one has not ruled out
  int64_t survivors = 0;     // of these rows
};

// Estimates of rows that have any, and their distances, are less together.
constexpr float kNoEstimate = 60;

// A scan of the planes of a part for one query.
struct PlaneKernel {
  void (*pack)(const SplitQuery& query, int64_t dims, PlaneCodes& packed);

  // Writes those rows of tiles [first_tile, last_tile) of positions whose upper bound is not below the
  // threshold; never a zero row, or one that the part has not. Without a threshold above 0 it writes all
  // others. `survivors` has room for all rows of the tiles; `left` is memory that later calls use again.
  PlaneCounts (*scan)(const ModelPart& part, int64_t first_tile, int64_t last_tile, const PlaneQuery& query,
                      float threshold, PlaneRows& left, Survivor* survivors);

  // Appends those positions of the tiles whose estimate by plane one and `share` of whose distance are
  // together not below the limit, with the sum of both: the same numbers on every machine, but for those from
  // kNoEstimate on, which rows without numbers have. Positions past the part's rows are among them. Meanwhile
  // fetches the tiles that are read next. REQUIRES: limit <= 1, and share is 0 or at least kLeastMargin.
  void (*estimate)(const ModelPart& part, const PlaneTiles& tiles, const PlaneQuery& query, float share,
                   float limit, PlaneEstimates& kept);
};

// Tiles of a second moment: kGramRows rows of the matrix by some columns, which may reach kGramMargin past
// the last.
constexpr int64_t kGramRows = 4;
constexpr int64_t kGramMargin = 24;

// Columns of a buffer of y and of a matrix that update_gram() works on.
constexpr int64_t gram_stride(int64_t dims) {
  return (dims + kGramRows - 1) / kGramRows * kGramRows + kGramMargin;
}

// The inner loops of column sums and second moments.
struct MomentKernels {
  // sums[j] += weight * x[j]; the product and the sum are rounded to double one after the other.
  void (*add_row)(const float* x, double weight, int64_t dims, double* sums);

  // y[j] = (float)(weight * x[j] - center[j]).
  //   center  [dims]
  void (*center_row)(const float* x, double weight, const double* center, int64_t dims, double* y);

  // matrix[i][j] += y[row][i] * y[row][j], row by row, for i in [first, last) and at least j in [i, dims).
  //   y       [rows][gram_stride(dims)], products exact in double, zeros past dims
  //   matrix  [at least last rounded up to kGramRows][gram_stride(dims)]
  // REQUIRES: first is a multiple of kGramRows.
  void (*update_gram)(const double* y, int64_t rows, int64_t dims, int64_t first, int64_t last,
                      double* matrix);
};

// The loops of one instruction set. The functions keep no state and may run on any thread.
struct Kernels {
  std::string_view name;
  const ScanKernel* single_query;  // bound by memory
  const ScanKernel* batch;         // bound by arithmetic
  const ScanKernel* bits;          // for rows of bits, one query or a batch
  const CoarseKernel* coarse;
  const PlaneKernel* planes;

  // products[i] = the product of a query's codes and those of centroid i (lists/list_codes.h).
  //   query  [list_code_stride(dims)]
  //   codes  [lists, list_code_stride(dims)]
  void (*list_products)(const int16_t* query, const int8_t* codes, int64_t lists, int64_t dims,
                        int32_t* products);

  // dots[i] = D(query, rows[i]) for `count` rows, bit for bit. `wide_query` is the query in double,
  // padded with zeros to a multiple of 8.
  void (*exact_dots)(const double* wide_query, const float* const* rows, int64_t count, int64_t dims,
                     double* dots);
  // The same bits. Faster if the rows are in the cache, and slower if they must come from memory.
  void (*cached_dots)(const double* wide_query, const float* const* rows, int64_t count, int64_t dims,
                      double* dots);

  const ClusterKernels* few_clusters;   // for k-means with so few clusters that it is bound by memory
  const ClusterKernels* many_clusters;  // bound by arithmetic
  const MomentKernels* moment;
};

// The tables that this machine can run, slowest first; never empty.
std::span<const Kernels* const> usable_kernels();

// The table of this name; an empty name means $GLOVE_CPU_TARGET, or the fastest table. The error for a name
// that this machine cannot run lists those that it can.
Result<const Kernels*> choose_kernels(std::string_view name);

namespace scalar {
extern const Kernels kKernels;
}
#if defined(__x86_64__)
namespace sse4 {
extern const Kernels kKernels;
}
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
namespace avx512vnni {
extern const Kernels kKernels;
extern const Kernels kAmxKernels;
}  // namespace avx512vnni
#elif defined(__aarch64__)
namespace neon {
extern const Kernels kKernels;
}
// Clang provides these instructions only if everything is compiled for processors that have them.
#if defined(__ARM_FEATURE_DOTPROD) || !defined(__clang__)
#define GLOVE_HAS_NEONDOTPROD 1
namespace neondotprod {
extern const Kernels kKernels;
}
#endif
#elif defined(__wasm_simd128__)
namespace simd128 {
extern const Kernels kKernels;
}
#endif

}  // namespace glove::cpu
