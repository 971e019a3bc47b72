// Row codes of 8 bits times query codes of 8 bits, both signed.
struct Dot {
  using CodeVector = hn::VFromD<hn::ScalableTag<int8_t>>;
  using SumVector = IntVector;
  using QueryCode = int8_t;
  using QueryUnit = int32_t;  // four codes
  static constexpr int32_t kMaxQueryCode = 127;
  static constexpr int kRowsPerVector = HWY_LANES(int32_t);
  static constexpr int kVectorsPerSum = 1;
  static constexpr int kSingleVectors = 8;
  static constexpr int kBatchVectors = 4;
  static constexpr int kGroupSizes[] = {4, 2, 1};
  static constexpr int64_t kChunkProducts = 16 << 20;

  static HWY_INLINE CodeVector load(const int8_t* codes) {
    return hn::LoadU(hn::ScalableTag<int8_t>(), codes);
  }
  static HWY_INLINE CodeVector broadcast(const int8_t* query_codes) {
    return repeat_unit<int8_t, QueryUnit>(query_codes);
  }
  static HWY_INLINE SumVector start(const QuantizedQuery&) { return hn::Zero(kInts); }
  static HWY_INLINE SumVector add(SumVector sums, CodeVector codes, CodeVector query) {
    return IntVector(vdotq_s32(sums.raw, codes.raw, query.raw));
  }
  static HWY_INLINE IntVector row_sums(const SumVector* sums) { return sums[0]; }
};

#include "cpu/kernels/dot_bytes-inl.h"

struct NibbleDot : ByteDot {
  static constexpr int kVectors = 4;
};
