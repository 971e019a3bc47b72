// k-means by codes for one instruction set: kernels-inl.h includes this file at its end, inside its
// namespace.

void tile_sums(const int8_t* tile, int64_t groups, std::span<const QuantizedQuery> centroids,
               const int8_t* packed, int32_t* sums) {
  for (size_t c = 0; c < centroids.size();) {
    const int size = next_group(centroids.size() - c);
    sum_group(size, tile, groups, packed, &centroids[c], sums + c * kTileRows);
    packed += size * groups * static_cast<int64_t>(sizeof(Dot::QueryUnit));
    c += static_cast<size_t>(size);
  }
}

HWY_INLINE FloatVector cluster_error(const CentroidBound& centroid, FloatVector residuals,
                                     FloatVector inverse_norms, FloatVector slacks) {
  const FloatVector by_residual =
      hn::MulAdd(residuals, hn::Set(kFloats, centroid.slope), hn::Set(kFloats, centroid.offset));
  return hn::Add(by_residual, hn::MulAdd(inverse_norms, hn::Set(kFloats, centroid.half_slack), slacks));
}

void raise_bounds(std::span<const CentroidBound> centroids, int32_t first, const TileFactors& rows,
                  int32_t* sums, TileBounds& bounds) {
  const FloatVector lowest = hn::Set(kFloats, -std::numeric_limits<float>::infinity());
  for (int row = 0; row < kTileRows; row += kFloatLanes) {
    const FloatVector scales = hn::LoadU(kFloats, rows.scales + row);
    const FloatVector residuals = hn::LoadU(kFloats, rows.residuals + row);
    const FloatVector inverse_norms = hn::LoadU(kFloats, rows.inverse_norms + row);
    const FloatVector slacks = hn::LoadU(kFloats, rows.slacks + row);
    FloatVector best = hn::LoadU(kFloats, bounds.best + row);
    FloatVector second = hn::LoadU(kFloats, bounds.second + row);
    IntVector winner = hn::LoadU(kInts, bounds.winner + row);
    int32_t number = first;
    int32_t* place = sums + row;
    for (const CentroidBound& centroid : centroids) {
      const FloatVector dot = hn::Mul(hn::ConvertTo(kFloats, hn::LoadU(kInts, place)), scales);
      const FloatVector score = hn::NegMulAdd(inverse_norms, hn::Set(kFloats, centroid.half_square),
                                              hn::Mul(dot, hn::Set(kFloats, centroid.estimate)));
      hn::StoreU(hn::BitCast(kInts, score), kInts, place);
      place += kTileRows;
      const FloatVector bound = hn::Sub(score, cluster_error(centroid, residuals, inverse_norms, slacks));
      const FloatVector lower = hn::IfThenElse(hn::Eq(bound, bound), bound, lowest);  // ignores a NaN
      second = hn::Max(second, hn::Min(best, lower));
      winner = hn::IfThenElse(hn::RebindMask(kInts, hn::Gt(lower, best)), hn::Set(kInts, number++), winner);
      best = hn::Max(best, lower);
    }
    hn::StoreU(best, kFloats, bounds.best + row);
    hn::StoreU(second, kFloats, bounds.second + row);
    hn::StoreU(winner, kInts, bounds.winner + row);
  }
}

void find_candidates(std::span<const CentroidBound> centroids, const TileFactors& rows, const int32_t* scores,
                     const float* thresholds, const int32_t* winners, uint32_t* masks) {
  std::fill_n(masks, centroids.size(), 0u);
  for (int row = 0; row < kTileRows; row += kFloatLanes) {
    const FloatVector residuals = hn::LoadU(kFloats, rows.residuals + row);
    const FloatVector inverse_norms = hn::LoadU(kFloats, rows.inverse_norms + row);
    const FloatVector slacks = hn::LoadU(kFloats, rows.slacks + row);
    const FloatVector threshold = hn::LoadU(kFloats, thresholds + row);
    const IntVector winner = hn::LoadU(kInts, winners + row);
    const int32_t* place = scores + row;
    for (size_t c = 0; c < centroids.size(); ++c, place += kTileRows) {
      const FloatVector score = hn::BitCast(kFloats, hn::LoadU(kInts, place));
      const FloatVector upper = hn::Add(score, cluster_error(centroids[c], residuals, inverse_norms, slacks));
      const auto wins = hn::RebindMask(kFloats, hn::Eq(winner, hn::Set(kInts, static_cast<int32_t>(c))));
      const auto remains = hn::Not(hn::Or(hn::Lt(upper, threshold), wins));
      if (HWY_LIKELY(hn::AllFalse(kFloats, remains))) continue;
      uint8_t bits[8] = {};
      hn::StoreMaskBits(kFloats, remains, bits);
      uint32_t mask;
      std::memcpy(&mask, bits, sizeof(mask));
      masks[c] |= mask << row;
    }
  }
}

extern const ClusterKernels kCluster = {
    Dot::kMaxQueryCode,       pack,         tile_sums,       raise_bounds, find_candidates,
    finer::nearest_by_floats, finer::widen, finer::add_fixed};
