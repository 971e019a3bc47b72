// The scan of rows in lists, by codes of 2 and of 4 bits, for one query (lists/planes.h). kernels-inl.h
// includes this file after coarse_scan-inl.h. NibbleDot multiplies, with codes of 2 bits.

constexpr int64_t kPlaneStride = kTileRows * kPlaneWordBytes;  // bytes of a tile's word
// A query's codes for one row are padded to a multiple of the longest vector.
constexpr int64_t kRowPadding = 64;
// Of plane one. fetch_ahead() fetches as many.
constexpr int64_t kAhead = 8192;

using PlaneBytes = hn::VFromD<hn::ScalableTag<int8_t>>;
using PlaneQueryVector = decltype(NibbleDot::broadcast(nullptr));

// Multiplies bytes of four codes each by the query's codes. NibbleDot::Planes, if there is one, does it
// without shifts.
template <class Dot, class = void>
struct PlaneProducts {
  using Partial = typename Dot::Partial;
  static constexpr int64_t kWords = Dot::kWords;

  static HWY_INLINE Partial start() { return Dot::start(); }
  static HWY_INLINE void add(Partial& sums, PlaneBytes codes, const PlaneQueryVector (&query)[kPlaneParts]) {
    const hn::ScalableTag<int8_t> bytes;
    const auto mask = hn::Set(bytes, int8_t{3});
    const auto word = hn::BitCast(kInts, codes);
    const auto part = [&](auto shifted) { return hn::And(hn::BitCast(bytes, shifted), mask); };
    Dot::add(sums, part(word), query[0], part(hn::ShiftRight<2>(word)), query[1]);
    Dot::add(sums, part(hn::ShiftRight<4>(word)), query[2], part(hn::ShiftRight<6>(word)), query[3]);
  }
  static HWY_INLINE IntVector total(const Partial& sums) { return Dot::total(sums); }
};
template <class Dot>
struct PlaneProducts<Dot, std::void_t<typename Dot::Planes>> : Dot::Planes {};
using PlaneDot = PlaneProducts<NibbleDot>;

// What the scan of a part needs to know. A row is ruled out if
//
//   centroid * product of its list + code * product of its codes + distance * sine < limit
//
// (docs/exactness.md, "Planes").
struct PlaneScan {
  PlaneScan(const ModelPart& part, const PlaneQuery& of, float threshold)
      : query(of),
        level(*part.planes),
        rows(part.rows),
        dims(part.dims),
        row_bytes(plane_row_bytes(part.dims)),
        padded(padded_bytes(part.dims)),
        tiles_ahead(kAhead / (kTileRows * row_bytes) + 1),
        test(threshold) {}

  // The bytes of a row and zeros.
  static int64_t padded_bytes(int64_t dims) {
    return (plane_row_bytes(dims) + kRowPadding - 1) / kRowPadding * kRowPadding;
  }
  const uint8_t* row2(int64_t position) const {
    return level.plane2.data() + position * plane2_row_bytes(dims);
  }
  // Fetches the lines of memory of a row of plane two.
  HWY_INLINE void fetch_row2(int64_t position) const {
    const uint8_t* const row = row2(position);
    const int64_t bytes = plane2_row_bytes(dims);
    for (int64_t byte = 0; byte < bytes - 1; byte += 64) __builtin_prefetch(row + byte);
    __builtin_prefetch(row + bytes - 1);
  }

  const PlaneQuery& query;
  const PlaneLevel& level;
  int64_t rows;
  int64_t dims;
  int64_t row_bytes;
  int64_t padded;
  int64_t tiles_ahead;  // whose bounds are fetched
  PlaneTest test;
};

// `high` has the codes of each word as [part][byte of the word], the others as [part][byte of the row].
void pack_planes(const SplitQuery& query, int64_t dims, PlaneCodes& packed) {
  const int64_t padded = PlaneScan::padded_bytes(dims);
  packed.high.assign(static_cast<size_t>(kPlaneParts * padded), 0);
  packed.high_row.assign(static_cast<size_t>(kPlaneParts * padded), 0);
  packed.whole.assign(static_cast<size_t>(kPlaneParts * padded), 0);
  for (int64_t j = 0; j < dims; ++j) {
    const PlanePlace place = plane_place(j, dims);
    const int64_t part = place.shift / 2;
    const int high = query.high.codes[static_cast<size_t>(j)];
    const int64_t in_word = place.byte % kPlaneWordBytes;
    packed.high[static_cast<size_t>((place.byte - in_word + part) * kPlaneWordBytes + in_word)] =
        static_cast<int8_t>(high);
    packed.high_row[static_cast<size_t>(part * padded + place.byte)] = static_cast<int8_t>(high);
    packed.whole[static_cast<size_t>(part * padded + place.byte)] =
        static_cast<int16_t>(256 * high + query.low[static_cast<size_t>(j)]);
  }
}

HWY_INLINE PlaneBytes load_bytes(const uint8_t* codes) {
  return hn::LoadU(hn::ScalableTag<int8_t>(), reinterpret_cast<const int8_t*>(codes));
}

// Returns words of kFloatLanes rows of which only so many bytes are stored.
HWY_INLINE PlaneBytes load_bytes_of_words(const uint8_t* codes, int64_t bytes) {
  const hn::Rebind<uint8_t, decltype(kInts)> tag;
  IntVector words = hn::PromoteTo(kInts, hn::LoadU(tag, codes));
  if (bytes > 1)
    words = hn::Or(words, hn::ShiftLeft<8>(hn::PromoteTo(kInts, hn::LoadU(tag, codes + kTileRows))));
  if (bytes > 2)
    words = hn::Or(words, hn::ShiftLeft<16>(hn::PromoteTo(kInts, hn::LoadU(tag, codes + 2 * kTileRows))));
  return hn::BitCast(hn::ScalableTag<int8_t>(), words);
}

struct PlaneQueryWord {
  explicit HWY_INLINE PlaneQueryWord(const int8_t* codes)
      : parts{NibbleDot::broadcast(codes), NibbleDot::broadcast(codes + 4), NibbleDot::broadcast(codes + 8),
              NibbleDot::broadcast(codes + 12)} {}
  PlaneQueryVector parts[kPlaneParts];
};

template <size_t... I>
HWY_INLINE void add_plane_word(PlaneDot::Partial (&partial)[NibbleDot::kVectors], const uint8_t* codes,
                               const int8_t* query, std::index_sequence<I...>) {
  const PlaneQueryWord word(query);
  (PlaneDot::add(partial[I], load_bytes(codes + I * sizeof(int32_t) * kFloatLanes), word.parts), ...);
}
template <size_t... I>
HWY_INLINE void add_plane_bytes(PlaneDot::Partial (&partial)[NibbleDot::kVectors], const uint8_t* codes,
                                int64_t bytes, const int8_t* query, std::index_sequence<I...>) {
  const PlaneQueryWord word(query);
  (PlaneDot::add(partial[I], load_bytes_of_words(codes + I * kFloatLanes, bytes), word.parts), ...);
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
  ListWalk(const PlaneScan& scan, int64_t position, int64_t near = -1) : scan_(scan), list_(near) {
    const auto offsets = scan.level.offsets;
    while (list_ > 0 && offsets[static_cast<size_t>(list_)] > position) --list_;
    if (list_ >= 0) return;
    list_ = std::upper_bound(offsets.begin(), offsets.end(), position) - offsets.begin() - 1;
    list_ = std::clamp<int64_t>(list_, 0, scan.level.lists() - 1);
  }
  // Returns the product of the centroid of a position that is not below any before it.
  float product(int64_t position) {
    while (list_ + 1 < scan_.level.lists() && end() <= position) ++list_;
    return scan_.query.products[static_cast<size_t>(list_)];
  }
  // Stores the products of the centroids of the kTileRows positions from `first` on, likewise.
  HWY_INLINE void store_products(int64_t first, float* products) {
    for (int i = 0; i < kTileRows;) {
      const FloatVector all = hn::Set(kFloats, product(first + i));
      if (i == 0 && first + kTileRows <= end()) {
        for (; i < kTileRows; i += kFloatLanes) hn::Store(all, kFloats, products + i);
        return;
      }
      const auto last = static_cast<int>(std::clamp<int64_t>(end() - first, i + 1, kTileRows));
      for (; i < last; ++i) products[i] = hn::GetLane(all);
    }
  }

 private:
  // The end of the list of the last position.
  int64_t end() const { return scan_.level.offsets[static_cast<size_t>(list_ + 1)]; }

  const PlaneScan& scan_;
  int64_t list_;
};

// Returns the sums of the products of plane one's bits and the query's high halves, of rows
// [first, first + kVectors * kFloatLanes) of a tile. Fetches the memory of later tiles if it is wanted.
template <bool kFetchesAhead, size_t... I>
HWY_INLINE void sum_plane1(const PlaneScan& scan, const uint8_t* tile, int64_t first,
                           IntVector (&sums)[NibbleDot::kVectors], std::index_sequence<I...> vectors) {
  const int64_t words = scan.row_bytes / kPlaneWordBytes;
  const int64_t rest = scan.row_bytes % kPlaneWordBytes;
  const uint8_t* codes = tile + first * kPlaneWordBytes;
  const int8_t* query = scan.query.codes.high.data();
  ((sums[I] = hn::Zero(kInts)), ...);
  for (int64_t word = 0; word < words || (word == words && rest > 0);) {
    PlaneDot::Partial partial[NibbleDot::kVectors] = {(static_cast<void>(I), PlaneDot::start())...};
    int64_t last = std::min(words, word + PlaneDot::kWords);
    const bool has_rest = last == words && rest > 0 && word + PlaneDot::kWords > words;
    for (; word < last; ++word, codes += kPlaneStride, query += kPlaneGroup) {
      if (kFetchesAhead && first == 0) fetch_ahead(reinterpret_cast<const int8_t*>(codes));
      add_plane_word(partial, codes, query, vectors);
    }
    if (has_rest) {
      add_plane_bytes(partial, tile + words * kPlaneStride + first, rest, query, vectors);
      ++word;
    }
    ((sums[I] = hn::Add(sums[I], PlaneDot::total(partial[I]))), ...);
  }
}

// Fetches what fetch_ahead() does not: the end of a tile of codes, and the bounds of one.
HWY_INLINE void fetch_bounds_ahead(const PlaneScan& scan, const uint16_t* bounds, const uint8_t* codes) {
  __builtin_prefetch(codes + kAhead + kTileRows * scan.row_bytes - 1);
  const auto* const ahead =
      reinterpret_cast<const char*>(bounds + scan.tiles_ahead * kPlaneBounds * kTileRows);
  for (int64_t byte = 0; byte < kPlaneBounds * kTileRows * 2; byte += 64) __builtin_prefetch(ahead + byte);
}

// Appends the positions of those of a tile's rows that plane one does not rule out, with their sums.
HWY_NOINLINE int64_t scan_plane1(const PlaneScan& scan, int64_t tile, ListWalk& walk, PlaneRows& left,
                                 int64_t count) {
  const int64_t first_position = tile * kTileRows;
  HWY_ALIGN float products[kTileRows];
  walk.store_products(first_position, products);
  const uint16_t* const bounds = scan.level.bounds1.data() + tile * kPlaneBounds * kTileRows;
  const uint8_t* const codes = scan.level.plane1.data() + tile * kTileRows * scan.row_bytes;
  fetch_bounds_ahead(scan, bounds, codes);
  for (int first = 0; first < kCoarseVectorsPerTile; first += NibbleDot::kVectors) {
    IntVector sums[NibbleDot::kVectors];
    sum_plane1<true>(scan, codes, first * kFloatLanes, sums, std::make_index_sequence<NibbleDot::kVectors>());
    for (int i = 0; i < NibbleDot::kVectors; ++i) {
      const int row = (first + i) * kFloatLanes;
      const FloatVector product =
          hn::MulAdd(hn::ConvertTo(kFloats, sums[i]), hn::Set(kFloats, scan.query.plane1.step),
                     hn::Set(kFloats, scan.query.plane1.start));
      const FloatVector off =
          hn::Mul(load_halves(bounds + 2 * kTileRows + row), hn::Set(kFloats, scan.test.sine));
      const FloatVector by_code = hn::MulAdd(load_halves(bounds + kTileRows + row), product, off);
      const FloatVector all =
          hn::MulAdd(load_halves(bounds + row), hn::Load(kFloats, products + row), by_code);
      const auto ruled_out = hn::Lt(all, hn::Set(kFloats, scan.test.limit));
      if (hn::AllTrue(kFloats, ruled_out)) continue;
      const auto is_left = hn::RebindMask(kInts, hn::Not(ruled_out));
      const auto place = static_cast<size_t>(count);
      const IntVector positions = hn::Iota(kInts, static_cast<int32_t>(first_position + row));
      hn::StoreU(hn::Compress(positions, is_left), kInts, left.positions.data() + place);
      hn::StoreU(hn::Compress(sums[i], is_left), kInts, left.sums.data() + place);
      const auto end = place + hn::CountTrue(kInts, is_left);
      for (size_t number = place; number < end; ++number) scan.fetch_row2(left.positions[number]);
      count = static_cast<int64_t>(end);
    }
  }
  return count;
}

// Returns `count` bytes and perhaps those after them, in a whole vector. Half a vector, if that is enough, is
// seldom in two lines of memory.
HWY_INLINE PlaneBytes load_row_bytes(const uint8_t* codes, int64_t count) {
  const hn::ScalableTag<int8_t> bytes;
  const hn::Half<decltype(bytes)> half;
  if (count > static_cast<int64_t>(HWY_LANES(int8_t) / 2)) return load_bytes(codes);
  return hn::ZeroExtendVector(bytes, hn::LoadU(half, reinterpret_cast<const int8_t*>(codes)));
}

// Returns the sum of the products of a row's bits of plane two and the query's high halves. `row` has
// scan.padded bytes.
HWY_INLINE int32_t sum_plane2(const PlaneScan& scan, const uint8_t* row) {
  const hn::ScalableTag<int8_t> bytes;
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(int8_t));
  const hn::DFromV<PlaneQueryVector> lanes;
  const int8_t* const query = scan.query.codes.high_row.data();
  IntVector sums = hn::Zero(kInts);
  for (int64_t byte = 0; byte < scan.row_bytes;) {
    PlaneDot::Partial partial = PlaneDot::start();
    for (int64_t word = 0; word < PlaneDot::kWords && byte < scan.row_bytes; ++word, byte += kLanes) {
      const auto part = [&](int64_t i) {
        return hn::BitCast(lanes, hn::LoadU(bytes, query + i * scan.padded + byte));
      };
      const PlaneQueryVector parts[kPlaneParts] = {part(0), part(1), part(2), part(3)};
      PlaneDot::add(partial, load_row_bytes(row + byte, scan.row_bytes - byte), parts);
    }
    sums = hn::Add(sums, PlaneDot::total(partial));
  }
  return hn::GetLane(hn::SumOfLanes(kInts, sums));
}

// Returns the sum of the products of a row's bits of both planes and the query's codes of 16 bits.
HWY_NOINLINE int32_t sum_of_planes(const PlaneScan& scan, int64_t position) {
  const hn::FixedTag<uint8_t, 8> bytes;
  const hn::FixedTag<int16_t, 8> shorts;
  const hn::FixedTag<int32_t, 4> ints;
  const auto mask = hn::Set(bytes, uint8_t{3});
  uint8_t first[kMaxPlaneDims / kPlaneParts + 8];
  uint8_t second[kMaxPlaneDims / kPlaneParts + 8];
  std::memset(first + scan.row_bytes, 0, 8);
  std::memset(second + scan.row_bytes, 0, 8);
  const uint8_t* const tile = scan.level.plane1.data() + position / kTileRows * kTileRows * scan.row_bytes;
  const int64_t row = position % kTileRows;
  int64_t copied = 0;
  for (; copied + kPlaneWordBytes <= scan.row_bytes; copied += kPlaneWordBytes)
    std::memcpy(first + copied, tile + copied * kTileRows + row * kPlaneWordBytes, kPlaneWordBytes);
  for (; copied < scan.row_bytes; ++copied) first[copied] = tile[copied * kTileRows + row];
  std::memcpy(second, scan.row2(position), static_cast<size_t>(scan.row_bytes));
  auto sum = hn::Zero(ints);
  auto other = hn::Zero(ints);
  for (int64_t byte = 0; byte < scan.row_bytes; byte += 8) {
    const auto add = [&](auto high, auto low, int64_t part) HWY_ATTR {
      const auto code = hn::Or(hn::ShiftLeft<2>(hn::And(high, mask)), hn::And(low, mask));
      sum = hn::ReorderWidenMulAccumulate(
          ints, hn::PromoteTo(shorts, code),
          hn::LoadU(shorts, scan.query.codes.whole.data() + part * scan.padded + byte), sum, other);
    };
    const auto high = hn::LoadU(bytes, first + byte);
    const auto low = hn::LoadU(bytes, second + byte);
    add(high, low, 0);
    add(hn::ShiftRight<2>(high), hn::ShiftRight<2>(low), 1);
    add(hn::ShiftRight<4>(high), hn::ShiftRight<4>(low), 2);
    add(hn::ShiftRight<6>(high), hn::ShiftRight<6>(low), 3);
  }
  return hn::GetLane(hn::SumOfLanes(ints, hn::Add(sum, other)));
}

// The values of a bound's halves.
struct BoundValues {
  explicit HWY_INLINE BoundValues(const PlaneBound& bound) {
    const hn::FixedTag<float, 4> floats;
    const hn::Rebind<hwy::float16_t, decltype(floats)> halves;
    const uint64_t bits = bound.centroid | uint64_t{bound.code} << 16 | uint64_t{bound.distance} << 32;
    const auto values =
        hn::PromoteTo(floats, hn::BitCast(halves, hn::Set(hn::FixedTag<uint64_t, 1>(), bits)));
    HWY_ALIGN float lanes[4];
    hn::Store(values, floats, lanes);
    centroid = lanes[0];
    code = lanes[1];
    distance = lanes[2];
  }
  float centroid, code, distance;
};

// Writes the rows at those positions that both planes do not rule out, and returns the end. Multiplies plane
// two by the high halves first, because plane one's sum with these is known.
HWY_NOINLINE Survivor* scan_plane2(const PlaneScan& scan, const PlaneRows& left, int64_t count,
                                   Survivor* end) {
  constexpr int64_t kRowsAhead = 16;  // fetched into the next cache when plane one was read
  const auto at = [&](int64_t i) { return int64_t{left.positions[static_cast<size_t>(i)]}; };
  const int64_t row2_bytes = plane2_row_bytes(scan.dims);
  const auto plane2_bytes = static_cast<int64_t>(scan.level.plane2.size());
  const bool has_threshold = scan.test.limit > -std::numeric_limits<float>::infinity();
  ListWalk walk(scan, count == 0 ? 0 : at(0));
  for (int64_t i = 0; i < count; ++i) {
    if (i + kRowsAhead < count) scan.fetch_row2(at(i + kRowsAhead));
    const int64_t position = at(i);
    if (position >= scan.rows) break;
    const uint8_t* row2 = scan.row2(position);
    uint8_t copy[kMaxPlaneDims / kPlaneParts + kRowPadding];
    if (position * row2_bytes + scan.padded > plane2_bytes) {
      std::memcpy(copy, row2, static_cast<size_t>(scan.row_bytes));
      row2 = copy;
    }
    const int32_t sum = 4 * left.sums[static_cast<size_t>(i)] + sum_plane2(scan, row2);
    const BoundValues bound(plane2_bound(scan.row2(position), scan.dims));
    const float by_centroid = bound.centroid * walk.product(position);
    const float off = bound.distance * scan.test.sine;
    if (bound.distance == 0 || by_centroid + bound.code * scan.query.both(sum) + off < scan.test.limit)
      continue;
    const float estimate =
        by_centroid +
        bound.code * (has_threshold ? scan.query.whole(sum_of_planes(scan, position)) : scan.query.both(sum));
    const int32_t row = scan.level.rows[static_cast<size_t>(position)];
    if (row < 0 || row >= scan.rows || estimate + off < scan.test.limit) continue;
    *end++ = {row, estimate,
              largest_similarity(static_cast<double>(estimate), static_cast<double>(bound.distance))};
  }
  return end;
}

PlaneCounts scan_planes(const ModelPart& part, int64_t first_tile, int64_t last_tile, const PlaneQuery& query,
                        float threshold, PlaneRows& left, Survivor* survivors) {
  const PlaneScan scan(part, query, threshold);
  const auto room = static_cast<size_t>((last_tile - first_tile) * kTileRows + kFloatLanes);
  if (left.positions.size() < room) {
    left.positions.resize(room);
    left.sums.resize(room);
  }
  int64_t count = 0;
  ListWalk walk(scan, first_tile * kTileRows);
  for (int64_t tile = first_tile; tile < last_tile; ++tile)
    count = scan_plane1(scan, tile, walk, left, count);
  return {count, scan_plane2(scan, left, count, survivors) - survivors};
}
