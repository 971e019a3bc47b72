// Every long loop stops when it is asked to.
#include <gtest/gtest.h>

#include <numeric>

#include "search/nearest.h"
#include "tests/search/random_model.h"
#include "tests/search/reference.h"
#include "tests/search/test_engine.h"

namespace glove {
namespace {

using namespace glove::testing;

class Interrupt : public ::testing::Test {
 protected:
  // Runs `work` repeatedly, stopped at its first check, at its second, ..., until it completes. Returns the
  // checks that it took, or -1 after another error.
  template <class Work>
  int checks_of(Work work) {
    for (int allowed = 0;; ++allowed) {
      int left = allowed;
      const SearchOptions options{"cpu", [&left] { return left-- <= 0; }};
      const auto result = work(options);
      if (result.ok()) return allowed;
      if (result.error().code != ErrorCode::kInterrupted) {
        ADD_FAILURE() << result.error().message;
        return -1;
      }
    }
  }

  std::mt19937_64 random_{1};
  ModelPtr model_ = random_model(random_, 30000, 20, Rows::kGaussian);
  TestEngine test_;
  ModelSearchersPtr searchers_ = test_.searchers(model_);
  Query query_ = *query_for_word(*model_, "w1");
  SearchReport report_;
};

TEST_F(Interrupt, StopsAScan) {
  EXPECT_GE(checks_of([&](const SearchOptions& options) {
              return nearest(*searchers_, {&query_, 1}, 10, options, report_);
            }),
            1);
}

// In each of its steps, all of which run on the pool: quantising, scanning, scoring and ranking.
TEST_F(Interrupt, StopsABatch) {
  const std::vector<Query> queries(50, query_);
  EXPECT_GE(checks_of([&](const SearchOptions& options) {
              return nearest(*searchers_, queries, 10, options, report_);
            }),
            4);
}

TEST_F(Interrupt, StopsAFullPassAndItsSort) {
  const int pass = checks_of(
      [&](const SearchOptions& options) { return all_rows(*searchers_, query_, options, report_); });
  EXPECT_GE(pass, 1);
  EXPECT_GT(checks_of([&](const SearchOptions& options) {
              return nearest(*searchers_, {&query_, 1}, 30000, options, report_);
            }),
            pass + 3);
}

TEST_F(Interrupt, StopsRankOf) {
  const Neighbor row = reference_relation(*model_, query_)[17];
  EXPECT_GE(checks_of([&](const SearchOptions& options) {
              return rank_of(*searchers_, query_, row, options, report_);
            }),
            1);
}

TEST_F(Interrupt, StopsAListOfWords) {
  std::vector<int64_t> ids(30000);
  std::iota(ids.begin(), ids.end(), 0);
  EXPECT_GE(checks_of([&](const SearchOptions& options) {
              return score_words(*model_, query_, ids, options.interrupted);
            }),
            7);
}

}  // namespace
}  // namespace glove
