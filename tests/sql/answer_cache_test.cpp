#include "sql/nn/answer_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "tests/loader/random.h"
#include "tests/search/random_model.h"
#include "tests/search/temporary_model.h"
#include "tests/search/test_engine.h"

namespace glove {
namespace {

using namespace glove::testing;

class AnswerCacheTest : public ::testing::Test {
 protected:
  static Query query(float x) {
    Query result;
    result.vector = {x, 1};
    result.norm_squared = 1;
    return result;
  }
  AnswerCache::Key key(float x, int64_t k = 5, const char* backend = "auto") const {
    return {*model_, query(x), k, backend};
  }
  static std::vector<Neighbor> rows(size_t count) { return std::vector<Neighbor>(count, {1, 0.5}); }

  TestEngine test_;
  std::mt19937_64 random_{1};
  ModelPtr model_ = random_model(random_, 5, 2, Rows::kGaussian);
};

TEST_F(AnswerCacheTest, FindsExactlyWhatWasAsked) {
  AnswerCache cache(test_.engine);
  EXPECT_EQ(cache.find(key(1)), nullptr);
  const auto answer = cache.insert(key(1), rows(5));
  EXPECT_EQ(cache.find(key(1)), answer);
  EXPECT_EQ(cache.find(key(2)), nullptr);
  EXPECT_EQ(cache.find(key(1, 6)), nullptr);
  EXPECT_EQ(cache.find(key(1, 5, "cpu")), nullptr);
  Query excluding = query(1);
  excluding.excluded = {3};
  EXPECT_EQ(cache.find({*model_, excluding, 5, "auto"}), nullptr);
  const ModelPtr other = random_model(random_, 5, 2, Rows::kGaussian);
  EXPECT_EQ(cache.find({*other, query(1), 5, "auto"}), nullptr);
}

TEST_F(AnswerCacheTest, GivesItsShareOfTheBudgetBack) {
  CacheBudget& budget = test_.engine.cache_budget();
  {
    AnswerCache first(test_.engine), second(test_.engine);
    for (AnswerCache* const cache : {&first, &second}) cache->insert(key(1), rows(5));
    EXPECT_LT(budget.share(), CacheBudget::kDefaultBytes);
    EXPECT_GT(budget.used(), 0u);
  }
  EXPECT_EQ(budget.share(), CacheBudget::kDefaultBytes);
  EXPECT_EQ(budget.used(), 0u);
}

TEST_F(AnswerCacheTest, ForgetsTheLeastRecentlyUsed) {
  AnswerCache cache(test_.engine, 10000);
  for (int i = 0; i < 100; ++i) {
    cache.insert(key(static_cast<float>(i)), rows(5));
    EXPECT_NE(cache.find(key(0)), nullptr) << "used again and again";
    EXPECT_LE(cache.bytes(), 10000u);
  }
  EXPECT_GT(cache.bytes(), 5000u);
  EXPECT_NE(cache.find(key(99)), nullptr);
  EXPECT_EQ(cache.find(key(1)), nullptr);
  EXPECT_EQ(cache.insert(key(500), rows(1000))->size(), 1000u);
  EXPECT_EQ(cache.find(key(500)), nullptr) << "too large to keep";
}

TEST_F(AnswerCacheTest, ForgetsWhatIsNoLongerTrue) {
  AnswerCache cache(test_.engine);
  const auto fill = [&] {
    cache.insert(key(1), rows(5));
    cache.insert(key(1, 5, "cpu"), rows(5));
  };
  Catalog& catalog = test_.engine.catalog();
  catalog.add("own", model_);
  fill();
  const TemporaryModel file("cache.txt", {"a 1 2"});
  ASSERT_TRUE(catalog.load(file.path(), "other", {}).ok());
  EXPECT_NE(cache.find(key(1)), nullptr) << "another model changes nothing";
  ASSERT_TRUE(catalog.unload("other").ok());
  EXPECT_NE(cache.find(key(1)), nullptr);
  ASSERT_TRUE(catalog.load(file.path(), "own", {}).ok());
  EXPECT_EQ(cache.find(key(1)), nullptr);
  EXPECT_EQ(cache.bytes(), 0u);
  catalog.add("own", model_);
  fill();
  ASSERT_TRUE(test_.engine.settings().set("threads", "0").ok());
  EXPECT_NE(cache.find(key(1)), nullptr) << "no row depends on it";
  ASSERT_TRUE(test_.engine.settings().set("backend", "plain").ok());
  EXPECT_EQ(cache.find(key(1)), nullptr) << "the plain backend may fail where another did not";
  EXPECT_NE(cache.find(key(1, 5, "cpu")), nullptr);
  ASSERT_TRUE(catalog.unload("own").ok());
  EXPECT_EQ(cache.find(key(1, 5, "cpu")), nullptr);
  EXPECT_EQ(cache.bytes(), 0u);
}

// The limit holds however many connections there are.
TEST_F(AnswerCacheTest, CachesShareALimit) {
  CacheBudget& budget = test_.engine.cache_budget();
  constexpr size_t kAnswers = 400;  // of 16 kB each, more than one cache may have
  std::vector<std::unique_ptr<AnswerCache>> caches;
  for (int i = 0; i < 60; ++i) {
    AnswerCache& cache = *caches.emplace_back(std::make_unique<AnswerCache>(test_.engine));
    for (size_t a = 0; a < kAnswers; ++a) cache.insert(key(static_cast<float>(a)), rows(1000));
    ASSERT_LE(budget.used(), CacheBudget::kDefaultBytes);
  }
  EXPECT_GT(budget.used(), CacheBudget::kDefaultBytes / 2) << "and they make use of it";
  EXPECT_GT(caches.front()->bytes(), budget.share());
  caches.front()->find(key(0));
  EXPECT_LE(caches.front()->bytes(), budget.share()) << "one that is used again keeps its share";
  caches.back()->insert(key(1000), rows(1000));
  EXPECT_NE(caches.back()->find(key(1000)), nullptr) << "room for the latest";
  caches.clear();
  EXPECT_EQ(budget.used(), 0u);
}

// Each connection has a cache of its own; they share the engine.
TEST_F(AnswerCacheTest, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      AnswerCache cache(test_.engine, 5000);
      for (int i = 0; i < 2000; ++i) {
        const auto size = static_cast<size_t>(i % 7);
        const auto asked = key(static_cast<float>(size));
        const auto answer = cache.find(asked);
        if (answer) {
          EXPECT_EQ(answer->size(), size);
        }
        if (!answer || t == 0) cache.insert(asked, rows(size));
        EXPECT_LE(cache.bytes(), 5000u);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace glove
