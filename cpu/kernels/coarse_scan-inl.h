// The scan of the codes of 4 bits for one query. kernels-inl.h includes this file. The file dot_*-inl.h
// defines `struct NibbleDot`, which multiplies words of row codes v, 0..15, by a query's codes, of magnitude
// kMaxCoarseQueryCode at most:
//
//   Partial       the sums of kFloatLanes rows over kWords words at most
//   kVectors      vectors of kFloatLanes rows that are scanned together; divides the number in a tile
//   start, add, total

constexpr int64_t kNibbleStride = kTileRows * kNibbleWordBytes;  // bytes of a tile's word
constexpr int kCoarseVectorsPerTile = kTileRows / kFloatLanes;

// The codes of each word: those of the low bits, then those of the high bits.
void pack_coarse(const QuantizedQuery& query, int64_t words, std::vector<int8_t>& packed) {
  packed.assign(static_cast<size_t>(words * kNibbleGroup), 0);
  for (size_t j = 0; j < std::min(packed.size(), query.codes.size()); ++j)
    packed[j] = static_cast<int8_t>(query.codes[j]);
}

// Appends those of kFloatLanes rows whose upper bound reaches the threshold, and returns the new end.
HWY_INLINE Survivor* append_survivors(const Tile& tile, int row, int32_t first_row, IntVector sums,
                                      const QuantizedQuery& query, float threshold, Survivor* end) {
  const FloatVector scales = hn::LoadU(kFloats, tile.scales + row);
  const FloatVector residuals = hn::LoadU(kFloats, tile.residuals + row);
  const QueryBound& bound = query.bound;
  const IntVector products = hn::Sub(hn::Add(sums, sums), hn::Set(kInts, kNibbleOffset * query.code_sum));
  const FloatVector estimates =
      hn::Mul(hn::ConvertTo(kFloats, products), hn::Mul(scales, hn::Set(kFloats, bound.inverse_scale)));
  const FloatVector errors =
      hn::MulAdd(residuals, hn::Set(kFloats, bound.error_slope), hn::Set(kFloats, bound.error_offset));
  const FloatVector uppers = hn::Add(estimates, errors);
  const auto ruled_out = hn::Lt(uppers, hn::Set(kFloats, threshold));
  if (HWY_LIKELY(hn::AllTrue(kFloats, ruled_out))) return end;
  HWY_ALIGN float estimate[kFloatLanes];
  HWY_ALIGN float upper[kFloatLanes];
  HWY_ALIGN float error[kFloatLanes];
  hn::Store(estimates, kFloats, estimate);
  hn::Store(uppers, kFloats, upper);
  hn::Store(errors, kFloats, error);
  for (uint32_t left = lanes_of(hn::Not(ruled_out)); left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    if (!std::isinf(error[i])) *end++ = {first_row + row + i, estimate[i], upper[i]};
  }
  return end;
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

HWY_NOINLINE Survivor* scan_coarse_tile(const Tile& tile, int32_t first_row, int64_t words,
                                        const QuantizedQuery& query, const int8_t* packed, float threshold,
                                        Survivor* end) {
  using Vectors = std::make_index_sequence<NibbleDot::kVectors>;
  for (int first = 0; first < kCoarseVectorsPerTile; first += NibbleDot::kVectors) {
    IntVector sums[NibbleDot::kVectors];
    for (IntVector& sum : sums) sum = hn::Zero(kInts);
    const int8_t* codes = tile.codes + first * sizeof(int32_t) * kFloatLanes;
    for (int64_t word = 0; word < words;) {
      const int64_t last = std::min(words, word + NibbleDot::kWords);
      NibbleDot::Partial partial[NibbleDot::kVectors];
      start_partial(partial, Vectors());
      for (; word < last; ++word, codes += kNibbleStride) {
        if (first == 0) fetch_ahead(codes);
        add_word(partial, codes, packed + word * kNibbleGroup, Vectors());
      }
      add_totals(sums, partial, Vectors());
    }
    for (int i = 0; i < NibbleDot::kVectors; ++i)
      end = append_survivors(tile, (first + i) * kFloatLanes, first_row, sums[i], query, threshold, end);
  }
  return end;
}

int64_t scan_coarse(const ModelPart& part, const CodeLevel& level, int64_t first_tile, int64_t last_tile,
                    const QuantizedQuery& query, const int8_t* packed, float threshold, Survivor* survivors) {
  const int64_t words = nibble_words(part.dims);
  Survivor* end = survivors;
  for (int64_t tile = first_tile; tile < last_tile; ++tile) {
    EdgeRows edge;
    end = scan_coarse_tile(tile_of(part, level, words, tile, edge), static_cast<int32_t>(tile * kTileRows),
                           words, query, packed, threshold, end);
  }
  return end - survivors;
}

extern const CoarseKernel kCoarse = {pack_coarse, scan_coarse};
