// k-means by floats for one instruction set: kernels-inl.h includes this file, inside its namespace.

// The scores of kRows rows with kVectors vectors of centroids, [row][vector]. All indices are constants, so
// that the compiler keeps the sums in registers.
template <int kRows, int kVectors>
struct ScoreBlock {
  static constexpr int kSums = kRows * kVectors;
  using Indices = std::make_index_sequence<kSums>;
  using RowIndices = std::make_index_sequence<kRows>;
  using VectorIndices = std::make_index_sequence<kVectors>;

  FloatVector sums[kSums];

  template <size_t... I>
  HWY_INLINE void clear(std::index_sequence<I...>) {
    ((sums[I] = hn::Zero(kFloats)), ...);
  }

  template <size_t... I>
  static HWY_INLINE void load(FloatVector (&columns)[kVectors], const float* from,
                              std::index_sequence<I...>) {
    ((columns[I] = hn::LoadU(kFloats, from + I * kFloatLanes)), ...);
  }

  template <size_t... I>
  HWY_INLINE void add(const FloatVector (&columns)[kVectors], const float* const (&rows)[kRows], int64_t j,
                      std::index_sequence<I...>) {
    ((sums[I] = hn::MulAdd(hn::Set(kFloats, rows[I / kVectors][j]), columns[I % kVectors], sums[I])), ...);
  }

  // Makes scores of the dot products.
  template <size_t... I>
  HWY_INLINE void score(const FloatVector (&half_squares)[kVectors], const float* factors,
                        std::index_sequence<I...>) {
    ((sums[I] = hn::MulSub(sums[I], hn::Set(kFloats, factors[I / kVectors]), half_squares[I % kVectors])),
     ...);
  }

  // Writes to lanes[row] which score of the row is `best`, the first of equal ones.
  template <size_t... R>
  HWY_INLINE void find(const float* best, int32_t* lanes, std::index_sequence<R...>) const {
    ((lanes[R] = find_in(sums[R * kVectors], sums[R * kVectors + kVectors - 1], best[R])), ...);
  }

 private:
  static HWY_INLINE int32_t find_in(FloatVector front, FloatVector back, float value) {
    const FloatVector values = hn::Set(kFloats, value);
    const auto lane = static_cast<int32_t>(hn::FindFirstTrue(kFloats, hn::Eq(front, values)));
    if (kVectors == 1 || lane >= 0) return lane;
    return kFloatLanes + static_cast<int32_t>(hn::FindFirstTrue(kFloats, hn::Eq(back, values)));
  }
};

// In each lane the highest and the second highest of some scores of a row.
struct TopTwo {
  FloatVector best, second;
};

// Combines each even lane with the next one. The results of `front` come first.
HWY_INLINE TopTwo merge_lanes(const TopTwo& front, const TopTwo& back) {
  const FloatVector even = hn::ConcatEven(kFloats, back.best, front.best);
  const FloatVector odd = hn::ConcatOdd(kFloats, back.best, front.best);
  const FloatVector others = hn::Max(hn::ConcatEven(kFloats, back.second, front.second),
                                     hn::ConcatOdd(kFloats, back.second, front.second));
  return {hn::Max(even, odd), hn::Max(hn::Min(even, odd), others)};
}

// The two highest scores of rows [kFirst, kFirst + kCount): each row has the lanes from
// (row - kFirst) * kFloatLanes / kCount on.
template <int kFirst, int kCount, int kRows, int kVectors>
HWY_INLINE TopTwo top_of_rows(const ScoreBlock<kRows, kVectors>& block) {
  if constexpr (kCount > 1) {
    return merge_lanes(top_of_rows<kFirst, kCount / 2>(block),
                       top_of_rows<kFirst + kCount / 2, kCount / 2>(block));
  } else if constexpr (kVectors == 1) {
    return {block.sums[kFirst], hn::Set(kFloats, -std::numeric_limits<float>::infinity())};
  } else {
    const FloatVector front = block.sums[kFirst * kVectors], back = block.sums[kFirst * kVectors + 1];
    return {hn::Max(front, back), hn::Min(front, back)};
  }
}

// The two highest scores of a row so far.
struct BestScores {
  float best[FloatRows::kRows];
  float second[FloatRows::kRows];
};

// Raises the best scores of kRows rows by those of a block, whose first centroid is number `first`.
template <int kRows, int kVectors>
HWY_INLINE void raise_best(const ScoreBlock<kRows, kVectors>& block, int first, int first_row,
                           BestScores& scores_so_far, FloatRows& rows) {
  using Block = ScoreBlock<kRows, kVectors>;
  TopTwo top = top_of_rows<0, kRows>(block);
  for (int lanes = kFloatLanes; lanes > kRows; lanes /= 2) top = merge_lanes(top, top);
  float best[kFloatLanes], second[kFloatLanes];
  hn::StoreU(top.best, kFloats, best);
  hn::StoreU(top.second, kFloats, second);
  int32_t winners[kRows];
  block.find(best, winners, typename Block::RowIndices());
  float* const row_best = scores_so_far.best + first_row;
  float* const row_second = scores_so_far.second + first_row;
  for (int i = 0; i < kRows; ++i) {
    row_second[i] = std::max(std::max(row_second[i], second[i]), std::min(row_best[i], best[i]));
    if (best[i] > row_best[i]) rows.winners[first_row + i] = first + winners[i];
    row_best[i] = std::max(row_best[i], best[i]);
  }
}

template <int kRows, int kVectors>
HWY_NOINLINE void score_block(const FloatCentroids& centroids, int64_t dims, int first_row, int first_column,
                              BestScores& best, FloatRows& rows) {
  using Block = ScoreBlock<kRows, kVectors>;
  constexpr int64_t kLineFloats = 16;
  const float* vectors[kRows];
  for (int i = 0; i < kRows; ++i) vectors[i] = rows.vectors[first_row + i];
  const int64_t to_fetch = first_column == 0 ? dims : 0;
  Block block;
  block.clear(typename Block::Indices());
  FloatVector columns[kVectors];
  const float* from = centroids.columns + first_column;
  for (int64_t j = 0; j < dims; ++j, from += centroids.padded) {
    Block::load(columns, from, typename Block::VectorIndices());
    block.add(columns, vectors, j, typename Block::Indices());
    const int64_t component = j / kRows * kLineFloats;
    if (component < to_fetch) __builtin_prefetch(rows.next[first_row + j % kRows] + component);
  }
  Block::load(columns, centroids.half_squares + first_column, typename Block::VectorIndices());
  block.score(columns, rows.factors + first_row, typename Block::Indices());
  raise_best(block, first_column, first_row, best, rows);
}

// With the squared distances square - 2 * score, the difference of the distances is the difference of the
// squares divided by their sum.
void set_gaps(const BestScores& scores, FloatRows& rows) {
  const hn::CappedTag<float, FloatRows::kRows> floats;
  const auto two = hn::Set(floats, 2.0f);
  const auto zero = hn::Zero(floats);
  for (int row = 0; row < FloatRows::kRows; row += static_cast<int>(hn::Lanes(floats))) {
    const auto best = hn::LoadU(floats, scores.best + row);
    const auto second = hn::LoadU(floats, scores.second + row);
    const auto error = hn::Mul(two, hn::LoadU(floats, rows.errors + row));
    const auto square = hn::Add(hn::LoadU(floats, rows.squares + row), error);
    const auto numerator = hn::MulSub(hn::Sub(best, second), hn::Set(floats, 1 - kGapSlack), error);
    const auto nearest = hn::Max(zero, hn::NegMulAdd(two, best, square));
    const auto next = hn::Max(zero, hn::NegMulAdd(two, second, square));
    const auto sum = hn::Mul(hn::Add(hn::Sqrt(nearest), hn::Sqrt(next)), hn::Set(floats, 1 + kGapSlack));
    hn::StoreU(hn::Div(hn::Mul(two, numerator), sum), floats, rows.gaps + row);
  }
}

void nearest_by_floats(const FloatCentroids& centroids, int64_t dims, FloatRows& rows) {
  constexpr int kBlockRows = kFloatLanes >= 16 ? 8 : 4;  // as many as the registers hold
  BestScores best;
  std::fill_n(best.best, FloatRows::kRows, -std::numeric_limits<float>::infinity());
  std::fill_n(best.second, FloatRows::kRows, -std::numeric_limits<float>::infinity());
  const auto columns = static_cast<int>(centroids.padded);
  for (int row = 0; row < FloatRows::kRows; row += kBlockRows) {
    int column = 0;
    for (; column + 2 * kFloatLanes <= columns; column += 2 * kFloatLanes)
      score_block<kBlockRows, 2>(centroids, dims, row, column, best, rows);
    for (; column < columns; column += kFloatLanes)
      score_block<kBlockRows, 1>(centroids, dims, row, column, best, rows);
  }
  set_gaps(best, rows);
}
