// The inner loops of the CPU backend, one table of function pointers per instruction set.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cpu/kernels/cluster_kernels.h"
#include "cpu/kernels/collector.h"
#include "cpu/kernels/convolve_kernels.h"
#include "cpu/kernels/moment_kernels.h"
#include "model/model_part.h"
#include "model/quantized_query.h"

namespace glove::cpu {

// One way to scan a level of 8 bits: what its queries look like, and the loop itself.
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

// The largest magnitude of a query code that CoarseKernel::scan takes.
constexpr int32_t kMaxCoarseQueryCode = 127;
// The codes of 4 bits are 2v - kNibbleOffset (model/nibbles.h).
constexpr int32_t kNibbleOffset = 15;

// A scan of a level of 4 bits for one query.
struct CoarseKernel {
  // The query's codes in the order in which scan() reads them. `words` is nibble_words(dims).
  void (*pack)(const QuantizedQuery& query, int64_t words, std::vector<int8_t>& packed);

  // Writes those rows of tiles [first_tile, last_tile) that are not zero and whose upper bound is not below
  // the threshold, in order, and returns their number. `survivors` has room for all rows of the tiles.
  int64_t (*scan)(const ModelPart& part, const CodeLevel& level, int64_t first_tile, int64_t last_tile,
                  const QuantizedQuery& query, const int8_t* packed, float threshold, Survivor* survivors);
};

// The loops of one instruction set. The functions keep no state and may run on any thread.
struct Kernels {
  std::string_view name;
  const ScanKernel* single_query;  // bound by memory
  const ScanKernel* batch;         // bound by arithmetic
  const CoarseKernel* coarse;

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
  ConvolveRows* convolve_rows;
};

// The tables that this machine can run, slowest first; never empty.
std::span<const Kernels* const> usable_kernels();

// The table of this name; an empty name means $GLOVE_CPU_TARGET, or the fastest table. The error for a name
// that this machine cannot run lists those that it can.
Result<const Kernels*> choose_kernels(std::string_view name);

extern const Kernels kScalarKernels;
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
#endif

}  // namespace glove::cpu
