// The ranks of a query's rows, once they are asked for often, are those of the relation; memory is bounded.
#include "search/rank_cache.h"

#include <gtest/gtest.h>

#include "tests/loader/random.h"
#include "tests/search/random_model.h"
#include "tests/search/reference.h"
#include "tests/search/test_engine.h"

namespace glove {
namespace {

using namespace glove::testing;

constexpr int64_t kWords = 700;

class RankCacheTest : public ::testing::Test {
 protected:
  // nullptr, or the ranks; `searched` tells whether they were computed now.
  RankCache::Ranks find(RankCache& cache, const ModelPtr& model, const Query& query,
                        bool* searched = nullptr) {
    SearchReport report;
    auto ranks = cache.find(*test_.searchers(model), query, {}, report);
    EXPECT_TRUE(ranks.ok());
    if (searched != nullptr) *searched = report.queries > 0;
    return ranks.value();
  }
  RankCache::Ranks find_often(RankCache& cache, const ModelPtr& model, const Query& query) {
    for (int i = 0; i < RankCache::kSearchesFirst; ++i) find(cache, model, query);
    return find(cache, model, query);
  }
  Query query_of(const Model& model, float x) {
    return query_for_vector(model, bytes_of({x, -1, 2})).value().value();
  }

  TestEngine test_;
};

TEST_F(RankCacheTest, HasTheRanksOfTheRelation) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const Rows kind : kAllRows) {
    const ModelPtr model = random_model(random, kWords, 3, kind);
    const Query query = query_of(*model, 0.5f);
    RankCache cache;
    const RankCache::Ranks ranks = find_often(cache, model, query);
    ASSERT_NE(ranks, nullptr);
    std::vector<int32_t> expected(kWords);
    int32_t rank = 0;
    for (const Neighbor& row : reference_relation(*model, query))
      expected[static_cast<size_t>(row.id)] = ++rank;
    EXPECT_EQ(*ranks, expected);
  }
}

TEST_F(RankCacheTest, ComputesThemOnceTheyAreAskedForOften) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  const ModelPtr model = random_model(random, kWords, 3, Rows::kMixed);
  RankCache cache;
  bool searched = true;
  for (int i = 0; i < RankCache::kSearchesFirst; ++i) {
    EXPECT_EQ(find(cache, model, query_of(*model, 1), &searched), nullptr);
    EXPECT_FALSE(searched);
  }
  EXPECT_NE(find(cache, model, query_of(*model, 1), &searched), nullptr);
  EXPECT_TRUE(searched);
  EXPECT_NE(find(cache, model, query_of(*model, 1), &searched), nullptr);
  EXPECT_FALSE(searched);
  EXPECT_EQ(find(cache, model, query_of(*model, 2)), nullptr);
  Query excluding = query_of(*model, 1);
  excluding.excluded = {3};
  EXPECT_EQ(find(cache, model, excluding), nullptr);
  EXPECT_EQ(find(cache, random_model(random, kWords, 3, Rows::kMixed), query_of(*model, 1)), nullptr);
}

TEST_F(RankCacheTest, KeepsWithinItsBound) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  const ModelPtr model = random_model(random, kWords, 3, Rows::kMixed);
  constexpr size_t kOne = kWords * sizeof(int32_t);
  RankCache none(kOne - 1), two(2 * kOne);
  EXPECT_EQ(find_often(none, model, query_of(*model, 1)), nullptr);
  EXPECT_EQ(none.bytes(), 0u);
  for (const float x : {1.f, 2.f, 3.f}) EXPECT_NE(find_often(two, model, query_of(*model, x)), nullptr);
  EXPECT_EQ(two.bytes(), 2 * kOne);
  bool searched = true;
  EXPECT_NE(find(two, model, query_of(*model, 2), &searched), nullptr);
  EXPECT_FALSE(searched);
  EXPECT_NE(find(two, model, query_of(*model, 1), &searched), nullptr);  // in the place of 3's
  EXPECT_TRUE(searched);
  EXPECT_EQ(two.bytes(), 2 * kOne);
  RankCache many;
  for (size_t i = 0; i < 2 * RankCache::kMostQueries; ++i)
    find_often(many, model, query_of(*model, static_cast<float>(i)));
  EXPECT_EQ(many.bytes(), RankCache::kMostQueries * kOne);
}

}  // namespace
}  // namespace glove
