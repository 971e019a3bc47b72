// Estimates of rows in lists by plane one, for a search that need not prove its answer. kernels-inl.h
// includes this file after planes_scan-inl.h.

// Appends those positions of a tile that are estimated to reach the limit. No product is added without
// rounding it first, as some machines could, so that all have the same numbers.
HWY_NOINLINE void estimate_tile(const PlaneScan& scan, int64_t tile, ListWalk& walk, float share, float limit,
                                PlaneEstimates& kept) {
  const int64_t first_position = tile * kTileRows;
  HWY_ALIGN float products[kTileRows];
  walk.store_products(first_position, products);
  const uint16_t* const bounds = scan.level.bounds1.data() + tile * kPlaneBounds * kTileRows;
  const uint8_t* const codes = scan.level.plane1.data() + tile * kTileRows * scan.row_bytes;
  kept.reserve(kept.count + kTileRows + kFloatLanes);
  for (int first = 0; first < kCoarseVectorsPerTile; first += NibbleDot::kVectors) {
    IntVector sums[NibbleDot::kVectors];
    sum_plane1<false>(scan, codes, first * kFloatLanes, sums,
                      std::make_index_sequence<NibbleDot::kVectors>());
    for (int i = 0; i < NibbleDot::kVectors; ++i) {
      const int row = (first + i) * kFloatLanes;
      const FloatVector product =
          hn::Add(hn::Mul(hn::ConvertTo(kFloats, sums[i]), hn::Set(kFloats, scan.query.plane1.step)),
                  hn::Set(kFloats, scan.query.plane1.start));
      const FloatVector off = hn::Mul(load_halves(bounds + 2 * kTileRows + row), hn::Set(kFloats, share));
      const FloatVector by_code = hn::Add(hn::Mul(load_halves(bounds + kTileRows + row), product), off);
      const FloatVector all =
          hn::Add(hn::Mul(load_halves(bounds + row), hn::Load(kFloats, products + row)), by_code);
      const auto is_kept = hn::Not(hn::Lt(all, hn::Set(kFloats, limit)));
      if (hn::AllFalse(kFloats, is_kept)) continue;
      const IntVector positions = hn::Iota(kInts, static_cast<int32_t>(first_position + row));
      hn::StoreU(hn::Compress(positions, hn::RebindMask(kInts, is_kept)), kInts,
                 kept.positions.data() + kept.count);
      hn::StoreU(hn::Compress(all, is_kept), kFloats, kept.estimates.data() + kept.count);
      kept.count += hn::CountTrue(kFloats, is_kept);
    }
  }
}

// Fetches a tile of plane one and its bounds.
HWY_INLINE void fetch_tile(const PlaneScan& scan, int64_t tile) {
  const auto fetch = [](const auto* first, int64_t bytes) {
    for (int64_t byte = 0; byte < bytes; byte += 64)
      __builtin_prefetch(reinterpret_cast<const char*>(first) + byte);
  };
  fetch(scan.level.bounds1.data() + tile * kPlaneBounds * kTileRows, kPlaneBounds * kTileRows * 2);
  fetch(scan.level.plane1.data() + tile * kTileRows * scan.row_bytes, kTileRows * scan.row_bytes);
}

void estimate_rows(const ModelPart& part, const PlaneTiles& tiles, const PlaneQuery& query, float share,
                   float limit, PlaneEstimates& kept) {
  const PlaneScan scan(part, query, limit);
  ListWalk walk(scan, tiles.first * kTileRows, tiles.list);
  int64_t next = tiles.next_first;
  for (int64_t tile = tiles.first; tile < tiles.last; ++tile) {
    // As many as are left for each of the tiles, so that the processor never waits for many at once.
    const int64_t left = tiles.last - tile;
    for (const int64_t end = next + (tiles.next_last - next + left - 1) / left; next < end; ++next)
      fetch_tile(scan, next);
    estimate_tile(scan, tile, walk, share, limit, kept);
  }
}

extern const PlaneKernel kPlanes = {pack_planes, scan_planes, estimate_rows};
