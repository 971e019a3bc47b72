// The products of a query with the centroids of lists (lists/list_codes.h). kernels-inl.h includes this file.

void list_products(const int16_t* query, const int8_t* codes, int64_t lists, int64_t dims,
                   int32_t* products) {
  const hn::CappedTag<int16_t, kListCodeLanes> shorts;
  const hn::Rebind<int8_t, decltype(shorts)> bytes;
  const hn::RepartitionToWide<decltype(shorts)> ints;
  const auto lanes = static_cast<int64_t>(hn::Lanes(shorts));
  const int64_t stride = list_code_stride(dims);
  for (int64_t list = 0; list < lists; ++list, codes += stride) {
    auto sum = hn::Zero(ints);
    auto other = hn::Zero(ints);
    for (int64_t j = 0; j < stride; j += lanes)
      sum = hn::ReorderWidenMulAccumulate(ints, hn::PromoteTo(shorts, hn::LoadU(bytes, codes + j)),
                                          hn::LoadU(shorts, query + j), sum, other);
    products[list] = hn::GetLane(hn::SumOfLanes(ints, hn::Add(sum, other)));
  }
}
