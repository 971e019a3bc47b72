// Second moments for one instruction set: kernels-inl.h includes this file, inside its
// namespace.

const hn::ScalableTag<double> kWideDoubles;
using WideVector = hn::VFromD<decltype(kWideDoubles)>;
constexpr int kWideLanes = HWY_LANES(double);

// kGramRows rows of the matrix by three vectors of its columns, over all rows of y. A product is exact, so a
// fused and a separate multiply-add give the same bits.
HWY_INLINE void update_gram_tile(const double* y, int64_t rows, int64_t stride, int64_t i, int64_t j,
                                 double* matrix) {
  double* const out = matrix + i * stride + j;
  WideVector sums[kGramRows][3];
  for (int64_t a = 0; a < kGramRows; ++a)
    for (int64_t b = 0; b < 3; ++b) sums[a][b] = hn::LoadU(kWideDoubles, out + a * stride + b * kWideLanes);
  for (int64_t row = 0; row < rows; ++row, y += stride) {
    const WideVector right[3] = {hn::LoadU(kWideDoubles, y + j), hn::LoadU(kWideDoubles, y + j + kWideLanes),
                                 hn::LoadU(kWideDoubles, y + j + 2 * kWideLanes)};
    HWY_UNROLL(4)
    for (int64_t a = 0; a < kGramRows; ++a) {
      const WideVector left = hn::Set(kWideDoubles, y[i + a]);
      sums[a][0] = hn::MulAdd(left, right[0], sums[a][0]);
      sums[a][1] = hn::MulAdd(left, right[1], sums[a][1]);
      sums[a][2] = hn::MulAdd(left, right[2], sums[a][2]);
    }
  }
  for (int64_t a = 0; a < kGramRows; ++a)
    for (int64_t b = 0; b < 3; ++b) hn::StoreU(sums[a][b], kWideDoubles, out + a * stride + b * kWideLanes);
}

void update_gram(const double* y, int64_t rows, int64_t dims, int64_t first, int64_t last, double* matrix) {
  static_assert(3 * HWY_LANES(double) <= kGramMargin && kGramRows == 4);
  for (int64_t i = first; i < last; i += kGramRows)
    for (int64_t j = i; j < dims; j += 3 * kWideLanes)
      update_gram_tile(y, rows, gram_stride(dims), i, j, matrix);
}

extern const MomentKernels kMoment = {add_row, center_row, update_gram};
