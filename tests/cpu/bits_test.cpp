// The scans of rows of bits (RowMetric::kHamming): every kernel returns what the plain one and a count bit by
// bit return, on random and adversarial rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <limits>
#include <string>

#include "base/float_environment.h"
#include "cpu/kernels/kernels.h"
#include "model/metric.h"
#include "model/quantize.h"
#include "tests/cpu/test_support.h"

namespace glove::test {
namespace {

using cpu::Collector;
using cpu::Kernels;
using cpu::SharedBounds;

using Bytes = std::vector<uint8_t>;

// Ones, zeros, one bit, alternating bits, or random ones.
Bytes some_bits(int64_t size, std::mt19937_64& random) {
  const uint64_t kind = random() % 8;
  constexpr uint8_t kBytes[] = {0x00, 0xff, 0x55, 0x80};
  Bytes bits(static_cast<size_t>(size), kind < 4 ? kBytes[kind] : uint8_t{0});
  if (kind == 4) bits[random() % bits.size()] = static_cast<uint8_t>(1 << random() % 8);
  if (kind > 4)
    for (uint8_t& byte : bits) byte = static_cast<uint8_t>(random());
  return bits;
}

std::vector<float> floats_of(const Bytes& bits) {
  return {bits.begin(), bits.end()};
}

float distance(const Bytes& a, const Bytes& b) {
  int bits = 0;
  for (size_t i = 0; i < a.size(); ++i) bits += std::popcount(static_cast<unsigned>(a[i] ^ b[i]));
  return static_cast<float>(bits);
}

// Rows of one part, of which the model's number of the first is not 0.
struct Part {
  Part(int64_t rows, int64_t size, std::mt19937_64& random)
      : codes(static_cast<size_t>(code_bytes(rows, size))) {
    for (int64_t row = 0; row < rows; ++row) {
      bits.push_back(some_bits(size, random));
      for (int64_t j = 0; j < size; ++j)
        codes[static_cast<size_t>(code_index(row, j, size))] =
            static_cast<int8_t>(bits.back()[static_cast<size_t>(j)]);
    }
    part.first_row = 1000;
    part.rows = rows;
    part.dims = size;
    part.levels = {{8, codes, {}, {}}};
  }
  std::vector<Bytes> bits;
  std::vector<int8_t> codes;
  ModelPart part;
};

TEST(Bits, EveryKernelCountsTheDifferentOnes) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(41);
  for (const int64_t size : {1, 2, 3, 4, 9, 72, 123, 124, 125, 512, 8192})
    for (const int64_t rows : {1, 5, 31, 32, 33, 77}) {
      const Part part(rows, size, random);
      std::vector<Bytes> asked;
      std::vector<QuantizedQuery> queries(1 + random() % 5);
      for (QuantizedQuery& query : queries) {
        asked.push_back(random() % 3 == 0 ? part.bits[random() % part.bits.size()] : some_bits(size, random));
        query.codes.assign(asked.back().begin(), asked.back().end());
        query.codes.resize(static_cast<size_t>(component_groups(size) * kTileComponents));
      }
      for (const Kernels* kernels : cpu::usable_kernels()) {
        SCOPED_TRACE(std::string(kernels->name) + ", " + std::to_string(size) + " bytes, " +
                     std::to_string(rows) + " rows");
        std::deque<SharedBounds> shared;
        std::vector<Collector> collectors;
        std::vector<float> thresholds;
        for (const Bytes& query : asked) {
          const bool has_threshold = random() % 2 == 0;
          thresholds.push_back(has_threshold ? -distance(query, part.bits[random() % part.bits.size()])
                                             : -std::numeric_limits<float>::infinity());
          shared.emplace_back(1000).threshold().raise(thresholds.back());
          collectors.emplace_back(std::span<const int32_t>(), nullptr, shared.back()).refresh();
        }
        std::vector<int8_t> packed;
        kernels->bits->pack(queries, component_groups(size), packed);
        kernels->bits->scan(part.part, part.part.level(8), 0, tile_count(rows), queries, packed.data(),
                            collectors.data());
        for (size_t q = 0; q < asked.size(); ++q) {
          std::vector<Collector::Candidate> expected;
          for (int32_t row = 0; row < rows; ++row)
            if (const float score = -distance(asked[q], part.bits[static_cast<size_t>(row)]);
                score >= thresholds[q])
              expected.push_back({1000 + row, score});
          const auto found = collectors[q].candidates();
          ASSERT_TRUE(std::ranges::equal(
              found, expected,
              [](const auto& a, const auto& b) { return a.id == b.id && a.upper == b.upper; }))
              << found.size() << " rows of " << expected.size();
        }
      }
    }
}

TEST(Bits, AScoreIsMinusTheNumberOfDifferentOnes) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(42);
  for (const int64_t size : {1, 2, 7, 8, 9, 72, 8192})
    for (int i = 0; i < 20; ++i) {
      const Bytes a = some_bits(size, random), b = some_bits(size, random);
      ASSERT_EQ(exact_score(RowMetric::kHamming, floats_of(a).data(), 0, floats_of(b).data(), 0, size),
                -static_cast<double>(distance(a, b)));
    }
}

}  // namespace
}  // namespace glove::test
