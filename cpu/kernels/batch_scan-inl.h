// The scan for a batch of queries. kernels-inl.h includes this file.
//
// Tiles that fit a core's first cache together are multiplied with one group of queries after another. What
// decides about a row is the inequality of filter(), solved for the sum: a row is ruled out if
//
//   sum * scale(row) + slope(query) * residual(row) < base(query)
//
// All roundings together are below 2^-20 of the sum of the terms' magnitudes, which is less than the slack in
// base and slope (docs/exactness.md). filter() looks at all other rows.

constexpr float kBatchSlack = 0x1p-19f;
// Half of the smallest first cache, which the sums and the queries share.
constexpr int64_t kTogetherBytes = 14 << 10;
constexpr int64_t kMostTogether = 8;

// A query's part of the inequality. Of codes that are shifted, the terms of ShiftBound add
//
//   along * along(row) + length * length(row) + square * length(row)^2
//
// whose slack the query's bound has (model/shifted_codes.h).
struct BatchLimit {
  BatchLimit(const QuantizedQuery& query, float threshold)
      : offset(query.bound.error_offset + query.shift.base),
        scale(1 / query.bound.inverse_scale),
        slope(query.bound.error_slope * scale * (1 + kBatchSlack)),
        along(query.shift.along * scale),
        length(query.shift.length_slope * scale),
        square((query.shift.square_slope - query.shift.square) * scale) {
    update(threshold);
  }

  void update(float threshold) {
    const float slack = kBatchSlack * (std::fabs(threshold) + std::fabs(offset));
    base = (threshold - offset - slack) * scale;
  }

  float offset;  // of the error
  float scale;
  float slope;
  float along;
  float length;
  float square;
  float base;
};

// The limits for the queries' thresholds at present.
std::vector<BatchLimit> limits_of(std::span<const QuantizedQuery> queries, const Collector* collectors) {
  std::vector<BatchLimit> limits;
  limits.reserve(queries.size());
  for (size_t q = 0; q < queries.size(); ++q) limits.emplace_back(queries[q], collectors[q].threshold());
  return limits;
}

HWY_NOINLINE void offer_tile(const Tile& tile, const int32_t* sums, const QuantizedQuery& query,
                             Collector& collector) {
  for (int row = 0; row < kTileRows; row += kFloatLanes)
    filter(tile, row, hn::Load(kInts, sums + row), query, collector);
}

// Returns true if the limit rules out all rows of a tile.
template <size_t... I>
HWY_INLINE bool rules_out(const BatchLimit& limit, const int32_t* sums, const FloatVector* scales,
                          const FloatVector* residuals, std::index_sequence<I...>) {
  const FloatVector base = hn::Set(kFloats, limit.base);
  const FloatVector slope = hn::Set(kFloats, limit.slope);
  const FloatVector values[] = {hn::MulAdd(hn::ConvertTo(kFloats, hn::Load(kInts, sums + I * kFloatLanes)),
                                           scales[I], hn::Mul(slope, residuals[I]))...};
  auto ruled_out = hn::Lt(values[0], base);
  ((ruled_out = I == 0 ? ruled_out : hn::And(ruled_out, hn::Lt(values[I], base))), ...);
  return hn::AllTrue(kFloats, ruled_out);
}

// The same for codes that are shifted.
HWY_INLINE bool rules_out_shifted(const BatchLimit& limit, const int32_t* sums, const Tile& tile) {
  for (int row = 0; row < kTileRows; row += kFloatLanes) {
    const FloatVector lengths = hn::LoadU(kFloats, tile.lengths + row);
    const FloatVector coded =
        hn::MulAdd(hn::ConvertTo(kFloats, hn::Load(kInts, sums + row)), hn::LoadU(kFloats, tile.scales + row),
                   hn::Mul(hn::Set(kFloats, limit.slope), hn::LoadU(kFloats, tile.residuals + row)));
    const FloatVector value = hn::MulAdd(
        hn::MulAdd(hn::Set(kFloats, limit.square), lengths, hn::Set(kFloats, limit.length)), lengths,
        hn::MulAdd(hn::Set(kFloats, limit.along), hn::LoadU(kFloats, tile.along + row), coded));
    if (!hn::AllTrue(kFloats, hn::Lt(value, hn::Set(kFloats, limit.base)))) return false;
  }
  return true;
}

// Offers those rows of a tile that the limits of `count` queries do not rule out.
HWY_NOINLINE void compare(const Tile& tile, const int32_t* sums, int count, const QuantizedQuery* queries,
                          BatchLimit* limits, Collector* collectors) {
  constexpr int kVectors = kTileRows / kFloatLanes;
  FloatVector scales[kVectors];
  FloatVector residuals[kVectors];
  for (int i = 0; i < kVectors; ++i) {
    scales[i] = hn::LoadU(kFloats, tile.scales + i * kFloatLanes);
    residuals[i] = hn::LoadU(kFloats, tile.residuals + i * kFloatLanes);
  }
  for (int q = 0; q < count; ++q, sums += kTileRows) {
    if (tile.along != nullptr
            ? rules_out_shifted(limits[q], sums, tile)
            : HWY_LIKELY(rules_out(limits[q], sums, scales, residuals, std::make_index_sequence<kVectors>())))
      continue;
    offer_tile(tile, sums, queries[q], collectors[q]);
    limits[q].update(collectors[q].threshold());
  }
}

void scan_together(std::span<const Tile> tiles, int64_t groups, std::span<const QuantizedQuery> queries,
                   const int8_t* packed, BatchLimit* limits, Collector* collectors) {
  alignas(64) int32_t sums[Dot::kGroupSizes[0] * kTileRows];
  for (size_t q = 0; q < queries.size();) {
    const int size = next_group(queries.size() - q);
    for (const Tile& tile : tiles) {
      sum_group(size, tile.codes, groups, packed, &queries[q], sums);
      compare(tile, sums, size, &queries[q], limits + q, collectors + q);
    }
    packed += size * groups * static_cast<int64_t>(sizeof(Dot::QueryUnit));
    q += static_cast<size_t>(size);
  }
}

void scan_batch(const ModelPart& part, const CodeLevel& level, int64_t first_tile, int64_t last_tile,
                std::span<const QuantizedQuery> queries, const int8_t* packed, Collector* collectors) {
  const int64_t groups = component_groups(part.dims);
  const int64_t together = std::clamp<int64_t>(kTogetherBytes / (groups * kTileStride), 1, kMostTogether);
  std::vector<BatchLimit> limits = limits_of(queries, collectors);
  for (int64_t first = first_tile; first < last_tile; first += together) {
    const int64_t count = std::min(together, last_tile - first);
    EdgeRows edge;
    Tile tiles[kMostTogether];
    for (int64_t i = 0; i < count; ++i) tiles[i] = tile_of(part, level, groups, first + i, edge);
    scan_together(std::span(tiles, static_cast<size_t>(count)), groups, queries, packed, limits.data(),
                  collectors);
  }
}
