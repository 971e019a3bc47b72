// Row codes of 8 bits times query codes of 8 bits. The instruction multiplies unsigned by signed numbers, so
// 128 is added to the row codes, and a query's sums start at -128 times the sum of its codes.
struct Dot {
  using CodeVector = hn::VFromD<hn::ScalableTag<int8_t>>;
  using SumVector = IntVector;
  using QueryCode = int8_t;
  using QueryUnit = int32_t;  // four codes
  static constexpr int32_t kMaxQueryCode = 127;
  static constexpr int kRowsPerVector = HWY_LANES(int32_t);
  static constexpr int kVectorsPerSum = 1;
  static constexpr int kSingleVectors = 2;
  static constexpr int kBatchVectors = 2;
  static constexpr int kGroupSizes[] = {12, 4, 1};
  static constexpr int64_t kChunkProducts = 256 << 20;

  static HWY_INLINE CodeVector load(const int8_t* codes) {
    const hn::ScalableTag<int8_t> bytes;
    return hn::Xor(hn::LoadU(bytes, codes), hn::Set(bytes, int8_t{-128}));
  }
  static HWY_INLINE IntVector broadcast(const int8_t* query_codes) {
    return repeat_unit<int32_t, QueryUnit>(query_codes);
  }
  static HWY_INLINE SumVector start(const QuantizedQuery& query) {
    return hn::Set(kInts, -128 * query.code_sum);
  }
  static HWY_INLINE SumVector add(SumVector sums, CodeVector codes, IntVector query) {
    return IntVector{_mm512_dpbusd_epi32(sums.raw, codes.raw, query.raw)};
  }
  static HWY_INLINE IntVector row_sums(const SumVector* sums) { return sums[0]; }
};

#include "cpu/kernels/dot_bytes-inl.h"

struct NibbleDot : ByteDot {
  static constexpr int kVectors = 2;

  // Multiplies bytes of four codes of 2 bits where they are: the sums of the second to fourth are multiples
  // of 4, 16 and 64, below 2^31 for any model with planes.
  struct Planes {
    struct Partial {
      IntVector parts[4];
    };
    static constexpr int64_t kWords = int64_t{1} << 40;

    static HWY_INLINE Partial start() {
      const IntVector zero = hn::Zero(kInts);
      return {{zero, zero, zero, zero}};
    }
    static HWY_INLINE void add(Partial& sums, Dot::CodeVector codes, const IntVector (&query)[4]) {
      const hn::ScalableTag<uint8_t> bytes;
      for (int i = 0; i < 4; ++i) {
        const auto part =
            hn::And(hn::BitCast(bytes, codes), hn::Set(bytes, static_cast<uint8_t>(3 << 2 * i)));
        sums.parts[i] = IntVector{_mm512_dpbusd_epi32(sums.parts[i].raw, part.raw, query[i].raw)};
      }
    }
    static HWY_INLINE IntVector total(const Partial& sums) {
      return hn::Add(hn::Add(sums.parts[0], hn::ShiftRight<2>(sums.parts[1])),
                     hn::Add(hn::ShiftRight<4>(sums.parts[2]), hn::ShiftRight<6>(sums.parts[3])));
    }
  };
};
