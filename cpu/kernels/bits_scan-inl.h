// The scan of rows of bits (RowMetric::kHamming), for one query or a batch. kernels-inl.h includes this file.
//
// Some of the processors with VNNI count the bits of bytes by an instruction, of which Highway makes no use
// there; the others run the scan of avx512.
#if defined(GLOVE_KERNELS_AMX)
HWY_POP_ATTRIBUTES
HWY_PUSH_ATTRIBUTES(GLOVE_KERNELS_ATTRIBUTES ",avx512bitalg")
#endif

const hn::ScalableTag<uint8_t> kBytes;

// So many groups of four bytes have at most 255 different bits at each of their places.
constexpr int64_t kCountedGroups = 31;

// A query is stored as [component group][4].
void pack_bits(std::span<const QuantizedQuery> queries, int64_t, std::vector<int8_t>& packed) {
  packed.clear();
  for (const QuantizedQuery& query : queries)
    for (const int16_t code : query.codes) packed.push_back(static_cast<int8_t>(code));
}

HWY_INLINE hn::VFromD<decltype(kBytes)> bits_of_bytes(hn::VFromD<decltype(kBytes)> bytes) {
#if defined(GLOVE_KERNELS_AMX)
  return hn::VFromD<decltype(kBytes)>{_mm512_popcnt_epi8(bytes.raw)};
#else
  return hn::PopulationCount(bytes);
#endif
}

// Returns how many bits of kFloatLanes rows are different from the query's. `codes` are those of the first
// row.
HWY_INLINE IntVector count_bits(const int8_t* codes, int64_t groups, const int8_t* query, bool is_first) {
  const hn::ScalableTag<uint16_t> pairs;
  IntVector counts = hn::Zero(kInts);
  for (int64_t first = 0; first < groups; first += kCountedGroups) {
    auto bytes = hn::Zero(kBytes);
    for (int64_t group = first; group < std::min(groups, first + kCountedGroups); ++group) {
      const int8_t* const from = codes + group * kTileStride;
      if (is_first) fetch_ahead(from);
      const auto differ = hn::Xor(hn::LoadU(kBytes, reinterpret_cast<const uint8_t*>(from)),
                                  repeat_unit<uint8_t, int32_t>(query + group * kTileComponents));
      bytes = hn::Add(bytes, bits_of_bytes(differ));
    }
    const auto words = hn::BitCast(pairs, bytes);
    const auto sums =
        hn::BitCast(kInts, hn::Add(hn::ShiftRight<8>(words), hn::And(words, hn::Set(pairs, uint16_t{0xff}))));
    counts = hn::Add(counts, hn::Add(hn::ShiftRight<16>(sums), hn::And(sums, hn::Set(kInts, 0xffff))));
  }
  return counts;
}

void scan_bits(const ModelPart& part, const CodeLevel& level, int64_t first_tile, int64_t last_tile,
               std::span<const QuantizedQuery> queries, const int8_t* packed, Collector* collectors) {
  const int64_t groups = component_groups(part.dims);
  const int64_t last_row = std::min(last_tile * kTileRows, part.rows);
  for (int64_t row = first_tile * kTileRows; row < last_row; row += kFloatLanes) {
    const int8_t* const codes = level.codes.data() + code_index(row, 0, part.dims);
    for (size_t q = 0; q < queries.size(); ++q) {
      Collector& collector = collectors[q];
      const IntVector counts =
          count_bits(codes, groups, packed + static_cast<int64_t>(q) * groups * kTileComponents,
                     q == 0 && row % kTileRows == 0);
      const FloatVector scores = hn::Neg(hn::ConvertTo(kFloats, counts));
      const auto ruled_out = hn::Lt(scores, hn::Set(kFloats, collector.threshold()));
      if (HWY_LIKELY(hn::AllTrue(kFloats, ruled_out))) continue;
      HWY_ALIGN float score[kFloatLanes];
      hn::Store(scores, kFloats, score);
      for (int64_t i = 0; i < std::min<int64_t>(kFloatLanes, last_row - row); ++i)
        if (!(score[i] < collector.threshold()))  // which rises
          collector.offer(static_cast<int32_t>(part.first_row + row + i), score[i], 0);
    }
  }
}

#if defined(GLOVE_KERNELS_AMX)
HWY_POP_ATTRIBUTES
HWY_PUSH_ATTRIBUTES(GLOVE_KERNELS_ATTRIBUTES)
void choose_scan_bits(const ModelPart& part, const CodeLevel& level, int64_t first_tile, int64_t last_tile,
                      std::span<const QuantizedQuery> queries, const int8_t* packed, Collector* collectors) {
  const auto scan = x86_features().avx512bitalg ? scan_bits : avx512::scan_bits;
  scan(part, level, first_tile, last_tile, queries, packed, collectors);
}
constexpr ScanKernel kBits = {255, int64_t{32} << 20, pack_bits, choose_scan_bits};
#else
constexpr ScanKernel kBits = {255, int64_t{32} << 20, pack_bits, scan_bits};
#endif
