// The loop of convolutions for one instruction set: kernels-inl.h includes this file, inside its namespace.

static_assert(2 * HWY_LANES(double) <= kConvolveMargin && kConvolvedRows == 4);

// The sums of two vectors of columns, for kConvolvedRows rows of the result.
struct ConvolveSums {
  WideVector row[kConvolvedRows][2];
};

// Adds a row of weights times a row of the grid to one row of the result.
//   x  the value that the first weight meets in the first column
HWY_INLINE void add_weighted_row(const double* x, const double* weights, int64_t width,
                                 WideVector (&sums)[2]) {
  WideVector left = sums[0], right = sums[1];
  for (int64_t b = 0; b < width; ++b) {
    const WideVector weight = hn::Set(kWideDoubles, weights[b]);
    left = hn::Add(left, hn::Mul(weight, hn::LoadU(kWideDoubles, x - b)));
    right = hn::Add(right, hn::Mul(weight, hn::LoadU(kWideDoubles, x - b + kWideLanes)));
  }
  sums[0] = left;
  sums[1] = right;
}

// The same for all rows of the result, which the rows of weights from `weights` on meet.
HWY_INLINE void add_weighted_rows(const double* x, const double* weights, int64_t width, ConvolveSums& sums) {
  ConvolveSums next = sums;
  for (int64_t b = 0; b < width; ++b) {
    const WideVector left = hn::LoadU(kWideDoubles, x - b);
    const WideVector right = hn::LoadU(kWideDoubles, x - b + kWideLanes);
    HWY_UNROLL(4)
    for (int64_t c = 0; c < kConvolvedRows; ++c) {
      const WideVector weight = hn::Set(kWideDoubles, weights[c * width + b]);
      next.row[c][0] = hn::Add(next.row[c][0], hn::Mul(weight, left));
      next.row[c][1] = hn::Add(next.row[c][1], hn::Mul(weight, right));
    }
  }
  sums = next;
}

// Two vectors of columns from j on. Rows of the grid come from below, so that the rows of weights rise.
HWY_INLINE ConvolveSums convolve_columns(const Convolution& task, int64_t i, int64_t j) {
  ConvolveSums sums;
  for (auto& row : sums.row) row[0] = row[1] = hn::Zero(kWideDoubles);
  const int64_t lowest = i + task.height / 2;  // meets the first weights of the first row
  const int64_t end = std::max<int64_t>(0, lowest - task.height + 1);
  for (int64_t row = std::min(task.rows - 1, lowest + kConvolvedRows - 1); row >= end; --row) {
    const double* const x = task.grid + row * task.stride + j + task.width - 1;
    const int64_t a = lowest - row;  // the row of weights for the first row of the result
    if (a >= 0 && a + kConvolvedRows <= task.height) {
      add_weighted_rows(x, task.weights + a * task.width, task.width, sums);
      continue;
    }
    for (int64_t c = std::max<int64_t>(0, -a); c < std::min(kConvolvedRows, task.height - a); ++c)
      add_weighted_row(x, task.weights + (a + c) * task.width, task.width, sums.row[c]);
  }
  return sums;
}

void convolve_rows(const Convolution& task, int64_t i, int64_t first, int64_t last) {
  const int64_t count = std::min(kConvolvedRows, task.rows - i);
  for (int64_t j = first; j < last; j += 2 * kWideLanes) {
    const ConvolveSums sums = convolve_columns(task, i, j);
    for (int64_t c = 0; c < count; ++c) {
      double* const out = task.out + (i + c) * task.columns + j;
      if (j + 2 * kWideLanes <= last) {
        hn::StoreU(sums.row[c][0], kWideDoubles, out);
        hn::StoreU(sums.row[c][1], kWideDoubles, out + kWideLanes);
        continue;
      }
      double values[2 * kWideLanes];
      hn::StoreU(sums.row[c][0], kWideDoubles, values);
      hn::StoreU(sums.row[c][1], kWideDoubles, values + kWideLanes);
      std::copy(values, values + (last - j), out);
    }
  }
}
