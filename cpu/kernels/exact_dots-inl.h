// Exact dot products for one instruction set (model/exact_dot.h): kernels-inl.h includes this file, inside
// its namespace.

// At most four lanes: for rows that come from memory in order, one after another in a single stream was
// fastest, even with vectors of half the width.
const hn::CappedTag<double, 4> kDoubles;
constexpr int kDoubleLanes = HWY_MIN(HWY_LANES(double), 4);
constexpr int kSumVectors = 8 / kDoubleLanes;  // vectors that hold the eight partial sums
using DoubleVector = hn::VFromD<decltype(kDoubles)>;
using SumIndices = std::make_index_sequence<kSumVectors>;

// The eight partial sums of one dot product.
struct EightSums {
  DoubleVector sums[kSumVectors];

  template <size_t... I>
  HWY_INLINE void add(const double* query, const float* row, std::index_sequence<I...>) {
    const hn::Rebind<float, decltype(kDoubles)> floats;
    ((sums[I] = hn::MulAdd(hn::LoadU(kDoubles, query + I * kDoubleLanes),
                           hn::PromoteTo(kDoubles, hn::LoadU(floats, row + I * kDoubleLanes)), sums[I])),
     ...);
  }
  // Adds eight products.
  HWY_INLINE void add(const double* query, const float* row) { add(query, row, SumIndices()); }

  HWY_INLINE double combine() const {
    double p[8];
    for (int i = 0; i < kSumVectors; ++i) hn::StoreU(sums[i], kDoubles, p + i * kDoubleLanes);
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
  }
};

// The products of kRows rows, so that additions of one row do not wait for each other only.
template <int kRows, size_t... R>
HWY_INLINE void dots_of_rows(const double* query, const float* const* rows, int64_t dims, double* dots,
                             std::index_sequence<R...>) {
  EightSums partial[kRows];
  for (EightSums& row : partial)
    for (DoubleVector& sum : row.sums) sum = hn::Zero(kDoubles);
  int64_t j = 0;
  for (; j + 8 <= dims; j += 8) (partial[R].add(query + j, rows[R] + j), ...);
  for (int r = 0; r < kRows; ++r) {
    if (j < dims) {
      // Partial sums are never -0.0, so adding products of zeros changes nothing.
      float padded[8] = {};
      std::copy(rows[r] + j, rows[r] + dims, padded);
      partial[r].add(query + j, padded);
    }
    dots[r] = partial[r].combine();
  }
}

template <int kRows>
void dots_in_groups(const double* query, const float* const* rows, int64_t count, int64_t dims,
                    double* dots) {
  int64_t i = 0;
  for (; i + kRows <= count; i += kRows)
    dots_of_rows<kRows>(query, rows + i, dims, dots + i, std::make_index_sequence<kRows>());
  for (; i < count; ++i) dots_of_rows<1>(query, rows + i, dims, dots + i, std::make_index_sequence<1>());
}

constexpr auto exact_dots = dots_in_groups<1>;
constexpr int kCachedRows = kDoubleLanes == 4 ? 4 : 2;  // whose sums fit in the registers
constexpr auto cached_dots = dots_in_groups<kCachedRows>;
