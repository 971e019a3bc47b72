// Row codes widened to 16 bits times query codes of 16 bits. A vector of sums has two lanes per row.
struct Dot {
  using CodeVector = hn::VFromD<hn::ScalableTag<int16_t>>;
  using SumVector = IntVector;
  using QueryCode = int16_t;
  using QueryUnit = int64_t;  // four codes
  static constexpr int32_t kMaxQueryCode = 32767;
  static constexpr int kRowsPerVector = HWY_LANES(int16_t) / kTileComponents;
  static constexpr int kVectorsPerSum = 2;
  static constexpr int kSingleVectors = HWY_LANES(int8_t) == 32 ? 8 : 4;
  static constexpr int kBatchVectors = HWY_LANES(int8_t) == 64 ? 4 : 2;
  static constexpr int kGroupSizes[] = {HWY_LANES(int8_t) == 64 ? 6 : 4, 2, 1};
  static constexpr int64_t kChunkProducts = HWY_LANES(int8_t) << 19;

  static HWY_INLINE CodeVector load(const int8_t* codes) {
    const hn::ScalableTag<int16_t> shorts;
    return hn::PromoteTo(shorts, hn::LoadU(hn::Rebind<int8_t, decltype(shorts)>(), codes));
  }
  static HWY_INLINE CodeVector broadcast(const int8_t* query_codes) {
    QueryUnit unit;
    std::memcpy(&unit, query_codes, sizeof(unit));
    return hn::BitCast(hn::ScalableTag<int16_t>(), hn::Set(hn::ScalableTag<int64_t>(), unit));
  }
  static HWY_INLINE SumVector start(const QuantizedQuery&) { return hn::Zero(kInts); }
  static HWY_INLINE SumVector add(SumVector sums, CodeVector codes, CodeVector query) {
    IntVector unused = hn::Zero(kInts);
    return hn::ReorderWidenMulAccumulate(kInts, codes, query, sums, unused);  // adjacent pairs on x86
  }
  static HWY_INLINE IntVector row_sums(const SumVector* sums) {
    return hn::Add(hn::ConcatEven(kInts, sums[1], sums[0]), hn::ConcatOdd(kInts, sums[1], sums[0]));
  }
};
