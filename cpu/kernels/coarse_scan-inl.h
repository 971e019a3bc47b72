// The scan of the codes of 4 bits for one query. kernels-inl.h includes this file. The file dot_*-inl.h
// defines `struct NibbleDot`, which multiplies words of row codes v, 0..15, by a query's codes, of magnitude
// kMaxCoarseQueryCode at most:
//
//   Partial       the sums of kFloatLanes rows over kWords words at most
//   kVectors      vectors of kFloatLanes rows that are scanned together; divides the number in a tile
//   start, add, total

constexpr int64_t kNibbleStride = kTileRows * kNibbleWordBytes;  // bytes of a tile's word
constexpr int kCoarseVectorsPerTile = kTileRows / kFloatLanes;
// Rows of a vector whose caps are worth computing. Where more are left, the threshold is still low, and will
// rule out most of them when it has risen.
constexpr int kMostTightened = HWY_MAX(1, kFloatLanes / 8);

// What the scan of a part needs to know.
struct CoarseScan {
  const SplitQuery& query;
  const int8_t* packed;
  int64_t words;
  int64_t dims;
  float threshold;
  CapTally& caps;

  const int8_t* low() const { return packed + words * kNibbleGroup; }
};

// The query's codes of each word: those of the low bits, then those of the high bits. First the high halves
// of all codes, then the low ones.
void pack_coarse(const SplitQuery& query, int64_t words, std::vector<int8_t>& packed) {
  packed.assign(static_cast<size_t>(2 * words * kNibbleGroup), 0);
  const auto low = packed.begin() + words * kNibbleGroup;
  std::transform(query.high.codes.begin(), query.high.codes.end(), packed.begin(),
                 [](int16_t code) { return static_cast<int8_t>(code); });
  std::copy(query.low.begin(), query.low.end(), low);
}

// Adds the products of one word of kFloatLanes rows.
template <class Query>
HWY_INLINE void add_vector(NibbleDot::Partial& sums, const int8_t* codes, Query low, Query high) {
  const hn::ScalableTag<int8_t> bytes;
  const auto mask = hn::Set(bytes, int8_t{15});
  const auto word = hn::LoadU(bytes, codes);
  const auto shifted = hn::BitCast(bytes, hn::ShiftRight<4>(hn::BitCast(kInts, word)));
  NibbleDot::add(sums, hn::And(word, mask), low, hn::And(shifted, mask), high);
}

// The sums of kFloatLanes rows.
struct CoarseSums {
  IntVector low;      // of the products with the low halves of the query's codes
  IntVector squares;  // of the row's codes
};

// Returns the sums of the rows whose codes begin at `codes`. Bits of components past the dimensions do not
// count.
HWY_INLINE CoarseSums sum_rows(const CoarseScan& scan, const int8_t* codes) {
  const hn::ScalableTag<int8_t> bytes;
  const auto offset = hn::Set(bytes, int8_t{kNibbleOffset});
  const hn::DFromV<decltype(NibbleDot::broadcast(codes))> query_lanes;
  const NibbleMasks last_masks(scan.dims);
  IntVector low_sums = hn::Zero(kInts);
  IntVector square_sums = hn::Zero(kInts);
  for (int64_t word = 0; word < scan.words;) {
    const int64_t last = std::min(scan.words, word + NibbleDot::kWords);
    NibbleDot::Partial products = NibbleDot::start();
    NibbleDot::Partial squares = NibbleDot::start();
    for (; word < last; ++word, codes += kNibbleStride) {
      const NibbleMasks masks = word + 1 < scan.words ? NibbleMasks() : last_masks;
      const auto all = hn::LoadU(bytes, codes);
      const auto shifted = hn::BitCast(bytes, hn::ShiftRight<4>(hn::BitCast(kInts, all)));
      const auto low = hn::And(all, hn::BitCast(bytes, hn::Set(kInts, masks.low)));
      const auto high = hn::And(shifted, hn::BitCast(bytes, hn::Set(kInts, masks.high)));
      const int8_t* const query = scan.low() + word * kNibbleGroup;
      NibbleDot::add(products, low, NibbleDot::broadcast(query), high,
                     NibbleDot::broadcast(query + kNibbleWordBytes));
      // c^2 = (2v - 15)^2 = 4 v (v - 15) + 225
      NibbleDot::add(squares, low, hn::BitCast(query_lanes, hn::Sub(low, offset)), high,
                     hn::BitCast(query_lanes, hn::Sub(high, offset)));
    }
    low_sums = hn::Add(low_sums, NibbleDot::total(products));
    square_sums = hn::Add(square_sums, NibbleDot::total(squares));
  }
  const auto ones = static_cast<int32_t>(kNibbleOffset * kNibbleOffset * scan.dims);
  return {hn::Sub(hn::Add(low_sums, low_sums), hn::Set(kInts, kNibbleOffset * scan.query.low_sum)),
          hn::Add(hn::ShiftLeft<2>(square_sums), hn::Set(kInts, ones))};
}

// Returns cap_upper_bound() of kFloatLanes rows (model/cap_bound.h).
HWY_INLINE FloatVector cap_uppers(FloatVector estimates, FloatVector scales, FloatVector residuals,
                                  FloatVector codes_squared, const QueryBound& bound, FloatVector otherwise) {
  const FloatVector one = hn::Set(kFloats, 1.0f);
  const FloatVector slack = hn::Set(kFloats, kCapSlack);
  const FloatVector lengths = hn::Mul(scales, hn::Sqrt(codes_squared));
  const FloatVector inverse = hn::Div(one, lengths);
  const FloatVector squares = hn::MulAdd(lengths, lengths, one);
  const FloatVector residuals_squared = hn::Mul(residuals, residuals);
  const FloatVector edges =
      hn::Mul(hn::NegMulAdd(slack, hn::Add(squares, residuals_squared), hn::Sub(squares, residuals_squared)),
              hn::Mul(hn::Set(kFloats, 0.5f), inverse));
  const FloatVector cosines =
      hn::Max(hn::Set(kFloats, -1.0f),
              hn::MulAdd(estimates, inverse, hn::Set(kFloats, bound.error_offset + kCapSlack)));
  const auto is_bound = hn::And(hn::Ge(lengths, hn::Set(kFloats, kLeastCapLength)),
                                hn::And(hn::Lt(cosines, edges), hn::Lt(edges, one)));
  const FloatVector sines = hn::Mul(hn::Sqrt(hn::Mul(hn::Sub(one, edges), hn::Add(one, edges))),
                                    hn::Sqrt(hn::Mul(hn::Sub(one, cosines), hn::Add(one, cosines))));
  const FloatVector uppers = hn::Add(hn::MulAdd(edges, cosines, sines), slack);
  return hn::IfThenElse(is_bound, hn::Min(uppers, otherwise), otherwise);
}

// kFloatLanes rows, some of which the high halves of the query's codes do not rule out.
struct LeftRows {
  const Tile& tile;
  int row;             // the first, in the tile
  int32_t first_row;   // of the tile
  IntVector products;  // of the rows' codes with the high halves
  FloatVector estimates;
  FloatVector errors;
  FloatVector uppers;
};

// Computes the estimates by all of the query's codes, and the caps.
HWY_INLINE void tighten(const CoarseScan& scan, LeftRows& rows) {
  const FloatVector scales = hn::LoadU(kFloats, rows.tile.scales + rows.row);
  const FloatVector residuals = hn::LoadU(kFloats, rows.tile.residuals + rows.row);
  const CoarseSums sums = sum_rows(scan, rows.tile.codes + rows.row * kNibbleWordBytes);
  const QueryBound& bound = scan.query.whole;
  const FloatVector products = hn::MulAdd(hn::Set(kFloats, 256.0f), hn::ConvertTo(kFloats, rows.products),
                                          hn::ConvertTo(kFloats, sums.low));
  rows.estimates = hn::Mul(products, hn::Mul(scales, hn::Set(kFloats, bound.inverse_scale)));
  rows.uppers =
      cap_uppers(rows.estimates, scales, residuals, hn::ConvertTo(kFloats, sums.squares), bound, rows.uppers);
}

// Appends the rows that are not zero and that no bound rules out, and returns the new end.
HWY_NOINLINE Survivor* append_left(const CoarseScan& scan, LeftRows rows, uint32_t left, Survivor* end) {
  if (const int count = std::popcount(left); count <= kMostTightened && scan.caps.pay()) {
    tighten(scan, rows);
    left = lanes_of(hn::Not(hn::Lt(rows.uppers, hn::Set(kFloats, scan.threshold))));
    scan.caps.computed += count;
    scan.caps.ruled_out += count - std::popcount(left);
  }
  HWY_ALIGN float estimate[kFloatLanes];
  HWY_ALIGN float upper[kFloatLanes];
  HWY_ALIGN float error[kFloatLanes];
  hn::Store(rows.estimates, kFloats, estimate);
  hn::Store(rows.uppers, kFloats, upper);
  hn::Store(rows.errors, kFloats, error);
  for (; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    if (!std::isinf(error[i])) *end++ = {rows.first_row + rows.row + i, estimate[i], upper[i]};
  }
  return end;
}

// Appends those of kFloatLanes rows that no bound rules out, and returns the new end.
HWY_INLINE Survivor* append_survivors(const CoarseScan& scan, const Tile& tile, int row, int32_t first_row,
                                      IntVector sums, Survivor* end) {
  const QuantizedQuery& query = scan.query.high;
  const QueryBound& bound = query.bound;
  const FloatVector scales = hn::LoadU(kFloats, tile.scales + row);
  const FloatVector residuals = hn::LoadU(kFloats, tile.residuals + row);
  const IntVector products = hn::Sub(hn::Add(sums, sums), hn::Set(kInts, kNibbleOffset * query.code_sum));
  const FloatVector estimates =
      hn::Mul(hn::ConvertTo(kFloats, products), hn::Mul(scales, hn::Set(kFloats, bound.inverse_scale)));
  const FloatVector errors =
      hn::MulAdd(residuals, hn::Set(kFloats, bound.error_slope), hn::Set(kFloats, bound.error_offset));
  const FloatVector uppers = hn::Add(estimates, errors);
  const auto ruled_out = hn::Lt(uppers, hn::Set(kFloats, scan.threshold));
  if (HWY_LIKELY(hn::AllTrue(kFloats, ruled_out))) return end;
  return append_left(scan, {tile, row, first_row, products, estimates, errors, uppers},
                     lanes_of(hn::Not(ruled_out)), end);
}

template <size_t... I>
HWY_INLINE void add_word(NibbleDot::Partial (&partial)[NibbleDot::kVectors], const int8_t* codes,
                         const int8_t* query, std::index_sequence<I...>) {
  const auto low = NibbleDot::broadcast(query);
  const auto high = NibbleDot::broadcast(query + kNibbleWordBytes);
  (add_vector(partial[I], codes + I * sizeof(int32_t) * kFloatLanes, low, high), ...);
}

template <size_t... I>
HWY_INLINE void start_partial(NibbleDot::Partial (&partial)[NibbleDot::kVectors], std::index_sequence<I...>) {
  ((partial[I] = NibbleDot::start()), ...);
}

template <size_t... I>
HWY_INLINE void add_totals(IntVector (&sums)[NibbleDot::kVectors],
                           const NibbleDot::Partial (&partial)[NibbleDot::kVectors],
                           std::index_sequence<I...>) {
  ((sums[I] = hn::Add(sums[I], NibbleDot::total(partial[I]))), ...);
}

HWY_NOINLINE Survivor* scan_coarse_tile(const CoarseScan& scan, const Tile& tile, int32_t first_row,
                                        Survivor* end) {
  using Vectors = std::make_index_sequence<NibbleDot::kVectors>;
  for (int first = 0; first < kCoarseVectorsPerTile; first += NibbleDot::kVectors) {
    IntVector sums[NibbleDot::kVectors];
    for (IntVector& sum : sums) sum = hn::Zero(kInts);
    const int8_t* codes = tile.codes + first * sizeof(int32_t) * kFloatLanes;
    for (int64_t word = 0; word < scan.words;) {
      const int64_t last = std::min(scan.words, word + NibbleDot::kWords);
      NibbleDot::Partial partial[NibbleDot::kVectors];
      start_partial(partial, Vectors());
      for (; word < last; ++word, codes += kNibbleStride) {
        if (first == 0) fetch_ahead(codes);
        add_word(partial, codes, scan.packed + word * kNibbleGroup, Vectors());
      }
      add_totals(sums, partial, Vectors());
    }
    for (int i = 0; i < NibbleDot::kVectors; ++i)
      end = append_survivors(scan, tile, (first + i) * kFloatLanes, first_row, sums[i], end);
  }
  return end;
}

int64_t scan_coarse(const ModelPart& part, const CodeLevel& level, int64_t first_tile, int64_t last_tile,
                    const SplitQuery& query, const int8_t* packed, float threshold, CapTally& caps,
                    Survivor* survivors) {
  const int64_t words = nibble_words(part.dims);
  const CoarseScan scan = {query, packed, words, part.dims, threshold, caps};
  Survivor* end = survivors;
  for (int64_t tile = first_tile; tile < last_tile; ++tile) {
    EdgeRows edge;
    end = scan_coarse_tile(scan, tile_of(part, level, words, tile, edge),
                           static_cast<int32_t>(tile * kTileRows), end);
  }
  return end - survivors;
}

extern const CoarseKernel kCoarse = {pack_coarse, scan_coarse};
