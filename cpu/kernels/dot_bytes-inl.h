// Products of codes of 4 bits by a Dot that multiplies bytes: dot_vnni-inl.h and dot_neon_dotprod-inl.h
// include this file.
struct ByteDot {
  using Query = decltype(Dot::broadcast(nullptr));
  struct Partial {
    IntVector low, high;  // two, because each addition waits for the one before
  };
  static constexpr int64_t kWords = int64_t{1} << 40;  // codes are limited so that a whole sum fits

  static HWY_INLINE Query broadcast(const int8_t* query) { return Dot::broadcast(query); }
  static HWY_INLINE Partial start() { return {hn::Zero(kInts), hn::Zero(kInts)}; }
  static HWY_INLINE void add(Partial& sums, Dot::CodeVector low, Query query_low, Dot::CodeVector high,
                             Query query_high) {
    sums.low = Dot::add(sums.low, low, query_low);
    sums.high = Dot::add(sums.high, high, query_high);
  }
  static HWY_INLINE IntVector total(const Partial& sums) { return hn::Add(sums.low, sums.high); }
};
