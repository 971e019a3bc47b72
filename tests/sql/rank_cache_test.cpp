// Cached ranks of a query's rows are those of the relation, and their memory is bounded.
#include "sql/nn/rank_cache.h"

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
  // Returns nullptr or the ranks; sets `searched` to whether this call computed them.
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
    RankCache cache(test_.engine);
    const RankCache::Ranks ranks = find_often(cache, model, query);
    ASSERT_NE(ranks, nullptr);
    std::vector<int32_t> expected(kWords);
    int32_t rank = 0;
    for (const Neighbor& row : reference_relation(*model, query))
      expected[static_cast<size_t>(row.id)] = ++rank;
    EXPECT_EQ(ranks->ranks, expected);
  }
}

TEST_F(RankCacheTest, ComputesThemOnceTheyAreAskedForOften) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  const ModelPtr model = random_model(random, kWords, 3, Rows::kMixed);
  RankCache cache(test_.engine);
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
  RankCache none(test_.engine, kOne - 1), two(test_.engine, 2 * kOne);
  EXPECT_EQ(find_often(none, model, query_of(*model, 1)), nullptr);
  EXPECT_EQ(none.bytes(), 0u);
  for (const float x : {1.f, 2.f, 3.f}) EXPECT_NE(find_often(two, model, query_of(*model, x)), nullptr);
  EXPECT_EQ(two.bytes(), 2 * kOne);
  bool searched = true;
  EXPECT_NE(find(two, model, query_of(*model, 2), &searched), nullptr);
  EXPECT_FALSE(searched);
  EXPECT_NE(find(two, model, query_of(*model, 1), &searched), nullptr);  // replaces those of 3
  EXPECT_TRUE(searched);
  EXPECT_EQ(two.bytes(), 2 * kOne);
  RankCache many(test_.engine);
  for (size_t i = 0; i < 2 * RankCache::kMostQueries; ++i)
    find_often(many, model, query_of(*model, static_cast<float>(i)));
  EXPECT_EQ(many.bytes(), RankCache::kMostQueries * kOne);
}

// The limit holds however many connections there are.
TEST_F(RankCacheTest, CachesShareALimit) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  const ModelPtr model = random_model(random, kWords, 3, Rows::kMixed);
  constexpr size_t kOne = kWords * sizeof(int32_t);
  CacheBudget& budget = test_.engine.cache_budget();
  constexpr size_t kOthers = CacheBudget::kDefaultBytes - 5 * kOne;
  ASSERT_TRUE(budget.take(kOthers));
  {
    RankCache first(test_.engine), second(test_.engine), third(test_.engine);
    for (RankCache* const cache : {&first, &second})
      for (const float x : {1.f, 2.f, 3.f})
        EXPECT_NE(find_often(*cache, model, query_of(*model, x)), nullptr);
    EXPECT_EQ(first.bytes(), 3 * kOne);
    EXPECT_EQ(second.bytes(), 2 * kOne) << "the third query took the place of the first";
    EXPECT_EQ(find_often(third, model, query_of(*model, 1)), nullptr) << "there is no room";
    EXPECT_EQ(budget.used(), CacheBudget::kDefaultBytes);

    size_t joined = 0;
    for (; budget.share() >= 2 * kOne; ++joined) budget.join();
    find(first, model, query_of(*model, 3));
    EXPECT_EQ(first.bytes(), kOne) << "one that is used again keeps its share";
    EXPECT_NE(find_often(third, model, query_of(*model, 1)), nullptr) << "room for the latest";
    for (; joined > 0; --joined) budget.leave();
  }
  EXPECT_EQ(budget.used(), kOthers);
  EXPECT_EQ(budget.share(), CacheBudget::kDefaultBytes);
}

TEST_F(RankCacheTest, TakesNothingForRanksThatItCouldNotCompute) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  const ModelPtr model = random_model(random, kWords, 3, Rows::kMixed);
  RankCache cache(test_.engine);
  const Query query = query_of(*model, 1);
  for (int i = 0; i < RankCache::kSearchesFirst; ++i) find(cache, model, query);
  SearchOptions options;
  options.interrupted = [] { return true; };
  SearchReport report;
  EXPECT_FALSE(cache.find(*test_.searchers(model), query, options, report).ok());
  EXPECT_EQ(cache.bytes(), 0u);
  EXPECT_EQ(test_.engine.cache_budget().used(), 0u);
  EXPECT_NE(find(cache, model, query), nullptr);
}

TEST_F(RankCacheTest, KeepsTheRowsOfAnIndex) {
  const std::vector<Neighbor> rows = {{7, 0.5}, {-3, 0.25}, {1LL << 40, 0.125}, {2, 0}};
  RankCache cache(test_.engine);
  int computed = 0;
  const auto find = [&](RankCache::Asked asked, size_t bytes, RankCache& in) {
    return in.find(asked, 1, bytes, [&] { return ++computed, Result(ranks_by_id(rows)); }).value();
  };
  const Query query{{1, 2, 3}, 14, {}};
  EXPECT_EQ(find({.query = query}, 80, cache), nullptr);
  for (int i = 0; i < 2; ++i) {
    const RankCache::Ranks ranks = find({.query = query}, 80, cache);
    ASSERT_NE(ranks, nullptr);
    EXPECT_EQ(ranks->ranks, (std::vector<int32_t>{2, 4, 1, 3}));
    EXPECT_EQ(ranks->find(7), 2u);
    EXPECT_EQ(ranks->rows[*ranks->find(1LL << 40)].similarity, 0.125);
    EXPECT_EQ(ranks->find(3), std::nullopt);
  }
  EXPECT_EQ(computed, 1);
  const auto one = std::make_shared<const KeySet>(std::vector<int64_t>{7});
  const auto same = std::make_shared<const KeySet>(std::vector<int64_t>{7});
  for (const RankCache::Asked& other :
       {RankCache::Asked{.query = query, .limit = 4}, RankCache::Asked{.query = query, .recall = .9},
        RankCache::Asked{.query = query, .among = one}, RankCache::Asked{.query = query, .among = same}})
    EXPECT_EQ(find(other, 80, cache), nullptr);
  EXPECT_EQ(cache.bytes(), 80u);
  EXPECT_NE(find({.query = query, .among = one}, 10, cache), nullptr);
  EXPECT_EQ(cache.bytes(), 160u) << "the estimate was too low";
  cache.clear();
  EXPECT_EQ(cache.bytes(), 0u);
  EXPECT_EQ(find({.query = query}, 80, cache), nullptr);

  RankCache small(test_.engine, 79);
  for (int i = 0; i < 2; ++i) find({.query = query}, 79, small);
  EXPECT_EQ(small.bytes(), 0u) << "returned, but not kept";
  EXPECT_EQ(computed, 3);
  EXPECT_EQ(test_.engine.cache_budget().used(), 0u);
}

TEST_F(RankCacheTest, ForgetsModelsThatWereUnloaded) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  constexpr size_t kOne = kWords * sizeof(int32_t);
  const ModelPtr gone = random_model(random, kWords, 3, Rows::kMixed);
  const ModelPtr stays = random_model(random, kWords, 3, Rows::kMixed);
  Catalog& catalog = test_.engine.catalog();
  catalog.add("gone", gone);
  catalog.add("stays", stays);
  RankCache cache(test_.engine), idle(test_.engine);
  for (RankCache* const each : {&cache, &idle})
    for (const ModelPtr& model : {gone, stays})
      EXPECT_NE(find_often(*each, model, query_of(*model, 1)), nullptr);
  ASSERT_TRUE(catalog.unload("gone").ok());
  bool searched = true;
  EXPECT_NE(find(cache, stays, query_of(*stays, 1), &searched), nullptr);
  EXPECT_FALSE(searched);
  EXPECT_EQ(cache.bytes(), kOne);
  idle.forget_unloaded();
  EXPECT_EQ(idle.bytes(), kOne);
  EXPECT_EQ(test_.engine.cache_budget().used(), 2 * kOne);
  catalog.add("stays", random_model(random, kWords, 3, Rows::kMixed));
  cache.forget_unloaded();
  EXPECT_EQ(cache.bytes(), 0u) << "replaced";
}

}  // namespace
}  // namespace glove
