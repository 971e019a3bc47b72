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
  static constexpr int kGroupSizes[] = {HWY_LANES(int8_t) == 64 ? 5 : 3, 2, 1};
  static constexpr int64_t kChunkProducts = HWY_LANES(int8_t) << 19;

  static HWY_INLINE CodeVector load(const int8_t* codes) {
    const hn::ScalableTag<int16_t> shorts;
    return hn::PromoteTo(shorts, hn::LoadU(hn::Rebind<int8_t, decltype(shorts)>(), codes));
  }
  static HWY_INLINE CodeVector broadcast(const int8_t* query_codes) {
    return repeat_unit<int16_t, QueryUnit>(query_codes);
  }
  static HWY_INLINE SumVector start(const QuantizedQuery&) { return hn::Zero(kInts); }
  static HWY_INLINE SumVector add(SumVector sums, CodeVector codes, CodeVector query) {
    IntVector unused = hn::Zero(kInts);
    return hn::ReorderWidenMulAccumulate(kInts, codes, query, sums, unused);  // adjacent pairs here
  }
  static HWY_INLINE IntVector row_sums(const SumVector* sums) {
    return hn::Add(hn::ConcatEven(kInts, sums[1], sums[0]), hn::ConcatOdd(kInts, sums[1], sums[0]));
  }
};

// Products of row codes of 4 bits and query codes of 8.
struct NibbleDot {
  using ByteVector = hn::VFromD<hn::ScalableTag<int8_t>>;

#if HWY_TARGET == HWY_WASM
  // Codes of 16 bits are multiplied and summed in pairs of 32 bits, the even bytes of a word apart from the
  // odd ones: WebAssembly multiplies no bytes. The compiler widens the query once for all vectors of rows.
  using Partial = IntVector;
  static constexpr int kVectors = 4;
  static constexpr int64_t kWords = 1 << 14;  // of any model

  static HWY_INLINE Partial products(ByteVector codes, ByteVector query) {
    const v128_t even = wasm_i32x4_dot_i16x8(wasm_v128_and(codes.raw, wasm_i16x8_const_splat(0xFF)),
                                             wasm_i16x8_shr(wasm_i16x8_shl(query.raw, 8), 8));
    const v128_t odd = wasm_i32x4_dot_i16x8(wasm_u16x8_shr(codes.raw, 8), wasm_i16x8_shr(query.raw, 8));
    return IntVector{wasm_i32x4_add(even, odd)};
  }
  static HWY_INLINE IntVector total(Partial sums) {
    return sums;
  }
#else
  // Products of codes are summed in pairs of 16 bits: 15 * 128 * 2 each, and eight of them fit.
  using Partial = hn::VFromD<hn::ScalableTag<int16_t>>;
  static constexpr int kVectors = HWY_LANES(int8_t) == 64 ? 2 : 4;
  static constexpr int64_t kWords = 4;

  static HWY_INLINE Partial products(ByteVector codes, ByteVector query) {
#if HWY_TARGET == HWY_AVX3
    return Partial{_mm512_maddubs_epi16(codes.raw, query.raw)};
#elif HWY_TARGET == HWY_AVX2
    return Partial{_mm256_maddubs_epi16(codes.raw, query.raw)};
#else
    return Partial{_mm_maddubs_epi16(codes.raw, query.raw)};
#endif
  }
  static HWY_INLINE IntVector total(Partial sums) {
    IntVector unused = hn::Zero(kInts);
    return hn::ReorderWidenMulAccumulate(kInts, sums, hn::Set(hn::ScalableTag<int16_t>(), int16_t{1}),
                                         hn::Zero(kInts), unused);  // adjacent pairs on x86
  }
#endif

  static HWY_INLINE ByteVector broadcast(const int8_t* query) {
    return repeat_unit<int8_t, int32_t>(query);
  }
  static HWY_INLINE Partial start() {
    return hn::Zero(hn::DFromV<Partial>());
  }
  static HWY_INLINE void add(Partial& sums, ByteVector low, ByteVector query_low, ByteVector high,
                             ByteVector query_high) {
    sums = hn::Add(sums, hn::Add(products(low, query_low), products(high, query_high)));
  }
};
