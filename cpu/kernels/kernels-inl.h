// The SIMD kernels for one instruction set. kernels_simd.cpp includes this file once per instruction set, so
// it has no include guard.
//
//   GLOVE_KERNELS_NAMESPACE   the namespace of this copy
//   GLOVE_KERNELS_NAME        its name in GLOVE_CPU_TARGET
//   GLOVE_KERNELS_ATTRIBUTES  the instruction set's function attributes; not defined if none are needed
//   GLOVE_KERNELS_DOT         the file dot_*-inl.h with its multiply-add
//   GLOVE_KERNELS_AMX         the file with a scan for batches with AMX; not defined if there is none
//   GLOVE_KERNELS_FLOATS      the namespace of the copy that also serves this one for floats, single queries
//                             and few clusters; not defined if it has its own loops for them
//
// A dot_*-inl.h defines `struct Dot`: how row codes and query codes are laid out in vectors, and how products
// are summed.
//
//   CodeVector      the codes of kRowsPerVector rows, four codes per row
//   SumVector       the rows' sums so far; kVectorsPerSum of them cover as many rows as a vector of int32
//   QueryCode       one query code, of magnitude kMaxQueryCode at most
//   QueryUnit       four query codes
//   kSingleVectors  CodeVectors that are scanned together for one query; divides the number in a tile
//   kBatchVectors   the same for a group of queries
//   kGroupSizes     queries that are scanned together: three sizes, decreasing, the last one 1
//   kChunkProducts  ScanKernel::chunk_products
//   load, broadcast, start, add, row_sums
//
// and `struct NibbleDot` (coarse_scan-inl.h).

#if defined(GLOVE_KERNELS_ATTRIBUTES)
HWY_PUSH_ATTRIBUTES(GLOVE_KERNELS_ATTRIBUTES)
#endif
namespace glove::cpu::GLOVE_KERNELS_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

const hn::ScalableTag<float> kFloats;
const hn::ScalableTag<int32_t> kInts;
constexpr int kFloatLanes = HWY_LANES(float);
using FloatVector = hn::VFromD<decltype(kFloats)>;
using IntVector = hn::VFromD<decltype(kInts)>;

// Returns a vector that repeats the codes of a unit of a query.
template <class Code, class Unit>
HWY_INLINE hn::VFromD<hn::ScalableTag<Code>> repeat_unit(const int8_t* query_codes) {
  Unit unit;
  std::memcpy(&unit, query_codes, sizeof(unit));
  return hn::BitCast(hn::ScalableTag<Code>(), hn::Set(hn::ScalableTag<Unit>(), unit));
}

#include GLOVE_KERNELS_DOT

constexpr int kVectorsPerTile = kTileRows / Dot::kRowsPerVector;
constexpr int64_t kTileStride = kTileRows * kTileComponents;  // bytes of a tile's component group

// Returns how many queries the next group has if `left` are left.
HWY_INLINE int next_group(size_t left) {
  for (const int size : Dot::kGroupSizes)
    if (left >= static_cast<size_t>(size)) return size;
  return 1;
}

// A group of queries is stored as [component group][query][4].
void pack(std::span<const QuantizedQuery> queries, int64_t groups, std::vector<int8_t>& packed) {
  packed.resize(queries.size() * static_cast<size_t>(groups) * sizeof(Dot::QueryUnit));
  int8_t* out = packed.data();
  while (!queries.empty()) {
    const auto size = static_cast<size_t>(next_group(queries.size()));
    for (int64_t group = 0; group < groups; ++group)
      for (const QuantizedQuery& query : queries.first(size))
        for (int64_t component = 0; component < kTileComponents; ++component) {
          const auto code = static_cast<Dot::QueryCode>(
              query.codes[static_cast<size_t>(group * kTileComponents + component)]);
          std::memcpy(out, &code, sizeof(code));
          out += sizeof(code);
        }
    queries = queries.subspan(size);
  }
}

// Fetches the codes that a scan for one query will read soon: the processor itself does not look beyond a
// page. Memory after the codes may be fetched, but is not read.
HWY_INLINE void fetch_ahead(const int8_t* codes) {
  constexpr int64_t kAhead = 8192;
  for (int64_t line = 0; line < kTileStride; line += 64) __builtin_prefetch(codes + kAhead + line);
}

// One tile in the form that scan_tile reads.
struct Tile {
  const int8_t* codes;
  const float* scales;     // [kTileRows]
  const float* residuals;  // [kTileRows]
  int32_t first_id;
  const float* along = nullptr;    // [kTileRows] if the codes are shifted (model/shifted_codes.h)
  const float* lengths = nullptr;  // the same
};

// Returns a bit per lane of the mask.
template <class Mask>
HWY_INLINE uint32_t lanes_of(Mask mask) {
  static_assert(kFloatLanes <= 32);
  uint8_t bytes[8] = {};  // the function may write them all
  hn::StoreMaskBits(kFloats, mask, bytes);
  return bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
}

// Adds what ShiftBound says to the estimates and errors of kFloatLanes rows.
HWY_INLINE void add_shift(const Tile& tile, int row, const ShiftBound& shift, FloatVector& estimates,
                          FloatVector& errors) {
  const FloatVector along = hn::LoadU(kFloats, tile.along + row);
  const FloatVector lengths = hn::LoadU(kFloats, tile.lengths + row);
  const FloatVector squares = hn::Mul(lengths, lengths);
  estimates = hn::Add(hn::NegMulAdd(hn::Set(kFloats, shift.square), squares,
                                    hn::MulAdd(along, hn::Set(kFloats, shift.along), estimates)),
                      hn::Set(kFloats, shift.base));
  errors = hn::MulAdd(hn::Set(kFloats, shift.square_slope), squares,
                      hn::MulAdd(lengths, hn::Set(kFloats, shift.length_slope), errors));
}

// Offers those of kFloatLanes rows whose upper bound reaches the threshold. Evaluates QueryBound's estimate()
// and error() with vectors.
HWY_INLINE void filter(const Tile& tile, int row, IntVector sums, const QuantizedQuery& query,
                       Collector& collector) {
  const FloatVector scales = hn::LoadU(kFloats, tile.scales + row);
  const FloatVector residuals = hn::LoadU(kFloats, tile.residuals + row);
  const QueryBound& bound = query.bound;
  FloatVector estimates =
      hn::Mul(hn::ConvertTo(kFloats, sums), hn::Mul(scales, hn::Set(kFloats, bound.inverse_scale)));
  FloatVector errors =
      hn::MulAdd(residuals, hn::Set(kFloats, bound.error_slope), hn::Set(kFloats, bound.error_offset));
  if (tile.along != nullptr) add_shift(tile, row, query.shift, estimates, errors);
  const auto ruled_out = hn::Lt(hn::Add(estimates, errors), hn::Set(kFloats, collector.threshold()));
  if (HWY_LIKELY(hn::AllTrue(kFloats, ruled_out))) return;
  HWY_ALIGN float estimate[kFloatLanes];
  HWY_ALIGN float error[kFloatLanes];
  hn::Store(estimates, kFloats, estimate);
  hn::Store(errors, kFloats, error);
  for (uint32_t left = lanes_of(hn::Not(ruled_out)); left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    if (!(estimate[i] + error[i] < collector.threshold()))  // which rises
      collector.offer(tile.first_id + row + i, estimate[i], error[i]);
  }
}

// The sums of kQueries queries with kVectors vectors of rows, [query][vector]. All indices are constants, so
// that the compiler keeps the sums in registers.
template <int kVectors, int kQueries>
struct SumBlock {
  static constexpr int kSums = kVectors * kQueries;
  using Indices = std::make_index_sequence<kSums>;
  using VectorIndices = std::make_index_sequence<kVectors>;
  static constexpr int64_t kVectorBytes = Dot::kRowsPerVector * kTileComponents;

  template <size_t... I>
  static HWY_INLINE void start(Dot::SumVector (&sums)[kSums], const QuantizedQuery* queries,
                               std::index_sequence<I...>) {
    ((sums[I] = Dot::start(queries[I / kVectors])), ...);
  }

  template <size_t... I>
  static HWY_INLINE void load(Dot::CodeVector (&codes)[kVectors], const int8_t* from,
                              std::index_sequence<I...>) {
    ((codes[I] = Dot::load(from + I * kVectorBytes)), ...);
  }

  template <size_t... I>
  static HWY_INLINE void add(Dot::SumVector (&sums)[kSums], const Dot::CodeVector (&codes)[kVectors],
                             const int8_t* query_codes, std::index_sequence<I...>) {
    ((sums[I] = Dot::add(sums[I], codes[I % kVectors],
                         Dot::broadcast(query_codes + I / kVectors * sizeof(Dot::QueryUnit)))),
     ...);
  }

  // The sums of all rows for each query, [query][kTileRows].
  template <size_t... I>
  static HWY_INLINE void store_all(const Dot::SumVector (&sums)[kSums], int first_vector, int32_t* to,
                                   std::index_sequence<I...>) {
    ((I % Dot::kVectorsPerSum == 0
          ? hn::StoreU(Dot::row_sums(&sums[I]), kInts,
                       to + I / kVectors * kTileRows + (first_vector + I % kVectors) * Dot::kRowsPerVector)
          : void()),
     ...);
  }

  template <size_t... I>
  static HWY_INLINE void filter_all(const Dot::SumVector (&sums)[kSums], const Tile& tile, int first_vector,
                                    const QuantizedQuery& query, Collector& collector,
                                    std::index_sequence<I...>) {
    static_assert(kQueries == 1);
    ((I % Dot::kVectorsPerSum == 0
          ? filter(tile, (first_vector + I) * Dot::kRowsPerVector, Dot::row_sums(&sums[I]), query, collector)
          : void()),
     ...);
  }
};

// The integer sums of one tile with kQueries queries, kVectors vectors of rows at a time, [query][kTileRows].
// They leave the function through memory: with the comparisons that follow in the same function, GCC keeps no
// sum in a register.
template <int kVectors, int kQueries>
HWY_NOINLINE void store_sums(const int8_t* tile, int64_t groups, const int8_t* packed,
                             const QuantizedQuery* queries, int32_t* sums) {
  using Group = SumBlock<kVectors, kQueries>;
  for (int first = 0; first < kVectorsPerTile; first += kVectors) {
    Dot::SumVector block[Group::kSums];
    Group::start(block, queries, typename Group::Indices());
    const int8_t* row_codes = tile + first * Group::kVectorBytes;
    const int8_t* query_codes = packed;
    for (int64_t group = 0; group < groups; ++group) {
      Dot::CodeVector codes[kVectors];
      Group::load(codes, row_codes, typename Group::VectorIndices());
      Group::add(block, codes, query_codes, typename Group::Indices());
      row_codes += kTileStride;
      query_codes += kQueries * sizeof(Dot::QueryUnit);
    }
    Group::store_all(block, first, sums, typename Group::Indices());
  }
}

// The same for a group of `size` queries, which next_group() returned.
HWY_INLINE void sum_group(int size, const int8_t* tile, int64_t groups, const int8_t* packed,
                          const QuantizedQuery* queries, int32_t* sums) {
  if (size == Dot::kGroupSizes[0])
    store_sums<Dot::kBatchVectors, Dot::kGroupSizes[0]>(tile, groups, packed, queries, sums);
  else if (size == Dot::kGroupSizes[1])
    store_sums<Dot::kBatchVectors, Dot::kGroupSizes[1]>(tile, groups, packed, queries, sums);
  else
    store_sums<Dot::kSingleVectors, 1>(tile, groups, packed, queries, sums);
}

// Scans one tile for one query, kSingleVectors vectors of rows at a time.
HWY_NOINLINE void scan_tile(const Tile& tile, int64_t groups, const int8_t* packed,
                            const QuantizedQuery& query, Collector& collector) {
  using Group = SumBlock<Dot::kSingleVectors, 1>;
  for (int first = 0; first < kVectorsPerTile; first += Dot::kSingleVectors) {
    Dot::SumVector sums[Group::kSums];
    Group::start(sums, &query, Group::Indices());
    const int8_t* row_codes = tile.codes + first * Group::kVectorBytes;
    const int8_t* query_codes = packed;
    for (int64_t group = 0; group < groups; ++group) {
      Dot::CodeVector codes[Dot::kSingleVectors];
      if (first == 0) fetch_ahead(row_codes);
      Group::load(codes, row_codes, Group::VectorIndices());
      Group::add(sums, codes, query_codes, Group::Indices());
      row_codes += kTileStride;
      query_codes += sizeof(Dot::QueryUnit);
    }
    Group::filter_all(sums, tile, first, query, collector, Group::Indices());
  }
}

// Where the scales and residuals of a part's last tile go if it is not full.
struct EdgeRows {
  float scales[kTileRows];
  float residuals[kTileRows];
  float along[kTileRows];
  float lengths[kTileRows];
};

// Returns tile number `tile` of the part, whose rows have `words` words of four bytes. If rows are missing in
// it, `edge` gets the values of zero rows for them, which are dropped like those, and must live as long as
// the tile.
Tile tile_of(const ModelPart& part, const CodeLevel& level, int64_t words, int64_t tile, EdgeRows& edge) {
  const int64_t first_row = tile * kTileRows;
  const auto first_id = static_cast<int32_t>(part.first_row + first_row);
  const int8_t* codes = level.codes.data() + tile * words * kTileStride;
  const float* scales = level.scales.data() + first_row;
  const float* residuals = level.residuals.data() + first_row;
  const bool is_shifted = !level.along.empty();
  const float* along = is_shifted ? level.along.data() + first_row : nullptr;
  const float* lengths = is_shifted ? level.lengths.data() + first_row : nullptr;
  if (first_row + kTileRows <= part.rows) return {codes, scales, residuals, first_id, along, lengths};
  std::fill_n(edge.scales, kTileRows, 0.0f);
  std::fill_n(edge.residuals, kTileRows, std::numeric_limits<float>::infinity());
  std::copy_n(scales, part.rows - first_row, edge.scales);
  std::copy_n(residuals, part.rows - first_row, edge.residuals);
  if (!is_shifted) return {codes, edge.scales, edge.residuals, first_id};
  std::fill_n(edge.along, kTileRows, 0.0f);
  std::fill_n(edge.lengths, kTileRows, 0.0f);
  std::copy_n(along, part.rows - first_row, edge.along);
  std::copy_n(lengths, part.rows - first_row, edge.lengths);
  return {codes, edge.scales, edge.residuals, first_id, edge.along, edge.lengths};
}

#include "cpu/kernels/batch_scan-inl.h"

void scan(const ModelPart& part, const CodeLevel& level, int64_t first_tile, int64_t last_tile,
          std::span<const QuantizedQuery> queries, const int8_t* packed, Collector* collectors) {
  if (queries.size() > 1) {
    scan_batch(part, level, first_tile, last_tile, queries, packed, collectors);
    return;
  }
  const int64_t groups = component_groups(part.dims);
  for (int64_t tile = first_tile; tile < last_tile; ++tile) {
    EdgeRows edge;
    scan_tile(tile_of(part, level, groups, tile, edge), groups, packed, queries[0], collectors[0]);
  }
}

#if defined(GLOVE_KERNELS_FLOATS)
namespace finer = GLOVE_KERNELS_FLOATS;
#else
namespace finer = GLOVE_KERNELS_NAMESPACE;
#include "cpu/kernels/exact_dots-inl.h"
#include "cpu/kernels/list_scan-inl.h"
#include "cpu/kernels/nearest_kernels-inl.h"
#include "cpu/kernels/row_loops-inl.h"

#include "cpu/kernels/moment_kernels-inl.h"
#endif

extern const ScanKernel kScan = {Dot::kMaxQueryCode, Dot::kChunkProducts, pack, scan};

#include "cpu/kernels/bits_scan-inl.h"
#include "cpu/kernels/coarse_scan-inl.h"
#include "cpu/kernels/planes_scan-inl.h"

#include "cpu/kernels/plane_estimates-inl.h"

#include "cpu/kernels/cluster_kernels-inl.h"

extern constexpr Kernels kKernels = {.name = GLOVE_KERNELS_NAME,
                                     .single_query = &finer::kScan,
                                     .batch = &kScan,
                                     .bits = &kBits,
                                     .coarse = &kCoarse,
                                     .planes = &kPlanes,
                                     .list_products = finer::list_products,
                                     .exact_dots = finer::exact_dots,
                                     .cached_dots = finer::cached_dots,
                                     .few_clusters = &finer::kCluster,
                                     .many_clusters = &kCluster,
                                     .moment = &finer::kMoment};

#if defined(GLOVE_KERNELS_AMX)
#include GLOVE_KERNELS_AMX
extern constexpr Kernels kAmxKernels = [](Kernels others) {
  others.name = "amx";
  others.batch = &kAmxScan;
  return others;
}(kKernels);
#endif

}  // namespace glove::cpu::GLOVE_KERNELS_NAMESPACE
#if defined(GLOVE_KERNELS_ATTRIBUTES)
HWY_POP_ATTRIBUTES
#endif
