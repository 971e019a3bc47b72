// Requests in a batch, the merge of ranked answers, and searchers that are made of searchers.
#include "search/searcher.h"

#include <gtest/gtest.h>

#include "base/float_environment.h"
#include "search/candidates.h"
#include "search/nearest.h"
#include "tests/loader/random.h"
#include "tests/search/decorators.h"
#include "tests/search/random_model.h"
#include "tests/search/reference.h"
#include "tests/search/test_engine.h"

namespace glove {
namespace {

using namespace glove::testing;

Query random_query(std::mt19937_64& random, const Model& model) {
  return query_for_vector(model, bytes_of(random_vector(random, model.dims(), Rows::kGaussian)))
      .value()
      .value();
}

TEST(Merge, IsTheSortOfAllRows) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (int run = 0; run < 300; ++run) {
    std::vector<std::vector<Neighbor>> answers(random() % 6);
    std::vector<Neighbor> all;
    for (int32_t id = 0; id < static_cast<int32_t>(random() % 50) && !answers.empty(); ++id) {
      const Neighbor row{id, static_cast<double>(random() % 5) / 4};  // ties are common
      answers[random() % answers.size()].push_back(row);
      all.push_back(row);
    }
    for (auto& answer : answers) std::sort(answer.begin(), answer.end(), ranks_before);
    std::sort(all.begin(), all.end(), ranks_before);
    const std::vector<std::span<const Neighbor>> ranked(answers.begin(), answers.end());
    for (const int64_t k : {int64_t{0}, int64_t{1}, int64_t{7}, INT64_MAX}) {
      const auto kept = static_cast<size_t>(std::min<int64_t>(k, static_cast<int64_t>(all.size())));
      ASSERT_EQ(difference(merge_ranked(ranked, k), std::span(all).first(kept)), "") << "k " << k;
    }
  }
}

TEST(Requests, ShareWhatTheyCostTogether) {
  std::vector<SearchRequest> requests(3);
  requests[1].cost.candidates = 5;
  ScanCost shared;
  shared.rows_scanned = 10;
  shared.scan_us = 6;
  charge(requests, shared);
  EXPECT_EQ(requests[0].cost.rows_scanned, 4);
  EXPECT_EQ(requests[1].cost.rows_scanned, 3);
  EXPECT_EQ(requests[2].cost.rows_scanned, 3);
  EXPECT_EQ(requests[1].cost.candidates, 5);
  EXPECT_EQ(requests[2].cost.scan_us, 2);
}

// Each request has its own k and interrupt; the one that is interrupted does not fail the others.
TEST(Requests, HaveTheirOwnKAndInterrupt) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  const ModelPtr model = random_model(random, 3000, 20, Rows::kMixed);
  const auto backend = make_cpu_backend();
  const auto searcher = backend->open(model, {}).value();
  std::vector<Query> queries;
  for (int i = 0; i < 4; ++i) queries.push_back(random_query(random, *model));
  const InterruptCheck stop = [] { return true; };
  const InterruptCheck go_on = [] { return false; };
  std::vector<SearchRequest> requests;
  for (size_t i = 0; i < queries.size(); ++i)
    requests.push_back({&queries[i], static_cast<int64_t>(1 + 9 * i), {i == 2 ? &stop : &go_on}, {}, {}, {}});
  const ScopedFloatEnvironment float_environment;
  ASSERT_TRUE(searcher->search(requests).ok());
  for (size_t i = 0; i < queries.size(); ++i) {
    if (i == 2) {
      EXPECT_EQ(requests[i].status.error().code, ErrorCode::kInterrupted);
      continue;
    }
    ASSERT_TRUE(requests[i].status.ok());
    const auto relation = reference_relation(*model, queries[i]);
    EXPECT_EQ(difference(requests[i].rows, std::span(relation).first(1 + 9 * i)), "");
  }
  for (SearchRequest& request : requests) request = {request.query, 5, {&stop}, {}, {}, {}};
  EXPECT_EQ(searcher->search(requests).error().code, ErrorCode::kInterrupted);
}

TEST(Decorators, PartsOfAModelAnswerAsTheWhole) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const Rows kind : {Rows::kMixed, Rows::kDuplicates}) {
    const ModelPtr model = random_model(random, 2001, 9, kind);
    for (const int64_t parts : {1, 2, 7}) {
      Engine engine;
      engine.backends().add(std::make_unique<SplittingBackend>(make_cpu_backend(), parts));
      ModelSearchers searchers(engine, model);
      std::vector<Query> queries;
      for (int i = 0; i < 3; ++i) queries.push_back(random_query(random, *model));
      for (int32_t id = 0; id < 2001; id += 17) queries[0].excluded.push_back(id);
      for (const int64_t k : {1, 10, 100, 2001}) {
        SearchReport report;
        const auto answers = nearest(searchers, queries, k, {"split", {}}, report);
        ASSERT_TRUE(answers.ok()) << answers.error().message;
        for (size_t i = 0; i < queries.size(); ++i) {
          const auto relation = reference_relation(*model, queries[i]);
          const auto kept = std::min(relation.size(), static_cast<size_t>(k));
          EXPECT_EQ(difference(answers.value()[i], std::span(relation).first(kept)), "")
              << parts << ", " << k;
        }
      }
    }
  }
}

}  // namespace
}  // namespace glove
