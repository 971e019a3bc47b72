#include "search/result_cache.h"

#include <gtest/gtest.h>

#include <string>

namespace glove {
namespace {

TEST(ResultCache, FindsWhatWasAdded) {
  ResultCache cache;
  EXPECT_EQ(cache.find<int>("a"), nullptr);
  cache.add("a", std::make_shared<int>(1), 10);
  cache.add("b", std::make_shared<int>(2), 20);
  EXPECT_EQ(*cache.find<int>("a"), 1);
  EXPECT_EQ(*cache.find<int>("b"), 2);
  cache.add("a", std::make_shared<int>(3), 5);
  EXPECT_EQ(*cache.find<int>("a"), 3);
  EXPECT_EQ(cache.bytes(), 25);
}

TEST(ResultCache, DropsWhatWasUsedLeastRecently) {
  ResultCache cache;
  constexpr int64_t kThird = ResultCache::kMostBytes / 3;
  for (const char* key : {"a", "b", "c"}) cache.add(key, std::make_shared<int>(0), kThird);
  EXPECT_NE(cache.find<int>("a"), nullptr);
  const auto held = cache.find<int>("c");
  EXPECT_NE(cache.find<int>("a"), nullptr);
  cache.add("d", std::make_shared<int>(0), kThird);
  EXPECT_EQ(cache.find<int>("b"), nullptr);
  EXPECT_NE(cache.find<int>("c"), nullptr);
  cache.add("large", std::make_shared<int>(7), 2 * ResultCache::kMostBytes);
  EXPECT_EQ(cache.find<int>("a"), nullptr);
  EXPECT_EQ(cache.find<int>("c"), nullptr);
  EXPECT_EQ(*cache.find<int>("large"), 7);
  EXPECT_EQ(*held, 0);
}

TEST(ResultCache, DropsSmallResultsToo) {
  ResultCache cache;
  for (size_t i = 0; i < ResultCache::kMostResults; ++i)
    cache.add(std::to_string(i), std::make_shared<size_t>(i), 1);
  EXPECT_NE(cache.find<size_t>("0"), nullptr);
  cache.add("one more", std::make_shared<size_t>(0), 1);
  EXPECT_NE(cache.find<size_t>("0"), nullptr);
  EXPECT_EQ(cache.find<size_t>("1"), nullptr);
  EXPECT_EQ(cache.bytes(), static_cast<int64_t>(ResultCache::kMostResults));
}

}  // namespace
}  // namespace glove
