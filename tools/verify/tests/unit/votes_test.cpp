#include "value/symbols.h"

#include "values.h"

namespace glove::verify {
namespace {

class VotesTest : public TableTest {
 protected:
  VotesTest() {
    for (Value& vote : votes) vote = table.fresh_predicate(Scope::kThread, true);
    ballot = table.ballot(votes);
    id = table.single(ballot);
  }
  Interval sum_of(std::vector<LinearTerm> terms, std::vector<PredicateId> facts) {
    VoteSum sum;
    for (const LinearTerm& term : terms) EXPECT_TRUE(sum.add(term, table));
    return sum.range(std::move(facts), table);
  }

  Votes votes;
  Value ballot;
  SymbolId id;
};

TEST_F(VotesTest, ABallotRemembersItsVotes) {
  ASSERT_NE(table.votes_of(id), nullptr);
  EXPECT_EQ((*table.votes_of(id))[31], votes[31]);
  EXPECT_EQ(table.votes_of(table.single(any())), nullptr);
}

TEST_F(VotesTest, ACountIsAtMostTheLanesOfItsMask) {
  const Value count = table.count_votes(id, 0x0000ff00);
  EXPECT_EQ(signed_range(count), (Interval{0, 8}));
  EXPECT_TRUE(table.counts_votes(table.single(count)));
  EXPECT_FALSE(table.counts_votes(id));
  EXPECT_EQ(table.count_votes(id, 0), number(0));
}

TEST_F(VotesTest, VotesThatAreKnownAreCounted) {
  votes[0] = number(1), votes[1] = number(0), votes[2] = number(1);
  const SymbolId other = table.single(table.ballot(votes));
  EXPECT_EQ(table.count_votes(other, 7), number(2));
  const Value count = table.count_votes(other, 15);
  EXPECT_EQ(signed_range(count), (Interval{2, 3}));
}

TEST_F(VotesTest, APopulationCountCountsVotes) {
  EXPECT_EQ(table.popcount_of_votes(ballot), table.count_votes(id, ~0u));
  const auto masked = table.masked_votes(ballot, 0xff);
  ASSERT_TRUE(masked);
  EXPECT_EQ(table.popcount_of_votes(*masked), table.count_votes(id, 0xff));
  EXPECT_FALSE(table.popcount_of_votes(any()));
}

TEST_F(VotesTest, AMaskOfAMaskKeepsWhatBothHave) {
  const auto masked = table.masked_votes(*table.masked_votes(ballot, 0xff), 0x1f0);
  ASSERT_TRUE(masked);
  EXPECT_EQ(table.popcount_of_votes(*masked), table.count_votes(id, 0xf0));
  EXPECT_EQ(table.masked_votes(*table.masked_votes(ballot, 0xff), 0xf00), number(0));
  EXPECT_FALSE(table.masked_votes(any(), 1));
}

TEST_F(VotesTest, OneVoteStandsAtItsPlace) {
  const auto vote = table.masked_votes(ballot, 0x10);
  ASSERT_TRUE(vote);
  EXPECT_EQ(*vote, table.scale(table.count_votes(id, 0x10), 16, 32));
  EXPECT_EQ(table.popcount_of_votes(*vote), table.count_votes(id, 0x10));
}

TEST_F(VotesTest, AShiftedBallotHasItsVotesLower) {
  const Value shifted = operation(Op::kShr, Type::kU32, ballot, number(4));
  EXPECT_EQ(table.popcount_of_votes(shifted), table.count_votes(id, 0xfffffff0));
  EXPECT_EQ(table.masked_votes(shifted, 1), table.count_votes(id, 0x10));
  EXPECT_FALSE(table.masked_votes(shifted, 3));
  EXPECT_FALSE(table.popcount_of_votes(operation(Op::kShr, Type::kS32, ballot, number(4))))
      << "copies the sign";
  EXPECT_FALSE(table.popcount_of_votes(operation(Op::kShr, Type::kU32, ballot, number(32))));
}

TEST_F(VotesTest, TheLastVoteOfAShiftIsCounted) {
  const Value shifted = operation(Op::kShr, Type::kU32, ballot, number(31));
  EXPECT_EQ(table.popcount_of_votes(shifted), table.count_votes(id, 0x80000000));
}

TEST_F(VotesTest, SumsTakeOnlyCounts) {
  VoteSum sum;
  EXPECT_TRUE(sum.empty());
  EXPECT_FALSE(sum.add({table.single(any()), 1}, table));
  EXPECT_TRUE(sum.empty());
  EXPECT_TRUE(sum.add({table.single(table.count_votes(id, 3)), 1}, table));
  EXPECT_FALSE(sum.empty());
}

TEST_F(VotesTest, TheVotesBelowTwoLanesDifferByThoseBetween) {
  const SymbolId below_8 = table.single(table.count_votes(id, 0xff));
  const SymbolId below_3 = table.single(table.count_votes(id, 0x07));
  EXPECT_EQ(sum_of({{below_8, 1}, {below_3, -1}}, {}), (Interval{0, 5}));
  EXPECT_EQ(sum_of({{below_8, 4}, {below_3, -4}}, {votes[5].form}), (Interval{4, 20}));
  EXPECT_EQ(sum_of({{below_8, 1}, {below_3, -1}}, {votes[5].form ^ 1}), (Interval{0, 4}));
  EXPECT_EQ(sum_of({{below_8, 1}, {below_3, -1}}, {votes[1].form}), (Interval{0, 5}));
}

TEST_F(VotesTest, CountsOfTwoBallotsDoNotCancel) {
  const SymbolId other = table.single(table.ballot(votes));
  const SymbolId a = table.single(table.count_votes(id, 7)), b = table.single(table.count_votes(other, 7));
  EXPECT_EQ(sum_of({{a, 1}, {b, -1}}, {}), (Interval{-3, 3}));
}

TEST_F(VotesTest, CountsMakeSumsLongerThanUnknownsMay) {
  Value sum = number(0);
  for (unsigned lane = 0; lane < 32; ++lane) sum = table.add(sum, table.count_votes(id, 1u << lane), 32);
  EXPECT_EQ(table.terms(sum.form).size(), 32u);
}

TEST_F(VotesTest, AComparisonWithOneVoteImpliesIt) {
  const Value vote = table.count_votes(id, 1u << 9);
  const Predicate& predicate = table.predicate(equal(vote, number(0)).form);
  EXPECT_EQ(predicate.implied[0], votes[9].form);
}

}  // namespace
}  // namespace glove::verify
