// The scan of rows in lists by their codes of 1 bit, for one query (lists/sign_plane.h). kernels-inl.h
// includes this file after planes_scan-inl.h. NibbleDot multiplies: four bits of a byte stay where they are,
// so that a bit's products are multiples of 1, 2, 4 or 8, and each has sums of its own.

constexpr int kBitSums = 4;
constexpr int kSignParts = 2 * kBitSums;  // bits of a byte
// Vectors of rows that are scanned together: as many as there are registers for.
constexpr int kSignVectors = HWY_LANES(int8_t) == 64 ? 2 : 1;
constexpr int64_t kSignStride = kTileRows * kSignWordBytes;  // bytes of a tile's word

// As [word][bit][byte].
void pack_signs(const SplitQuery& query, int64_t dims, std::vector<int8_t>& packed) {
  packed.assign(static_cast<size_t>(sign_words(dims) * kSignGroup), 0);
  std::transform(query.high.codes.begin(), query.high.codes.begin() + dims, packed.begin(),
                 [](int16_t code) { return static_cast<int8_t>(code); });
}

// The sums of a vector of rows.
struct SignSums {
  NibbleDot::Partial bits[kBitSums];

  HWY_INLINE void start() {
    for (NibbleDot::Partial& bit : bits) bit = NibbleDot::start();
  }
  HWY_INLINE void add(PlaneBytes codes, const PlaneQueryVector (&query)[kSignParts]) {
    const hn::ScalableTag<int8_t> bytes;
    const auto high = hn::BitCast(bytes, hn::ShiftRight<4>(hn::BitCast(kInts, codes)));
    for (int i = 0; i < kBitSums; ++i) {
      const auto mask = hn::Set(bytes, static_cast<int8_t>(1 << i));
      NibbleDot::add(bits[i], hn::And(codes, mask), query[i], hn::And(high, mask), query[i + kBitSums]);
    }
  }
  HWY_INLINE IntVector total() const {
    return hn::Add(
        hn::Add(NibbleDot::total(bits[0]), hn::ShiftRight<1>(NibbleDot::total(bits[1]))),
        hn::Add(hn::ShiftRight<2>(NibbleDot::total(bits[2])), hn::ShiftRight<3>(NibbleDot::total(bits[3]))));
  }
};

// Returns the sums of kSignVectors vectors of rows of a tile, whose first word begins at `codes`.
HWY_INLINE void sum_signs(const int8_t* query, const uint8_t* codes, int64_t words, bool fetches,
                          IntVector (&sums)[kSignVectors]) {
  for (IntVector& sum : sums) sum = hn::Zero(kInts);
  for (int64_t word = 0; word < words;) {
    const int64_t last = std::min(words, word + NibbleDot::kWords);
    SignSums partial[kSignVectors];
    for (SignSums& one : partial) one.start();
    for (; word < last; ++word, codes += kSignStride, query += kSignGroup) {
      if (fetches) fetch_ahead(reinterpret_cast<const int8_t*>(codes));
      PlaneQueryVector parts[kSignParts];
      for (int i = 0; i < kSignParts; ++i) parts[i] = NibbleDot::broadcast(query + i * kSignWordBytes);
      for (int i = 0; i < kSignVectors; ++i)
        partial[i].add(load_bytes(codes + i * kSignWordBytes * kFloatLanes), parts);
    }
    for (int i = 0; i < kSignVectors; ++i) sums[i] = hn::Add(sums[i], partial[i].total());
  }
}

// What the scan of a part needs to know (see PlaneScan).
struct SignScan {
  SignScan(const ModelPart& part, const SignQuery& of, float threshold)
      : query(of),
        level(*part.planes),
        rows(part.rows),
        words(sign_words(sign_bits_of(part.planes->rotation, part.dims))),
        tiles_ahead(kAhead / (words * kSignStride) + 1),
        test(threshold),
        factor(test.sine * of.factor * (1 + 0x1p-22f)) {}

  const SignQuery& query;
  const PlaneLevel& level;
  int64_t rows;
  int64_t words;
  int64_t tiles_ahead;
  PlaneTest test;
  float factor;  // of a row's distance
};

// Writes those of kFloatLanes rows that their bounds do not rule out, and returns the end.
HWY_NOINLINE Survivor* append_signs(const SignScan& scan, int64_t first_position, const uint16_t* bounds,
                                    FloatVector estimates, uint32_t left, Survivor* end) {
  HWY_ALIGN float estimate[kFloatLanes];
  hn::Store(estimates, kFloats, estimate);
  for (; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    if (first_position + i >= scan.rows) break;
    const double distance = half_value(bounds[2 * kTileRows + i]);
    const int32_t row = scan.level.rows[static_cast<size_t>(first_position + i)];
    if (distance == 0 || row < 0 || row >= scan.rows) continue;
    *end++ = {row, estimate[i],
              largest_similarity(static_cast<double>(estimate[i]),
                                 distance * static_cast<double>(scan.query.factor))};
  }
  return end;
}

HWY_NOINLINE Survivor* scan_sign_tile(const SignScan& scan, int64_t tile, ListWalk<SignScan>& walk,
                                      Survivor* end) {
  HWY_ALIGN float products[kTileRows];
  walk.store_products(tile * kTileRows, products);
  const uint16_t* const bounds = scan.level.sign_bounds.data() + tile * kPlaneBounds * kTileRows;
  const uint8_t* const codes = scan.level.signs.data() + tile * scan.words * kSignStride;
  const auto* const ahead =
      reinterpret_cast<const char*>(bounds + scan.tiles_ahead * kPlaneBounds * kTileRows);
  for (int64_t byte = 0; byte < kPlaneBounds * kTileRows * 2; byte += 64) __builtin_prefetch(ahead + byte);
  for (int first = 0; first < kCoarseVectorsPerTile; first += kSignVectors) {
    IntVector sums[kSignVectors];
    sum_signs(scan.query.codes.data(), codes + first * kFloatLanes * kSignWordBytes, scan.words, first == 0,
              sums);
    for (int i = 0; i < kSignVectors; ++i) {
      const int row = (first + i) * kFloatLanes;
      const FloatVector product =
          hn::MulAdd(hn::ConvertTo(kFloats, sums[i]), hn::Set(kFloats, scan.query.line.step),
                     hn::Set(kFloats, scan.query.line.start));
      const FloatVector centroids = load_halves(bounds + row);
      const FloatVector by_code = hn::MulAdd(hn::Abs(centroids), hn::Set(kFloats, scan.query.products_off),
                                             hn::Mul(load_halves(bounds + kTileRows + row), product));
      const FloatVector estimates = hn::MulAdd(centroids, hn::Load(kFloats, products + row), by_code);
      const FloatVector all =
          hn::MulAdd(load_halves(bounds + 2 * kTileRows + row), hn::Set(kFloats, scan.factor), estimates);
      const auto ruled_out = hn::Lt(all, hn::Set(kFloats, scan.test.limit));
      if (HWY_LIKELY(hn::AllTrue(kFloats, ruled_out))) continue;
      end = append_signs(scan, tile * kTileRows + row, bounds + row, estimates, lanes_of(hn::Not(ruled_out)),
                         end);
    }
  }
  return end;
}

int64_t scan_signs(const ModelPart& part, int64_t first_tile, int64_t last_tile, const SignQuery& query,
                   float threshold, Survivor* survivors) {
  const SignScan scan(part, query, threshold);
  ListWalk walk(scan, first_tile * kTileRows);
  Survivor* end = survivors;
  for (int64_t tile = first_tile; tile < last_tile; ++tile) end = scan_sign_tile(scan, tile, walk, end);
  return end - survivors;
}

extern const SignKernel kSigns = {pack_signs, scan_signs};
