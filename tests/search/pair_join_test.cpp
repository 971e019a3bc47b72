// How a join divides its work among threads. What it finds is tested through SQL (tests/sql/pairs_test.py).
#include "search/pair_join.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/forked_child.h"
#include "tests/search/test_engine.h"

namespace glove {
namespace {

using namespace glove::testing;

constexpr int64_t kBlock = 1024;  // rows

// Rows that are each near the next one only.
class ChainSide : public JoinSide {
 public:
  ChainSide(int64_t rows, bool for_all_threads) : rows_(rows), for_all_threads_(for_all_threads) {}

  std::string_view name() const override { return "chain"; }
  RowMetric metric() const override { return RowMetric::kDot; }
  int64_t dims() const override { return 1; }
  int64_t rows() const override { return rows_; }
  int64_t id(int64_t position) const override { return position; }
  Result<MaybeQuery> query(int64_t position) override {
    return position % 100 == 7 ? MaybeQuery() : make_query({static_cast<float>(position)}, {}, metric());
  }
  Result<Answers> nearest(std::span<Query> queries, int64_t, int64_t first, const SearchOptions& options,
                          SearchReport&) override {
    ++asked;
    while (first / kBlock >= stands_still_at)
      if (options.interrupted()) return interrupted_error();
    if (first / kBlock == fails_at) return Error{ErrorCode::kUnavailable, "the block fails"};
    Answers answers;
    for (const Query& query : queries)
      answers.push_back({{static_cast<int64_t>(query.vector.front()) + 1, 1.0}});
    return answers;
  }
  Status check_unchanged() override { return {}; }
  bool is_for_all_threads() const override { return for_all_threads_; }

  std::atomic<int> asked = 0;     // searches
  int64_t stands_still_at = 100;  // block
  int64_t fails_at = 100;

 private:
  const int64_t rows_;
  const bool for_all_threads_;
};

class PairJoins : public ::testing::Test {
 protected:
  PairJoin join(ChainSide& side) { return {test_.engine, "test", side, nullptr, {.least = 0.5}, "cpu"}; }

  static bool comes_to(const std::atomic<int>& number, int wanted) {
    for (int i = 0; i < 10'000 && number < wanted; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return number == wanted;
  }

  TestEngine test_;
};

TEST_F(PairJoins, AreAlikeOnAnyThreads) {
  for (const int64_t rows : {int64_t{0}, int64_t{1}, kBlock, 9 * kBlock + 5})
    for (const bool for_all : {false, true}) {
      ChainSide side(rows, for_all);
      PairJoin pairs = join(side);
      int64_t row = 0;
      for (auto found = pairs.next({}); !found.value().empty(); found = pairs.next({}))
        for (const JoinedPair& pair : found.value()) {
          row += row % 100 == 7 ? 1 : 0;
          EXPECT_EQ(pair.a, row++);
          EXPECT_EQ(pair.b, row);
        }
      EXPECT_EQ(std::ssize(pairs.left_out()), (rows + 92) / 100);
      EXPECT_EQ(row + (row % 100 == 7 ? 1 : 0), rows);
    }
}

TEST_F(PairJoins, BlocksAreSearchedWhileTheCallerReads) {
  ChainSide side(9 * kBlock, true);
  PairJoin pairs = join(side);
  for (const int blocks : {2, 4, 6}) {
    EXPECT_FALSE(pairs.next({}).value().empty());
    EXPECT_TRUE(comes_to(side.asked, blocks)) << side.asked << " instead of " << blocks;
  }
  ChainSide slow(9 * kBlock, false);
  PairJoin one_by_one = join(slow);
  EXPECT_FALSE(one_by_one.next({}).value().empty());
  EXPECT_EQ(slow.asked, 1);
  ASSERT_TRUE(test_.engine.settings().set("threads", "1").ok());
  PairJoin alone = join(side);
  side.asked = 0;
  EXPECT_FALSE(alone.next({}).value().empty());
  EXPECT_EQ(side.asked, 1);
}

// The threads are the parent's.
TEST_F(PairJoins, AForkedChildCannotGoOn) {
  ChainSide side(9 * kBlock, true);
  side.stands_still_at = 1;
  PairJoin pairs = join(side);
  EXPECT_FALSE(pairs.next({}).value().empty());
  EXPECT_TRUE(holds_in_forked_child([&] {
    const auto found = pairs.next({});
    return !found.ok() && found.error().code == ErrorCode::kUnavailable;
  }));
}

TEST_F(PairJoins, CanBeStopped) {
  ChainSide side(9 * kBlock, true);
  side.stands_still_at = 0;
  PairJoin pairs = join(side);
  EXPECT_EQ(pairs.next([] { return true; }).error().code, ErrorCode::kInterrupted);
  ChainSide other(9 * kBlock, true);
  other.stands_still_at = 1;
  PairJoin left = join(other);  // while others search
  EXPECT_FALSE(left.next({}).value().empty());
}

TEST_F(PairJoins, AnErrorOfABlockIsTheJoins) {
  ChainSide side(9 * kBlock, true);
  side.fails_at = 3;
  PairJoin pairs = join(side);
  for (int block = 0; block < 3; ++block) EXPECT_FALSE(pairs.next({}).value().empty());
  EXPECT_EQ(pairs.next({}).error().message, "the block fails");
}

}  // namespace
}  // namespace glove
