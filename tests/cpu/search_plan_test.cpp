// Which levels a search reads, as a table of what decides.
#include "cpu/search/search_plan.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace glove::test {
namespace {

using cpu::Level;
using cpu::PlanFacts;

constexpr int64_t kAnyK = std::numeric_limits<int64_t>::max();

struct Case {
  const char* name;
  PlanFacts facts;
  std::string_view words;
  bool copies = false;
  FirstLevel forced = FirstLevel::kFastest;
};

// A million rows of 300 dimensions, all of which are admissible.
PlanFacts million() {
  return {.rows = 1'000'000, .dims = 300, .admissible = 1'000'000, .rows_of_tiles = 1'000'000};
}

const auto with_codes4 = [](PlanFacts& facts) { facts.has_codes4 = true; };
const auto in_lists = [](PlanFacts& facts) {
  facts.rows_in_lists = facts.rows;
  facts.most_k = kAnyK;
};
const auto without_vectors = [](PlanFacts& facts) { facts.last = Level::kCodes8; };
// `rows` admissible ones, each in a tile of its own until all tiles have one.
const auto among = [](int64_t rows) {
  return [rows](PlanFacts& facts) {
    facts.is_masked = true;
    facts.admissible = rows;
    facts.rows_of_tiles = std::min(facts.rows, rows * kTileRows);
  };
};
const auto k_of = [](int64_t k) { return [k](PlanFacts& facts) { facts.k = k; }; };
const auto queries_of = [](int64_t n) { return [n](PlanFacts& facts) { facts.queries = n; }; };

template <class... Changes>
PlanFacts facts(const Changes&... changes) {
  PlanFacts facts = million();
  (changes(facts), ...);
  return facts;
}

TEST(SearchPlan, IsThatOfTheTable) {
  const auto small = [](PlanFacts& facts) { facts.rows = facts.admissible = facts.rows_of_tiles = 1000; };
  const auto few_k = [](PlanFacts& facts) { facts.most_k = 100; };
  const auto together = [](PlanFacts& facts) {
    facts.is_masked = true;
    facts.admissible = 100'000;
    facts.rows_of_tiles = 200'000;
  };
  const Case cases[] = {
      {"only 8 bits", facts(), "8 bits -> vectors"},
      {"4 bits pay", facts(with_codes4), "4 bits -> vectors"},
      {"of few rows they do not", facts(with_codes4, small), "8 bits -> vectors"},
      {"nor for many rows of the answer", facts(with_codes4, k_of(100'000)), "8 bits -> vectors"},
      {"nor for several queries", facts(with_codes4, queries_of(2)), "8 bits -> vectors"},
      {"planes come before 4 bits", facts(with_codes4, in_lists), "planes -> vectors"},
      {"unless the calibration says that k is too large", facts(in_lists, few_k, k_of(101)),
       "8 bits -> vectors"},
      {"then 4 bits may pay", facts(with_codes4, in_lists, few_k, k_of(101)), "4 bits -> vectors"},
      {"a batch reads 8 bits", facts(in_lists, queries_of(16)), "8 bits -> vectors"},
      {"an index in lists", facts(in_lists, without_vectors), "planes -> 8 bits"},
      {"an index", facts(without_vectors), "8 bits"},
      {"few admissible rows are scored until they are copied", facts(among(100)), "vectors", true},
      {"of rows that lie together the codes are read", facts(together), "8 bits -> vectors", true},
      {"half of the rows are not worth a copy of 64 MiB", facts(among(500'000)), "8 bits -> vectors"},
      {"nearly all rows are not worth one", facts(small, among(990)), "8 bits -> vectors"},
      {"planes are read if most tiles have an admissible row", facts(in_lists, among(600'000)),
       "planes -> vectors"},
      {"an index scores none", facts(without_vectors, among(100)), "8 bits", true},
      {"8 bits when forced", facts(with_codes4, in_lists), "8 bits -> vectors", false, FirstLevel::kCodes8},
      {"4 bits when forced", facts(with_codes4, small), "4 bits -> vectors", false, FirstLevel::kCoarsest},
      {"planes when forced", facts(small, in_lists, few_k, k_of(101)), "planes -> vectors", false,
       FirstLevel::kCoarsest},
      {"no copy when forced", facts(together), "8 bits -> vectors", false, FirstLevel::kCoarsest},
  };
  for (const Case& each : cases) {
    const cpu::SearchPlan plan = plan_search(each.facts, each.forced);
    EXPECT_EQ(plan.words(), each.words) << each.name;
    EXPECT_EQ(plan.copy_saves > 0, each.copies) << each.name;
  }
}

}  // namespace
}  // namespace glove::test
