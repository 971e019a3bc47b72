// Row codes times query codes of 16 bits, in loops that a compiler for any processor turns into what it has.
struct Dot {
  using CodeVector = hn::VFromD<hn::ScalableTag<int8_t>>;
  using SumVector = IntVector;
  using QueryCode = int16_t;
  using QueryUnit = int64_t;  // four codes
  static constexpr int32_t kMaxQueryCode = 32767;
  static constexpr int kRowsPerVector = kFloatLanes;
  static constexpr int kVectorsPerSum = 1;
  static constexpr int kSingleVectors = 8;
  static constexpr int kBatchVectors = 2;
  static constexpr int kGroupSizes[] = {3, 2, 1};
  static constexpr int64_t kChunkProducts = 4 << 20;

  static HWY_INLINE CodeVector load(const int8_t* codes) {
    return hn::LoadU(hn::ScalableTag<int8_t>(), codes);
  }
  static HWY_INLINE std::array<int16_t, kTileComponents> broadcast(const int8_t* query_codes) {
    std::array<int16_t, kTileComponents> unit;
    std::memcpy(unit.data(), query_codes, sizeof(unit));
    return unit;
  }
  static HWY_INLINE SumVector start(const QuantizedQuery&) { return hn::Zero(kInts); }
  static HWY_INLINE SumVector add(SumVector sums, const CodeVector& codes,
                                  const std::array<int16_t, kTileComponents>& query) {
    for (int row = 0; row < kFloatLanes; ++row)
      for (int i = 0; i < kTileComponents; ++i)
        sums.raw[row] += codes.raw[row * kTileComponents + i] * query[static_cast<size_t>(i)];
    return sums;
  }
  static HWY_INLINE IntVector row_sums(const SumVector* sums) { return *sums; }
};

// Products of row codes of 4 bits and query codes of 8.
struct NibbleDot {
  using ByteVector = Dot::CodeVector;
  using Partial = IntVector;
  static constexpr int kVectors = 4;
  static constexpr int64_t kWords = 1 << 14;  // of any model

  static HWY_INLINE ByteVector broadcast(const int8_t* query) { return repeat_unit<int8_t, int32_t>(query); }
  static HWY_INLINE Partial start() { return hn::Zero(kInts); }
  static HWY_INLINE void add(Partial& sums, ByteVector low, ByteVector query_low, ByteVector high,
                             ByteVector query_high) {
    for (int i = 0; i < kFloatLanes * kTileComponents; ++i)
      sums.raw[i / kTileComponents] += low.raw[i] * query_low.raw[i] + high.raw[i] * query_high.raw[i];
  }
  static HWY_INLINE IntVector total(Partial sums) { return sums; }
};
