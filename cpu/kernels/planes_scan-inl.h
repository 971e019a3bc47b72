// The scan of rows in lists, by codes of 2 and of 4 bits, for one query (lists/planes.h). kernels-inl.h
// includes this file after coarse_scan-inl.h. NibbleDot multiplies, with codes of 2 bits.

constexpr int64_t kPlaneStride = kTileRows * kPlaneWordBytes;  // bytes of a tile's word
constexpr int kPlaneParts = 4;                                 // codes per byte

// What the scan of a part needs to know. A row is ruled out if
//
//   centroid * product of its list + code * product of its codes + distance * sine < limit
//
// (docs/exactness.md, "Planes").
struct PlaneScan {
  const PlaneQuery& query;
  const PlaneLevel& level;
  int64_t rows;
  int64_t words;
  PlaneTest test;
};

// The codes of the high halves in the order of plane one, then those of 16 bits: of each word, the eight of
// even components and the eight of odd ones.
void pack_planes(const SplitQuery& query, int64_t dims, PlaneCodes& packed) {
  const int64_t words = plane_words(dims);
  packed.high.assign(static_cast<size_t>(words * kPlaneGroup), 0);
  packed.whole.assign(static_cast<size_t>(words * kPlaneGroup), 0);
  for (int64_t j = 0; j < dims; ++j) {
    const auto component = static_cast<size_t>(j);
    const int high = query.high.codes[component];
    packed.high[component] = static_cast<int8_t>(high);
    const int64_t i = j % kPlaneGroup;
    packed.whole[static_cast<size_t>(j - i + i % 2 * (kPlaneGroup / 2) + i / 2)] =
        static_cast<int16_t>(256 * high + query.low[component]);
  }
}

// Adds the products of one word of kFloatLanes rows.
template <class Query>
HWY_INLINE void add_plane_vector(NibbleDot::Partial& sums, const uint8_t* codes,
                                 const Query (&query)[kPlaneParts]) {
  const hn::ScalableTag<int8_t> bytes;
  const auto mask = hn::Set(bytes, int8_t{3});
  const auto word = hn::BitCast(kInts, hn::LoadU(bytes, reinterpret_cast<const int8_t*>(codes)));
  const auto part = [&](auto shifted) { return hn::And(hn::BitCast(bytes, shifted), mask); };
  NibbleDot::add(sums, part(word), query[0], part(hn::ShiftRight<2>(word)), query[1]);
  NibbleDot::add(sums, part(hn::ShiftRight<4>(word)), query[2], part(hn::ShiftRight<6>(word)), query[3]);
}

template <size_t... I>
HWY_INLINE void add_plane_word(NibbleDot::Partial (&partial)[NibbleDot::kVectors], const uint8_t* codes,
                               const int8_t* query, std::index_sequence<I...>) {
  using Query = decltype(NibbleDot::broadcast(query));
  const Query queries[kPlaneParts] = {NibbleDot::broadcast(query), NibbleDot::broadcast(query + 4),
                                      NibbleDot::broadcast(query + 8), NibbleDot::broadcast(query + 12)};
  (add_plane_vector(partial[I], codes + I * sizeof(int32_t) * kFloatLanes, queries), ...);
}

// Returns the values of kFloatLanes halves.
HWY_INLINE FloatVector load_halves(const uint16_t* halves) {
  const hn::Rebind<hwy::float16_t, decltype(kFloats)> tag;
  return hn::PromoteTo(kFloats,
                       hn::BitCast(tag, hn::LoadU(hn::Rebind<uint16_t, decltype(kFloats)>(), halves)));
}

// Walks through the lists of ascending positions.
class ListWalk {
 public:
  ListWalk(const PlaneScan& scan, int64_t position) : scan_(scan) {
    const auto offsets = scan.level.offsets;
    list_ = std::upper_bound(offsets.begin(), offsets.end(), position) - offsets.begin() - 1;
    list_ = std::clamp<int64_t>(list_, 0, scan.level.lists() - 1);
  }
  // Returns the product of the centroid of a position that is not below any before it.
  float product(int64_t position) {
    while (list_ + 1 < scan_.level.lists() && end() <= position) ++list_;
    return scan_.query.products[static_cast<size_t>(list_)];
  }
  // The end of the list of the last position.
  int64_t end() const { return scan_.level.offsets[static_cast<size_t>(list_ + 1)]; }

 private:
  const PlaneScan& scan_;
  int64_t list_;
};

// Appends the positions of those of a tile's rows that plane one does not rule out, and returns the new end.
HWY_NOINLINE int32_t* scan_plane1(const PlaneScan& scan, int64_t tile, ListWalk& walk, int32_t* end) {
  using Vectors = std::make_index_sequence<NibbleDot::kVectors>;
  const int64_t first_position = tile * kTileRows;
  HWY_ALIGN float products[kTileRows];
  for (int i = 0; i < kTileRows;) {
    const float product = walk.product(first_position + i);
    const auto last = static_cast<int>(std::clamp<int64_t>(walk.end() - first_position, i + 1, kTileRows));
    for (; i < last; ++i) products[i] = product;
  }
  const uint16_t* const bounds = scan.level.bounds1.data() + tile * kPlaneBounds * kTileRows;
  const uint8_t* const tile_codes = scan.level.plane1.data() + tile * scan.words * kPlaneStride;
  for (int first = 0; first < kCoarseVectorsPerTile; first += NibbleDot::kVectors) {
    IntVector sums[NibbleDot::kVectors];
    for (IntVector& sum : sums) sum = hn::Zero(kInts);
    const uint8_t* codes = tile_codes + first * sizeof(int32_t) * kFloatLanes;
    for (int64_t word = 0; word < scan.words;) {
      const int64_t last = std::min(scan.words, word + NibbleDot::kWords);
      NibbleDot::Partial partial[NibbleDot::kVectors];
      start_partial(partial, Vectors());
      for (; word < last; ++word, codes += kPlaneStride) {
        if (first == 0) fetch_ahead(reinterpret_cast<const int8_t*>(codes));
        add_plane_word(partial, codes, scan.query.codes.high.data() + word * kPlaneGroup, Vectors());
      }
      add_totals(sums, partial, Vectors());
    }
    for (int i = 0; i < NibbleDot::kVectors; ++i) {
      const int row = (first + i) * kFloatLanes;
      const FloatVector product =
          hn::MulAdd(hn::ConvertTo(kFloats, sums[i]), hn::Set(kFloats, scan.query.step1),
                     hn::Set(kFloats, scan.query.start1));
      const FloatVector off =
          hn::Mul(load_halves(bounds + 2 * kTileRows + row), hn::Set(kFloats, scan.test.sine));
      const FloatVector by_code = hn::MulAdd(load_halves(bounds + kTileRows + row), product, off);
      const FloatVector all =
          hn::MulAdd(load_halves(bounds + row), hn::Load(kFloats, products + row), by_code);
      const auto ruled_out = hn::Lt(all, hn::Set(kFloats, scan.test.limit));
      if (HWY_LIKELY(hn::AllTrue(kFloats, ruled_out))) continue;
      for (uint32_t left = lanes_of(hn::Not(ruled_out)); left != 0; left &= left - 1)
        *end++ = static_cast<int32_t>(first_position + row + std::countr_zero(left));
    }
  }
  return end;
}

// Returns the sum of the products of a row's bits of both planes, v, and the query's codes of 16 bits.
HWY_INLINE int32_t sum_of_planes(const PlaneScan& scan, int64_t position) {
  const hn::FixedTag<uint32_t, 4> words;
  const hn::FixedTag<int16_t, 8> shorts;
  const hn::FixedTag<int32_t, 4> ints;
  HWY_ALIGN static constexpr uint32_t kShifts[4] = {0, 2, 4, 6};
  const auto shifts = hn::Load(words, kShifts);
  const auto mask = hn::Set(words, 0x03030303u);
  const uint8_t* first = scan.level.plane1.data() + position / kTileRows * scan.words * kPlaneStride +
                         position % kTileRows * kPlaneWordBytes;
  const uint8_t* second = scan.level.plane2.data() + position * scan.words * kPlaneWordBytes;
  const int16_t* query = scan.query.codes.whole.data();
  auto sum = hn::Zero(ints);
  auto other = hn::Zero(ints);
  for (int64_t word = 0; word < scan.words;
       ++word, first += kPlaneStride, second += kPlaneWordBytes, query += kPlaneGroup) {
    uint32_t high, low;
    std::memcpy(&high, first, sizeof(high));
    std::memcpy(&low, second, sizeof(low));
    const auto high_bits = hn::And(hn::Shr(hn::Set(words, high), shifts), mask);
    const auto low_bits = hn::And(hn::Shr(hn::Set(words, low), shifts), mask);
    const auto bits = hn::BitCast(shorts, hn::Or(hn::ShiftLeft<2>(high_bits), low_bits));
    sum = hn::ReorderWidenMulAccumulate(ints, hn::And(bits, hn::Set(shorts, int16_t{0xFF})),
                                        hn::LoadU(shorts, query), sum, other);
    sum = hn::ReorderWidenMulAccumulate(ints, hn::ShiftRight<8>(bits),
                                        hn::LoadU(shorts, query + kPlaneGroup / 2), sum, other);
  }
  return hn::GetLane(hn::SumOfLanes(ints, hn::Add(sum, other)));
}

// Appends the rows at those positions that both planes do not rule out, and returns the new end.
HWY_NOINLINE Survivor* scan_plane2(const PlaneScan& scan, std::span<const int32_t> positions, Survivor* end) {
  constexpr size_t kAhead = 8;
  ListWalk walk(scan, positions.empty() ? 0 : positions.front());
  for (size_t i = 0; i < positions.size(); ++i) {
    if (i + kAhead < positions.size()) {
      const int64_t next = positions[i + kAhead];
      __builtin_prefetch(scan.level.plane2.data() + next * scan.words * kPlaneWordBytes);
      __builtin_prefetch(scan.level.bounds2.data() + next * kPlaneBounds);
    }
    const int64_t position = positions[i];
    if (position >= scan.rows) break;
    const uint16_t* const bound = scan.level.bounds2.data() + position * kPlaneBounds;
    const float product =
        static_cast<float>(sum_of_planes(scan, position)) * scan.query.step2 + scan.query.start2;
    const float estimate = half_value(bound[0]) * walk.product(position) + half_value(bound[1]) * product;
    const float distance = half_value(bound[2]);
    const int32_t row = scan.level.rows[static_cast<size_t>(position)];
    if (bound[2] == 0 || row < 0 || row >= scan.rows ||
        estimate + distance * scan.test.sine < scan.test.limit)
      continue;
    *end++ = {row, estimate,
              largest_similarity(static_cast<double>(estimate), static_cast<double>(distance))};
  }
  return end;
}

PlaneCounts scan_planes(const ModelPart& part, int64_t first_tile, int64_t last_tile, const PlaneQuery& query,
                        float threshold, int32_t* positions, Survivor* survivors) {
  const PlaneLevel& level = *part.planes;
  const PlaneScan scan = {query, level, part.rows, plane_words(part.dims), PlaneTest(threshold)};
  int32_t* end = positions;
  ListWalk walk(scan, first_tile * kTileRows);
  for (int64_t tile = first_tile; tile < last_tile; ++tile) end = scan_plane1(scan, tile, walk, end);
  return {end - positions, scan_plane2(scan, {positions, end}, survivors) - survivors};
}

extern const PlaneKernel kPlanes = {pack_planes, scan_planes};
