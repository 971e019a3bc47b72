// Row codes widened to 16 bits times query codes of 16 bits. Each of a row's four products has its own lane.
struct Dot {
  using ShortVector = hn::VFromD<hn::ScalableTag<int16_t>>;
  struct CodeVector {
    ShortVector halves[2];  // two rows each
  };
  struct SumVector {
    IntVector rows[4];
  };
  using QueryCode = int16_t;
  using QueryUnit = int64_t;  // four codes
  static constexpr int32_t kMaxQueryCode = 32767;
  static constexpr int kRowsPerVector = 4;
  static constexpr int kVectorsPerSum = 1;
  static constexpr int kSingleVectors = 4;
  static constexpr int kBatchVectors = 1;
  static constexpr int kGroupSizes[] = {6, 2, 1};
  static constexpr int64_t kChunkProducts = 8 << 20;

  static HWY_INLINE CodeVector load(const int8_t* codes) {
    const hn::ScalableTag<int8_t> bytes;
    const hn::ScalableTag<int16_t> shorts;
    const auto all = hn::LoadU(bytes, codes);
    return {{hn::PromoteTo(shorts, hn::LowerHalf(all)),
             hn::PromoteTo(shorts, hn::UpperHalf(hn::Half<decltype(bytes)>(), all))}};
  }
  static HWY_INLINE ShortVector broadcast(const int8_t* query_codes) {
    return repeat_unit<int16_t, QueryUnit>(query_codes);
  }
  static HWY_INLINE SumVector start(const QuantizedQuery&) {
    const IntVector zero = hn::Zero(kInts);
    return {{zero, zero, zero, zero}};
  }
  static HWY_INLINE SumVector add(SumVector sums, const CodeVector& codes, ShortVector query) {
    for (int half = 0; half < 2; ++half) {
      IntVector& odd = sums.rows[2 * half + 1];
      sums.rows[2 * half] =
          hn::ReorderWidenMulAccumulate(kInts, codes.halves[half], query, sums.rows[2 * half], odd);
    }
    return sums;
  }
  // Adds pairs of neighbouring lanes: first those of a, then those of b.
  static HWY_INLINE IntVector add_pairs(IntVector a, IntVector b) {
    return IntVector(vpaddq_s32(a.raw, b.raw));
  }
  static HWY_INLINE IntVector row_sums(const SumVector* sums) {
    const IntVector(&rows)[4] = sums->rows;
    return add_pairs(add_pairs(rows[0], rows[1]), add_pairs(rows[2], rows[3]));
  }
};

// Products of codes are summed in 16 bits: 15 * 128 each, and seventeen of them fit.
struct NibbleDot {
  using ByteVector = hn::VFromD<hn::ScalableTag<int8_t>>;
  struct Partial {
    int16x8_t halves[2];  // two rows each
  };
  static constexpr int kVectors = 4;
  static constexpr int64_t kWords = 8;

  static HWY_INLINE ByteVector broadcast(const int8_t* query) { return repeat_unit<int8_t, int32_t>(query); }
  static HWY_INLINE Partial start() { return {{vdupq_n_s16(0), vdupq_n_s16(0)}}; }
  static HWY_INLINE void add_products(Partial& sums, ByteVector codes, ByteVector query) {
    sums.halves[0] = vmlal_s8(sums.halves[0], vget_low_s8(codes.raw), vget_low_s8(query.raw));
    sums.halves[1] = vmlal_s8(sums.halves[1], vget_high_s8(codes.raw), vget_high_s8(query.raw));
  }
  static HWY_INLINE void add(Partial& sums, ByteVector low, ByteVector query_low, ByteVector high,
                             ByteVector query_high) {
    add_products(sums, low, query_low);
    add_products(sums, high, query_high);
  }
  static HWY_INLINE IntVector total(const Partial& sums) {
    return IntVector(vpaddq_s32(vpaddlq_s16(sums.halves[0]), vpaddlq_s16(sums.halves[1])));
  }
};
