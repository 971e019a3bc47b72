// The products of a query with the centroids of lists (lists/list_codes.h). kernels-inl.h includes this file.

const hn::CappedTag<int16_t, kListCodeLanes> kListShorts;
const hn::RepartitionToWide<decltype(kListShorts)> kListInts;
using ListSums = hn::VFromD<decltype(kListInts)>;

// Returns vectors whose lanes add up, in each block of four, to those of four vectors.
HWY_INLINE ListSums sums_of_four(ListSums a, ListSums b, ListSums c, ListSums d) {
  const hn::RepartitionToWide<decltype(kListInts)> pairs;
  const auto ab = hn::Add(hn::InterleaveLower(kListInts, a, b), hn::InterleaveUpper(kListInts, a, b));
  const auto cd = hn::Add(hn::InterleaveLower(kListInts, c, d), hn::InterleaveUpper(kListInts, c, d));
  const auto low = hn::InterleaveLower(pairs, hn::BitCast(pairs, ab), hn::BitCast(pairs, cd));
  const auto high = hn::InterleaveUpper(pairs, hn::BitCast(pairs, ab), hn::BitCast(pairs, cd));
  return hn::Add(hn::BitCast(kListInts, low), hn::BitCast(kListInts, high));
}

// Four lists at a time, because the sum of a vector's lanes takes as long as several products.
void list_products(const int16_t* query, const int8_t* codes, int64_t lists, int64_t dims,
                   int32_t* products) {
  constexpr int64_t kTogether = 4;
  const hn::Rebind<int8_t, decltype(kListShorts)> bytes;
  const hn::FixedTag<int32_t, kTogether> four;
  const auto lanes = static_cast<int64_t>(hn::Lanes(kListShorts));
  const int64_t stride = list_code_stride(dims);
  for (int64_t list = 0; list < lists; list += kTogether) {
    // The last lists stand in for those that there are not.
    const auto row = [&](int64_t i) { return codes + std::min(list + i, lists - 1) * stride; };
    const int8_t* const rows[kTogether] = {row(0), row(1), row(2), row(3)};
    const ListSums zero = hn::Zero(kListInts);
    ListSums sums[kTogether] = {zero, zero, zero, zero};
    ListSums others[kTogether] = {zero, zero, zero, zero};
    for (int64_t j = 0; j < stride; j += lanes) {
      const auto at = hn::LoadU(kListShorts, query + j);
      for (int i = 0; i < kTogether; ++i)
        sums[i] = hn::ReorderWidenMulAccumulate(
            kListInts, hn::PromoteTo(kListShorts, hn::LoadU(bytes, rows[i] + j)), at, sums[i], others[i]);
    }
    for (int i = 0; i < kTogether; ++i) sums[i] = hn::Add(sums[i], others[i]);
    const ListSums all = sums_of_four(sums[0], sums[1], sums[2], sums[3]);
    HWY_ALIGN int32_t lane[kListCodeLanes / 2];
    hn::Store(all, kListInts, lane);
    auto total = hn::Load(four, lane);
    if (hn::Lanes(kListInts) > kTogether) total = hn::Add(total, hn::Load(four, lane + kTogether));
    if (list + kTogether <= lists) {
      hn::StoreU(total, four, products + list);
    } else {
      hn::Store(total, four, lane);
      std::copy_n(lane, lists - list, products + list);
    }
  }
}
