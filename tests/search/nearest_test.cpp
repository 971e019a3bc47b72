// Compares nearest() and its neighbours with the relation by definition, for every backend, bit for bit.
#include "search/nearest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "search/candidates.h"
#include "tests/cosine_similarity.h"
#include "tests/loader/random.h"
#include "tests/search/random_mask.h"
#include "tests/search/random_model.h"
#include "tests/search/reference.h"
#include "tests/search/test_engine.h"

namespace glove {
namespace {

using namespace glove::testing;

// Queries by word, by expression and by vector; those without rows are left out.
std::vector<Query> random_queries(std::mt19937_64& random, const Model& model, Rows kind) {
  std::vector<Query> queries;
  const auto keep = [&](MaybeQuery query) {
    if (query) queries.push_back(std::move(*query));
  };
  const auto word = [&] { return word_name(random() % static_cast<uint64_t>(model.words())); };
  for (int i = 0; i < 3; ++i) keep(query_for_word(model, word()));
  for (int i = 0; i < 3; ++i)
    keep(query_for_expression(model, word() + " - " + word() + " + 2 * " + word()).value());
  for (int i = 0; i < 2; ++i)
    keep(query_for_vector(model, bytes_of(random_vector(random, model.dims(), kind))).value());
  std::vector<float> axis(static_cast<size_t>(model.dims()));
  axis[0] = 1;  // with Rows::kNegative every similarity is negative
  keep(query_for_vector(model, bytes_of(axis)).value());
  return queries;
}

void check(const ModelPtr& model, const std::vector<Query>& queries) {
  TestEngine test;
  const ModelSearchersPtr searchers = test.searchers(model);
  const int64_t n = model->words();
  std::vector<std::vector<Neighbor>> relations;
  relations.reserve(queries.size());
  for (const Query& query : queries) relations.push_back(reference_relation(*model, query));
  for (const char* backend : {"cpu", "plain", "ranking"})
    for (const int64_t k :
         {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{10}, n / 16, n / 16 + 1, n - 1, n, n + 7}) {
      SearchReport report;
      const auto answers = nearest(*searchers, queries, k, {backend, {}}, report);
      ASSERT_TRUE(answers.ok()) << answers.error().message;
      ASSERT_EQ(answers.value().size(), queries.size());
      for (size_t q = 0; q < queries.size(); ++q) {
        const auto kept = std::min(relations[q].size(), static_cast<size_t>(std::max<int64_t>(k, 0)));
        EXPECT_EQ(difference(answers.value()[q], std::span(relations[q]).first(kept)), "")
            << backend << ", k = " << k << ", " << n << " x " << model->dims() << ", query " << q;
      }
    }
}

TEST(Engine, NearestIsTheRelation) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const int64_t dims : {1, 2, 3, 4, 5, 8, 31, 33, 100})
    for (const Rows kind : kAllRows) {
      const ModelPtr model = random_model(random, 33 + static_cast<int64_t>(random() % 400), dims, kind);
      check(model, random_queries(random, *model, kind));
    }
}

TEST(Engine, NearestAtOddSizes) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const int64_t words : {1, 2, 15, 16, 17, 31, 32, 33, 64}) {
    const ModelPtr model = random_model(random, words, 6, Rows::kMixed);
    check(model, random_queries(random, *model, Rows::kMixed));
  }
  for (const int64_t dims : {1024, 4096}) {
    const ModelPtr model = random_model(random, 180, dims, Rows::kMixed);
    check(model, random_queries(random, *model, Rows::kMixed));
  }
}

TEST(Engine, FewerAdmissibleRowsThanK) {
  TestEngine test;
  ModelBuilder builder("test");
  for (int i = 0; i < 500; ++i) {
    const bool is_zero = i % 100 != 7;
    ASSERT_TRUE(builder
                    .add(word_name(i),
                         std::vector<float>{is_zero ? 0 : -1.0f * static_cast<float>(i), 1.0f * !is_zero})
                    .value());
  }
  const ModelPtr model = builder.finish(1).value();
  const Query query = *query_for_vector(*model, bytes_of({1, 0})).value();
  const auto relation = reference_relation(*model, query);
  ASSERT_EQ(relation.size(), 5u);
  for (const char* backend : {"cpu", "plain", "ranking"}) {
    SearchReport report;
    EXPECT_EQ(difference(nearest(*test.searchers(model), {&query, 1}, 20, {backend, {}}, report).value()[0],
                         relation),
              "");
  }
}

TEST(Engine, AMaskIsAppliedByEveryBackend) {
  TestEngine test;
  std::mt19937_64 random = random_source();
  const ModelPtr model = random_model(random, 300, 7, Rows::kMixed);
  const ModelSearchersPtr searchers = test.searchers(model);
  Query query = *query_for_vector(*model, bytes_of(random_vector(random, 7, Rows::kGaussian))).value();
  std::vector<Neighbor> relation = reference_relation(*model, query);
  std::vector<int64_t> ids(300);
  std::iota(ids.begin(), ids.end(), int64_t{0});
  const KeySet keys({-1, 5, 6, 77, 100, 101, 102, 299, 1000});
  auto mask = std::make_shared<RowMask>(*model);
  ASSERT_TRUE(mask->admit(keys, ids, int64_t{0}, {}).ok());
  mask->complete(*model);
  EXPECT_EQ(mask->count(), 7);
  query.among = mask;
  std::erase_if(relation, [&](const Neighbor& row) { return !keys.contains(row.id); });
  for (const char* backend : {"cpu", "plain", "ranking"}) {
    SearchReport report;
    const auto answers = nearest(*searchers, {&query, 1}, 20, {backend, {}}, report);
    ASSERT_TRUE(answers.ok()) << answers.error().message;
    EXPECT_EQ(difference(answers.value()[0], relation), "");
    SearchReport of_rank;
    EXPECT_EQ(rank_of(*searchers, query, relation.back(), {backend, {}}, of_rank).value(),
              static_cast<int64_t>(relation.size()));
  }
}

// With 'auto', the last backend answers a query among few rows, and a batch among rows of few tiles.
TEST(Engine, FewRowsAreForTheLastBackend) {
  TestEngine test;
  test.script.available = Status();
  std::mt19937_64 random = random_source();
  const ModelPtr model = random_model(random, 3000, 50, Rows::kGaussian);
  const ModelSearchersPtr searchers = test.searchers(model);
  const auto backend_for = [&](int64_t rows, size_t queries, const char* backend) {
    std::vector<int64_t> all(static_cast<size_t>(rows));
    std::iota(all.begin(), all.end(), int64_t{0});
    Query query = *query_for_vector(*model, bytes_of(random_vector(random, 50, Rows::kGaussian))).value();
    query.among = mask_of(*model, all);
    SearchReport report;
    EXPECT_TRUE(nearest(*searchers, std::vector(queries, query), 10, {backend, {}}, report).ok());
    return report.backend;
  };
  EXPECT_EQ(backend_for(2000, 1, "auto"), "ranking");
  EXPECT_EQ(backend_for(2001, 1, "auto"), "scripted");
  EXPECT_EQ(backend_for(40 * 32 - 32, 2, "auto"), "ranking");
  EXPECT_EQ(backend_for(40 * 32, 2, "auto"), "scripted");
  EXPECT_EQ(backend_for(1, 1, "scripted"), "scripted");
}

TEST(Engine, ABatchOfManyBlocksIsTheSameAsOneByOne) {
  TestEngine test;
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  const ModelPtr model = random_model(random, 300, 7, Rows::kMixed);
  std::vector<Query> queries;
  while (queries.size() < 2500) {
    auto query = query_for_vector(*model, bytes_of(random_vector(random, 7, Rows::kGaussian))).value();
    if (query) queries.push_back(std::move(*query));
  }
  SearchReport report;
  const auto answers = nearest(*test.searchers(model), queries, 3, {"cpu", {}}, report).value();
  ASSERT_EQ(answers.size(), queries.size());
  EXPECT_EQ(report.queries, 2500);
  for (size_t q = 0; q < queries.size(); q += 7) {
    const auto relation = reference_relation(*model, queries[q]);
    ASSERT_EQ(difference(answers[q], std::span(relation).first(3)), "") << q;
  }
}

TEST(Engine, ScoreWordsAndRankOf) {
  TestEngine test;
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const Rows kind : kAllRows) {
    const ModelPtr model = random_model(random, 400, 9, kind);
    for (const Query& query : random_queries(random, *model, kind)) {
      const auto relation = reference_relation(*model, query);
      std::vector<int64_t> ids(400);
      std::iota(ids.begin(), ids.end(), int64_t{0});
      auto scored = score_words(*model, query, ids).value();
      ASSERT_TRUE(std::is_sorted(scored.begin(), scored.end(), [](auto& a, auto& b) { return a.id < b.id; }));
      std::sort(scored.begin(), scored.end(), ranks_before);
      ASSERT_EQ(difference(scored, relation), "");
      for (int i = 0; i < 5 && !relation.empty(); ++i) {
        const size_t position = random() % relation.size();
        SearchReport report;
        EXPECT_EQ(rank_of(*test.searchers(model), query, relation[position], {}, report).value(),
                  static_cast<int64_t>(position) + 1);
      }
    }
  }
}

// Large enough that rank_of looks among the nearest rows first.
TEST(Engine, RankOfNearAndFarRows) {
  TestEngine test;
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const Rows kind : {Rows::kGaussian, Rows::kDuplicates, Rows::kMixed}) {
    const ModelPtr model = random_model(random, 20000, 5, kind);
    const Query query =
        *query_for_vector(*model, bytes_of(random_vector(random, 5, Rows::kGaussian))).value();
    const auto relation = reference_relation(*model, query);
    for (const size_t position : {size_t{0}, size_t{1}, size_t{1023}, size_t{1024}, size_t{1025},
                                  random() % relation.size(), relation.size() - 1}) {
      SearchReport report;
      EXPECT_EQ(rank_of(*test.searchers(model), query, relation[position], {}, report).value(),
                static_cast<int64_t>(position) + 1);
    }
  }
}

TEST(Engine, CosineSimilarityHasTheRelationsBits) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  const ModelPtr model = random_model(random, 100, 50, Rows::kMixed);
  const auto query = query_for_vector(*model, bytes_of(random_vector(random, 50, Rows::kGaussian))).value();
  for (const Neighbor& row : reference_relation(*model, *query)) {
    const std::span<const float> vector(model->vector(row.id), 50);
    EXPECT_EQ(cosine_similarity(query->vector, vector), row.similarity);
    EXPECT_EQ(cosine_similarity(vector, query->vector), row.similarity);
  }
}

// A mapped file that was damaged after it was written may return wrong rows, but nothing else breaks.
TEST(Engine, DamagedRowsAreLeftOut) {
  TestEngine test;
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  const ModelPtr good = random_model(random, 5000, 3, Rows::kGaussian);
  ModelPart part = good->parts().front();
  std::vector<float> vectors(part.vectors.begin(), part.vectors.end());
  std::vector<double> norms(part.norms_squared.begin(), part.norms_squared.end());
  const float bad[] = {std::nanf(""), INFINITY, -INFINITY};
  for (int i = 0; i < 3000; ++i) vectors[random() % vectors.size()] = bad[i % 3];
  for (int i = 0; i < 300; ++i) norms[random() % norms.size()] = i % 2 ? NAN : -1;
  part.vectors = vectors;
  part.norms_squared = norms;
  const ModelPtr damaged =
      std::make_shared<const Model>(std::vector{part}, good->vocabulary(), Model::Source{}, good);
  const Query query = *query_for_vector(*damaged, bytes_of({1, 2, 3})).value();
  for (const char* backend : {"cpu", "plain", "ranking"})
    for (const int64_t k : {10, 5000}) {
      SearchReport report;
      const auto answers = nearest(*test.searchers(damaged), {&query, 1}, k, {backend, {}}, report).value();
      for (const Neighbor& row : answers[0]) {
        EXPECT_FALSE(std::isnan(row.similarity));
        EXPECT_GT(norms[static_cast<size_t>(row.id)], 0);
      }
    }
}

TEST(Engine, TheReportSaysWhatWasDone) {
  TestEngine test;
  std::mt19937_64 random(1);
  const ModelPtr model = random_model(random, 640, 12, Rows::kGaussian);
  const Query query = *query_for_word(*model, "w5");
  SearchReport report;
  ASSERT_TRUE(nearest(*test.searchers(model), {&query, 1}, 10, {"cpu", {}}, report).ok());
  EXPECT_EQ(report.backend, "cpu");
  EXPECT_FALSE(report.device.empty());
  EXPECT_EQ(report.queries, 1);
  EXPECT_EQ(report.k, 10);
  EXPECT_EQ(report.cost.rows_scanned, 640);
  EXPECT_GE(report.cost.candidates, 10);
  EXPECT_GT(report.cost.bytes_scanned, 0);
  EXPECT_GE(report.total_us, report.cost.scan_us);
  EXPECT_EQ(nearest(*test.searchers(model), {}, 10, {}, report).value().size(), 0u);
  EXPECT_EQ(report.queries, 0);
}

// A cache counts an answer by its rows, so an answer must not keep the memory of its candidates.
TEST(KeepBest, FreesTheMemoryOfOtherCandidates) {
  const Query query;
  for (const double similarity : {0.5, kNoScore}) {
    std::vector<Neighbor> rows;
    for (int32_t id = 9999; id >= 0; --id) rows.push_back({id, similarity});
    keep_best(query, 10, rows);
    ASSERT_EQ(rows.size(), similarity == kNoScore ? 0u : 10u);
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].id, static_cast<int32_t>(i));
    EXPECT_LE(rows.capacity(), 4 * rows.size());
  }
}

}  // namespace
}  // namespace glove
