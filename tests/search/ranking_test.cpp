// A ranking read row by row, in any order and with any hint, is the relation.
#include "search/ranking.h"

#include <gtest/gtest.h>

#include "tests/loader/random.h"
#include "tests/search/random_model.h"
#include "tests/search/reference.h"
#include "tests/search/test_engine.h"

namespace glove {
namespace {

using namespace glove::testing;

std::vector<Neighbor> read_all(Ranking& ranking) {
  std::vector<Neighbor> rows;
  for (;;) {
    const auto piece = ranking.rows_from(static_cast<int64_t>(rows.size()));
    EXPECT_TRUE(piece.ok());
    if (!piece.ok() || piece.value().empty()) return rows;
    rows.insert(rows.end(), piece.value().begin(), piece.value().end());
  }
}

TEST(Ranking, IsTheRelationWithAnyHintAndLimit) {
  TestEngine test;
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const Rows kind : kAllRows) {
    const ModelPtr model = random_model(random, 5000, 3, kind);
    const Query query = query_for_vector(*model, bytes_of({0.5f, -1, 2})).value().value();
    const auto relation = reference_relation(*model, query);
    for (const int64_t first : {0, 1, 10, 312, 313, 9999})
      for (const int64_t limit : {-1, 0, 1, 40, 1300, 9999}) {
        ModelRelation words(test.searchers(model));
        Ranking ranking(words, query, {}, first, limit);
        const auto kept = limit < 0 ? relation.size() : std::min(relation.size(), static_cast<size_t>(limit));
        ASSERT_EQ(difference(read_all(ranking), std::span(relation).first(kept)), "")
            << first << ", " << limit;
      }
  }
}

TEST(Ranking, MayBeReadInAnyOrder) {
  TestEngine test;
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  const ModelPtr model = random_model(random, 20000, 4, Rows::kMixed);
  const Query query = query_for_vector(*model, bytes_of({1, 2, 3, 4})).value().value();
  const auto relation = reference_relation(*model, query);
  for (int run = 0; run < 20; ++run) {
    ModelRelation words(test.searchers(model));
    Ranking ranking(words, query, {}, 0, -1);
    for (int i = 0; i < 20; ++i) {
      const auto position = static_cast<int64_t>(random() % (relation.size() >> random() % 12));
      const auto piece = ranking.rows_from(position).value();
      ASSERT_FALSE(piece.empty());
      ASSERT_EQ(difference(piece, std::span(relation).subspan(static_cast<size_t>(position), piece.size())),
                "");
    }
    for (const int64_t outside : {int64_t{20000}, INT64_MAX, int64_t{-1}})
      EXPECT_TRUE(ranking.rows_from(outside).value().empty());
  }
}

TEST(Ranking, SearchesForEightTimesAsManyThenMakesOnePass) {
  TestEngine test;
  std::mt19937_64 random(1);
  const ModelPtr model = random_model(random, 20000, 4, Rows::kGaussian);
  const Query query = query_for_vector(*model, bytes_of({1, 2, 3, 4})).value().value();
  ModelRelation words(test.searchers(model));
  Ranking ranking(words, query, {"plain", {}}, 0, -1);
  const auto rows_scanned_for = [&](int64_t position) {
    EXPECT_FALSE(ranking.rows_from(position).value().empty());
    return ranking.report().cost.rows_scanned;
  };
  EXPECT_EQ(rows_scanned_for(0), 20000);
  EXPECT_EQ(ranking.report().k, 64);
  EXPECT_EQ(rows_scanned_for(63), 20000);
  EXPECT_EQ(rows_scanned_for(64), 40000);
  EXPECT_EQ(ranking.report().k, 512);
  EXPECT_EQ(rows_scanned_for(511), 40000);
  EXPECT_EQ(rows_scanned_for(512), 60000);
  EXPECT_EQ(ranking.report().k, 20000);
  EXPECT_EQ(read_all(ranking).size(), 20000u);
  EXPECT_EQ(ranking.report().cost.rows_scanned, 60000);
}

TEST(Ranking, AnErrorCanBeTriedAgain) {
  TestEngine test;
  std::mt19937_64 random(1);
  const ModelPtr model = random_model(random, 20000, 4, Rows::kGaussian);
  const Query query = query_for_vector(*model, bytes_of({1, 2, 3, 4})).value().value();
  const auto relation = reference_relation(*model, query);
  bool stop = false;
  ModelRelation words(test.searchers(model));
  Ranking ranking(words, query, {"auto", [&] { return stop; }}, 0, -1);
  for (const int64_t position : {0, 100, 5000, 19999}) {
    stop = true;
    EXPECT_EQ(ranking.rows_from(position).error().code, ErrorCode::kInterrupted) << position;
    stop = false;
    const auto piece = ranking.rows_from(position).value();
    ASSERT_FALSE(piece.empty());
    EXPECT_EQ(piece.front().id, relation[static_cast<size_t>(position)].id);
  }
}

}  // namespace
}  // namespace glove
