// The scan for a batch with AMX, for kernels_simd.cpp. Part of the namespace of kernels-inl.h's copy for
// AVX-512 VNNI, whose functions it uses, so it has no include guard.
//
// A tile register holds 16 rows of 64 bytes, and one instruction multiplies 16 queries with 16 rows of the
// model, 64 components at a time. Its second operand has four components of each row side by side, which is
// how a tile of the model's codes is laid out (model/quantize.h).
// Source: Intel Architecture Instruction Set Extensions Programming Reference, chapter 3.

constexpr int kAmxQueries = 16;         // of a tile register
constexpr int kAmxRows = 16;            // of the model, in a tile register
constexpr int64_t kAmxGroups = 16;      // component groups of a step
constexpr int64_t kAmxBytes = 16 * 64;  // of a tile register
constexpr int kAmxBlock = 2 * kAmxQueries;
// Tiles of the model that are multiplied with a block of queries while both are in the core's first cache,
// which two threads may share.
constexpr int64_t kAmxTogetherBytes = 12 << 10;
constexpr int64_t kMostAmxTiles = 4;
constexpr int64_t kAmxLine = 64;  // bytes of a cache line, on which the rows of a tile register begin

// How the component groups are cut into steps: step s starts at group min(s * kAmxGroups, groups -
// kAmxGroups), so that no step reads past the end of a tile. Groups that a step repeats have query codes of
// zero there.
struct AmxSteps {
  explicit AmxSteps(int64_t all_groups)
      : groups(all_groups), count((all_groups + kAmxGroups - 1) / kAmxGroups) {}

  int64_t first_group(int64_t step) const {
    return std::max<int64_t>(0, std::min(step * kAmxGroups, groups - kAmxGroups));
  }

  const int64_t groups;
  const int64_t count;
};

// The shapes of the tile registers, while this object exists. 0 to 3 are sums, 4 and 5 queries, 6 and 7 rows
// of the model.
class AmxRegisters {
 public:
  explicit AmxRegisters(int64_t groups) {
    struct alignas(64) Config {
      uint8_t palette = 1;
      uint8_t start_row = 0;
      uint8_t reserved[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    };
    static_assert(sizeof(Config) == 64);
    Config config;
    const auto step_groups = static_cast<uint8_t>(std::min(groups, kAmxGroups));
    for (int i = 0; i < 8; ++i) {
      const bool queries = i == 4 || i == 5;
      config.rows[i] = i < 6 ? uint8_t{16} : step_groups;
      config.row_bytes[i] = static_cast<uint16_t>(queries ? step_groups * kTileComponents : 64);
    }
    // GCC's function does not tell the compiler that it reads all of the configuration.
    asm volatile("" ::"r"(&config) : "memory");
    _tile_loadconfig(&config);
  }
  ~AmxRegisters() { _tile_release(); }
  AmxRegisters(const AmxRegisters&) = delete;
  AmxRegisters& operator=(const AmxRegisters&) = delete;
};

// What decides about a row, so that its sums can be compared as they are: a row is ruled out if
//
//   sum < base(query) * inverse_scale(row) - slope(query) * residual(row) * inverse_scale(row)
//
// which is the inequality of BatchLimit divided by the row's scale, as are the terms of codes that are
// shifted. All roundings together are below 2^-20 of the sum of the terms' magnitudes, which is less than
// their slack.
// Scales below this, which only a damaged file has, could overflow. Such rows are left to filter().
constexpr float kLeastAmxScale = 0x1p-40f;

// The queries as pack_amx stores them, from a cache line on: codes [block of 16][step][16 queries][64],
// padded with zeros to a multiple of 16 queries.
class AmxPacked {
 public:
  AmxPacked(const int8_t* packed, const AmxSteps& steps)
      : step_count_(steps.count), codes_(packed + (0 - reinterpret_cast<uintptr_t>(packed)) % kAmxLine) {}

  static int64_t bytes(size_t queries, const AmxSteps& steps) {
    return kAmxLine +
           static_cast<int64_t>((queries + kAmxQueries - 1) / kAmxQueries) * steps.count * kAmxBytes;
  }

  // The codes from query number `query` on, a multiple of kAmxQueries.
  const int8_t* codes(size_t query) const {
    return codes_ + static_cast<int64_t>(query / kAmxQueries) * step_count_ * kAmxBytes;
  }

 private:
  const int64_t step_count_;
  const int8_t* const codes_;
};

void pack_amx(std::span<const QuantizedQuery> queries, int64_t groups, std::vector<int8_t>& packed) {
  const AmxSteps steps(groups);
  packed.assign(static_cast<size_t>(AmxPacked::bytes(queries.size(), steps)), 0);
  const AmxPacked places(packed.data(), steps);
  for (size_t q = 0; q < queries.size(); ++q) {
    int8_t* const own = packed.data() + (places.codes(q) - packed.data()) + q % kAmxQueries * 64;
    for (int64_t group = 0; group < groups; ++group) {
      const int64_t step = group / kAmxGroups;
      int8_t* const to = own + step * kAmxBytes + (group - steps.first_group(step)) * kTileComponents;
      for (int64_t i = 0; i < kTileComponents; ++i)
        to[i] = static_cast<int8_t>(queries[q].codes[static_cast<size_t>(group * kTileComponents + i)]);
    }
  }
}

// A tile of the model with its rows' parts of the inequality. A zero row is always ruled out: its parts are 0
// and minus infinity.
struct AmxTile {
  void prepare(const Tile& of) {
    tile = of;
    for (int row = 0; row < kTileRows; row += kFloatLanes) {
      const FloatVector scales = hn::LoadU(kFloats, tile.scales + row);
      const FloatVector residuals = hn::LoadU(kFloats, tile.residuals + row);
      const auto is_zero = hn::Eq(residuals, hn::Set(kFloats, std::numeric_limits<float>::infinity()));
      const FloatVector inverse = hn::IfThenElse(hn::Ge(scales, hn::Set(kFloats, kLeastAmxScale)),
                                                 hn::Div(hn::Set(kFloats, 1.0f), scales),
                                                 hn::Set(kFloats, std::numeric_limits<float>::quiet_NaN()));
      hn::Store(hn::IfThenZeroElse(is_zero, inverse), kFloats, inverse_scales + row);
      hn::Store(hn::IfThenElse(is_zero, hn::Set(kFloats, -std::numeric_limits<float>::infinity()),
                               hn::Mul(residuals, inverse)),
                kFloats, scaled_residuals + row);
      if (tile.along == nullptr) continue;
      const FloatVector lengths = hn::LoadU(kFloats, tile.lengths + row);
      hn::Store(hn::Mul(hn::LoadU(kFloats, tile.along + row), inverse), kFloats, along + row);
      hn::Store(hn::Mul(lengths, inverse), kFloats, scaled_lengths + row);
      hn::Store(hn::Mul(hn::Mul(lengths, lengths), inverse), kFloats, squares + row);
    }
  }

  Tile tile;
  alignas(64) float inverse_scales[kTileRows];
  alignas(64) float scaled_residuals[kTileRows];
  // Of codes that are shifted: a, l and l^2, divided by the scale.
  alignas(64) float along[kTileRows];
  alignas(64) float scaled_lengths[kTileRows];
  alignas(64) float squares[kTileRows];
};
static_assert(kTileRows == 2 * kFloatLanes);

// The products of a tile with a block of queries, and how far they have been compared with the thresholds.
struct AmxBlock {
  const AmxTile* tile;
  const int32_t* sums;  // [queries][kTileRows]
  size_t next;          // of the queries
  size_t end;
};

// What a thread scans with.
struct AmxScan {
  const AmxSteps& steps;
  std::span<const QuantizedQuery> queries;
  Collector* collectors;
  BatchLimit* limits;
};

HWY_NOINLINE void offer_amx(const AmxScan& scan, const Tile& tile, const int32_t* sums, size_t query) {
  for (int row = 0; row < kTileRows; row += kFloatLanes)
    filter(tile, row, hn::Load(kInts, sums + row), scan.queries[query], scan.collectors[query]);
  scan.limits[query].update(scan.collectors[query].threshold());
}

// Returns what the sums of kFloatLanes rows must reach if the codes are shifted, given what they must
// otherwise.
HWY_INLINE FloatVector shifted_limits(const BatchLimit& limit, const AmxTile& tile, int row,
                                      FloatVector limits) {
  limits = hn::NegMulAdd(hn::Set(kFloats, limit.along), hn::Load(kFloats, tile.along + row), limits);
  limits =
      hn::NegMulAdd(hn::Set(kFloats, limit.length), hn::Load(kFloats, tile.scaled_lengths + row), limits);
  return hn::NegMulAdd(hn::Set(kFloats, limit.square), hn::Load(kFloats, tile.squares + row), limits);
}

// Offers the rows of up to `count` more queries of the block that are not ruled out.
HWY_INLINE void compare_amx(const AmxScan& scan, AmxBlock& block, size_t count) {
  const AmxTile& tile = *block.tile;
  const FloatVector scales_0 = hn::Load(kFloats, tile.inverse_scales);
  const FloatVector scales_1 = hn::Load(kFloats, tile.inverse_scales + kFloatLanes);
  const FloatVector residuals_0 = hn::Load(kFloats, tile.scaled_residuals);
  const FloatVector residuals_1 = hn::Load(kFloats, tile.scaled_residuals + kFloatLanes);
  const size_t end = std::min(block.end, block.next + count);
  for (; block.next < end; ++block.next, block.sums += kTileRows) {
    const BatchLimit& limit = scan.limits[block.next];
    const FloatVector base = hn::Set(kFloats, limit.base);
    const FloatVector slope = hn::Set(kFloats, limit.slope);
    FloatVector limits_0 = hn::NegMulAdd(slope, residuals_0, hn::Mul(base, scales_0));
    FloatVector limits_1 = hn::NegMulAdd(slope, residuals_1, hn::Mul(base, scales_1));
    if (tile.tile.along != nullptr) {
      limits_0 = shifted_limits(limit, tile, 0, limits_0);
      limits_1 = shifted_limits(limit, tile, kFloatLanes, limits_1);
    }
    const FloatVector sums_0 = hn::ConvertTo(kFloats, hn::Load(kInts, block.sums));
    const FloatVector sums_1 = hn::ConvertTo(kFloats, hn::Load(kInts, block.sums + kFloatLanes));
    const auto ruled_out = hn::And(hn::Lt(sums_0, limits_0), hn::Lt(sums_1, limits_1));
    if (HWY_UNLIKELY(!hn::AllTrue(kFloats, ruled_out))) offer_amx(scan, tile.tile, block.sums, block.next);
  }
}

// Multiplies kBlocks blocks of 16 queries with a tile of the model, and compares the products before
// meanwhile: the tile registers have a unit of their own.
//   sums  [kBlocks * 16][kTileRows], filled
template <int kBlocks>
HWY_INLINE void multiply_amx(const AmxScan& scan, const int8_t* codes, const int8_t* packed, int32_t* sums,
                             AmxBlock& before) {
  constexpr int64_t kSumStride = kTileRows * sizeof(int32_t);
  const AmxSteps& steps = scan.steps;
  const size_t share = kAmxBlock / static_cast<size_t>(steps.count) + 1;
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (kBlocks == 2) {
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t step = 0; step < steps.count; ++step) {
    const int8_t* const rows = codes + steps.first_group(step) * kTileStride;
    _tile_loadd(6, rows, kTileStride);
    _tile_loadd(7, rows + kAmxRows * kTileComponents, kTileStride);
    _tile_loadd(4, packed + step * kAmxBytes, 64);
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    if constexpr (kBlocks == 2) {
      _tile_loadd(5, packed + (steps.count + step) * kAmxBytes, 64);
      _tile_dpbssd(2, 5, 6);
      _tile_dpbssd(3, 5, 7);
    }
    compare_amx(scan, before, share);
  }
  _tile_stored(0, sums, kSumStride);
  _tile_stored(1, sums + kAmxRows, kSumStride);
  if constexpr (kBlocks == 2) {
    _tile_stored(2, sums + kAmxQueries * kTileRows, kSumStride);
    _tile_stored(3, sums + kAmxQueries * kTileRows + kAmxRows, kSumStride);
  }
}

// Asks for `bytes` that are read later.
HWY_INLINE void fetch_amx(const int8_t* from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kAmxLine)
    _mm_prefetch(reinterpret_cast<const char*>(from + i), _MM_HINT_T1);
}

// Scans tiles that are next to each other for all queries, and fetches as many bytes behind them.
void scan_together_amx(const AmxScan& scan, const AmxPacked& packed, std::span<const AmxTile> tiles,
                       int64_t tile_bytes) {
  alignas(64) int32_t sums[2][kAmxBlock * kTileRows];
  AmxBlock before = {&tiles.front(), sums[0], 0, 0};
  const int8_t* ahead = tiles.back().tile.codes + tile_bytes;
  const auto blocks = static_cast<int64_t>((scan.queries.size() + kAmxBlock - 1) / kAmxBlock);
  const int64_t fetched = (tile_bytes / blocks + kAmxLine - 1) / kAmxLine * kAmxLine;
  int turn = 0;
  for (size_t q = 0; q < scan.queries.size(); q += kAmxBlock) {
    const size_t end = std::min(scan.queries.size(), q + kAmxBlock);
    for (const AmxTile& tile : tiles) {
      fetch_amx(ahead, fetched);
      ahead += fetched;
      if (end - q > kAmxQueries)
        multiply_amx<2>(scan, tile.tile.codes, packed.codes(q), sums[turn], before);
      else
        multiply_amx<1>(scan, tile.tile.codes, packed.codes(q), sums[turn], before);
      before = {&tile, sums[turn], q, end};
      turn = 1 - turn;
    }
  }
  compare_amx(scan, before, kAmxBlock);
}

void scan_amx(const ModelPart& part, const CodeLevel& level, int64_t first_tile, int64_t last_tile,
              std::span<const QuantizedQuery> queries, const int8_t* packed_queries, Collector* collectors) {
  const AmxSteps steps(component_groups(part.dims));
  const AmxRegisters registers(steps.groups);
  const AmxPacked packed(packed_queries, steps);
  std::vector<BatchLimit> limits = limits_of(queries, collectors);
  const AmxScan scan = {steps, queries, collectors, limits.data()};
  const int64_t tile_bytes = steps.groups * kTileStride;
  const int64_t together = std::clamp<int64_t>(kAmxTogetherBytes / tile_bytes, 1, kMostAmxTiles);
  for (int64_t first = first_tile; first < last_tile; first += together) {
    const int64_t count = std::min(together, last_tile - first);
    EdgeRows edge;
    AmxTile tiles[kMostAmxTiles];
    for (int64_t i = 0; i < count; ++i) tiles[i].prepare(tile_of(part, level, steps.groups, first + i, edge));
    scan_together_amx(scan, packed, std::span(tiles, static_cast<size_t>(count)), tile_bytes);
  }
}

// Multiply-adds of a few milliseconds; the processors with AMX are not slow.
constexpr int64_t kAmxChunkProducts = int64_t{1} << 30;
extern const ScanKernel kAmxScan = {127, kAmxChunkProducts, pack_amx, scan_amx};
