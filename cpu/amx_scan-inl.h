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
// Tiles of the model that are multiplied with a block of queries while both are in the core's first cache.
constexpr int64_t kAmxTilesTogether = 2;

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

// Queries are stored as [block of 16][step][16 queries][64], and padded with zeros to a multiple of 16.
void pack_amx(std::span<const QuantizedQuery> queries, int64_t groups, std::vector<int8_t>& packed) {
  const AmxSteps steps(groups);
  const size_t blocks = (queries.size() + kAmxQueries - 1) / kAmxQueries;
  packed.assign(blocks * static_cast<size_t>(steps.count * kAmxBytes), 0);
  for (size_t q = 0; q < queries.size(); ++q) {
    int8_t* const own =
        packed.data() + q / kAmxQueries * static_cast<size_t>(steps.count * kAmxBytes) + q % kAmxQueries * 64;
    for (int64_t group = 0; group < groups; ++group) {
      const int64_t step = group / kAmxGroups;
      int8_t* const to = own + step * kAmxBytes + (group - steps.first_group(step)) * kTileComponents;
      for (int64_t i = 0; i < kTileComponents; ++i)
        to[i] = static_cast<int8_t>(queries[q].codes[static_cast<size_t>(group * kTileComponents + i)]);
    }
  }
}

// Multiplies kBlocks blocks of 16 queries with a tile of the model.
//   sums  [kBlocks * 16][kTileRows], filled
template <int kBlocks>
HWY_INLINE void multiply_amx(const int8_t* codes, const AmxSteps& steps, const int8_t* packed,
                             int32_t* sums) {
  constexpr int64_t kSumStride = kTileRows * sizeof(int32_t);
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
  }
  _tile_stored(0, sums, kSumStride);
  _tile_stored(1, sums + kAmxRows, kSumStride);
  if constexpr (kBlocks == 2) {
    _tile_stored(2, sums + kAmxQueries * kTileRows, kSumStride);
    _tile_stored(3, sums + kAmxQueries * kTileRows + kAmxRows, kSumStride);
  }
}

// Scans one tile for up to kAmxBlock queries.
HWY_INLINE void scan_block_amx(const Tile& tile, const AmxSteps& steps, const int8_t* packed,
                               std::span<const QuantizedQuery> queries, Collector* collectors) {
  alignas(64) int32_t sums[kAmxBlock * kTileRows];
  if (queries.size() > kAmxQueries)
    multiply_amx<2>(tile.codes, steps, packed, sums);
  else
    multiply_amx<1>(tile.codes, steps, packed, sums);
  for (size_t q = 0; q < queries.size(); ++q)
    for (int row = 0; row < kTileRows; row += kFloatLanes)
      filter(tile, row, hn::Load(kInts, sums + q * kTileRows + static_cast<size_t>(row)), queries[q],
             collectors[q]);
}

void scan_amx(const ModelPart& part, const CodeLevel& level, int64_t first_tile, int64_t last_tile,
              std::span<const QuantizedQuery> queries, const int8_t* packed, Collector* collectors) {
  const AmxSteps steps(component_groups(part.dims));
  const AmxRegisters registers(steps.groups);
  for (int64_t first = first_tile; first < last_tile; first += kAmxTilesTogether) {
    const int64_t tiles = std::min(kAmxTilesTogether, last_tile - first);
    EdgeRows edge;
    Tile together[kAmxTilesTogether];
    for (int64_t i = 0; i < tiles; ++i)
      together[i] = tile_of(part, level, component_groups(part.dims), first + i, edge);
    for (size_t q = 0; q < queries.size(); q += kAmxBlock) {
      const auto block = queries.subspan(q, std::min<size_t>(kAmxBlock, queries.size() - q));
      const int8_t* const codes = packed + static_cast<int64_t>(q / kAmxQueries) * steps.count * kAmxBytes;
      for (int64_t i = 0; i < tiles; ++i) scan_block_amx(together[i], steps, codes, block, collectors + q);
    }
  }
}

// Multiply-adds of a few milliseconds; the processors with AMX are not slow.
constexpr int64_t kAmxChunkProducts = int64_t{1} << 28;
extern const ScanKernel kAmxScan = {127, kAmxChunkProducts, pack_amx, scan_amx};
