#include "value/reason.h"

#include "values.h"

namespace glove::verify {
namespace {

class ReasonTest : public TableTest {
 protected:
  std::optional<bool> truth(Value predicate, int lane = 0) {
    return Reasoner(table, facts.at(lane)).truth(predicate);
  }
  Interval range(Value value, bool as_signed = true) {
    return Reasoner(table, facts.at()).range(value, 32, as_signed);
  }
  Interval exact(Value value) { return Reasoner(table, facts.at()).exact_range(value); }

  Facts facts;
};

TEST_F(ReasonTest, KnownPredicatesAreWhatTheyAre) {
  EXPECT_EQ(truth(number(1)), true);
  EXPECT_EQ(truth(number(0)), false);
  EXPECT_EQ(truth(table.fresh_predicate(Scope::kThread, false)), std::nullopt);
}

TEST_F(ReasonTest, AFactIsTrueAndItsNegationFalse) {
  const Value p = table.fresh_predicate(Scope::kThread, false);
  facts.holds(p);
  EXPECT_EQ(truth(p), true);
  EXPECT_EQ(truth(SymbolTable::logical_not(p)), false);
}

TEST_F(ReasonTest, AFactOfOneLaneSaysNothingOfOthers) {
  const Value p = table.fresh_predicate(Scope::kThread, false);
  facts.holds_for(3, p);
  EXPECT_EQ(truth(p, 3), true);
  EXPECT_EQ(truth(p, 4), std::nullopt);
}

TEST_F(ReasonTest, FactsOfTheBlockHoldToo) {
  const Value p = table.fresh_predicate(Scope::kBlock, false);
  facts.holds(p);
  const Position position{nullptr, facts.path().get(), 0};
  EXPECT_EQ(Reasoner(table, position).truth(p), true);
}

TEST_F(ReasonTest, AConjunctionGivesItsParts) {
  const Value p = table.fresh_predicate(Scope::kThread, false),
              q = table.fresh_predicate(Scope::kThread, false);
  facts.holds(table.logical_and(p, q));
  EXPECT_EQ(truth(p), true);
  EXPECT_EQ(truth(q), true);
  EXPECT_EQ(Reasoner(table, facts.at()).facts().size(), 3u);
}

TEST_F(ReasonTest, AConjunctionThatFailsGivesNeitherPart) {
  const Value p = table.fresh_predicate(Scope::kThread, false),
              q = table.fresh_predicate(Scope::kThread, false);
  facts.fails(table.logical_and(p, q));
  EXPECT_EQ(truth(p), std::nullopt);
  EXPECT_EQ(truth(table.logical_and(p, q)), false);
}

TEST_F(ReasonTest, ConjunctionsAndExclusivesFollowFromTheirParts) {
  const Value p = table.fresh_predicate(Scope::kThread, false),
              q = table.fresh_predicate(Scope::kThread, false);
  facts.holds(p);
  EXPECT_EQ(truth(table.logical_and(p, q)), std::nullopt);
  EXPECT_EQ(truth(table.logical_or(p, q)), true);
  facts.fails(q);
  EXPECT_EQ(truth(table.logical_and(p, q)), false);
  EXPECT_EQ(truth(table.logical_xor(p, q)), true);
  EXPECT_EQ(truth(table.logical_xor(p, SymbolTable::logical_not(q))), false);
}

TEST_F(ReasonTest, SignedBoundsOnBothSides) {
  const Value x = any();
  facts.holds(less(x, number(10))).holds(at_most(number(-3), x));
  EXPECT_EQ(range(x), (Interval{-3, 9}));
  EXPECT_EQ(truth(less(x, number(10))), true);
  EXPECT_EQ(truth(less(x, number(9))), std::nullopt);
  EXPECT_EQ(truth(less(x, number(-3))), false);
}

TEST_F(ReasonTest, ANegatedBoundIsTheOppositeBound) {
  const Value x = any();
  facts.fails(less(x, number(10))).fails(less(number(20), x));
  EXPECT_EQ(range(x), (Interval{10, 20}));
}

TEST_F(ReasonTest, SmallWithoutASignIsNotNegative) {
  const Value x = any();
  facts.holds(below(x, number(10)));
  EXPECT_EQ(range(x), (Interval{0, 9}));
}

TEST_F(ReasonTest, LargeWithoutASignMayBeNegative) {
  const Value x = any();
  facts.fails(below(x, number(10)));
  EXPECT_EQ(range(x), Interval::of_signed(32));
  EXPECT_EQ(truth(less(number(0), x)), std::nullopt);
}

TEST_F(ReasonTest, LargeWithoutASignBoundsWhatIsNotNegative) {
  const Value x = in(0, 100);
  facts.fails(below(x, number(10)));
  EXPECT_EQ(range(x), (Interval{10, 100}));
}

TEST_F(ReasonTest, ABoundOf2To31WithoutASignLeavesNegativeNumbersOut) {
  const Value x = any();
  facts.holds(below(x, number(0x80000000)));
  EXPECT_EQ(range(x), (Interval{0, kTwo31 - 1}));
}

TEST_F(ReasonTest, ABoundBeyond2To31WithoutASignSaysNothing) {
  const Value x = any();
  facts.holds(below(x, number(0x80000001)));
  EXPECT_EQ(range(x), Interval::of_signed(32)) << "-2^31 is below it";
}

TEST_F(ReasonTest, AnOffsetThatWrapsIsTakenBack) {
  const Value x = any();
  facts.holds(below(table.add(x, number(5), 32), number(10)));  // -5 to 4
  EXPECT_EQ(range(x), (Interval{-5, 4}));
  const Value y = any();
  facts.holds(below(table.add(y, number(-5), 32), number(10)));
  EXPECT_EQ(range(y), (Interval{5, 14}));
}

TEST_F(ReasonTest, ABoundOfASumThatMayHaveWrappedIsAnAssumption) {
  const Value x = any();
  facts.holds(less(table.add(x, number(5), 32), number(10)));  // also 2^31 - 1
  EXPECT_EQ(range(x).hi, 4);
  EXPECT_TRUE(table.assumed(SymbolTable::NoWrap::kIndex));
}

TEST_F(ReasonTest, ABoundOfASumThatCannotHaveWrappedIsNone) {
  const Value x = in(-kTwo31, kTwo31 - 6), y = any(), z = any();
  facts.holds(less(table.add(x, number(5), 32), number(10))).holds(less(y, number(10)));
  facts.holds(equal(table.add(z, number(5), 32), number(10)));
  EXPECT_EQ(range(x).hi, 4);
  EXPECT_EQ(range(y).hi, 9);
  EXPECT_EQ(range(z), Interval::exactly(5));
  EXPECT_FALSE(table.assumed(SymbolTable::NoWrap::kIndex));
}

TEST_F(ReasonTest, AnUnsignedBoundOfOneNumberIsExact) {
  const Value x = any();
  facts.holds(below(table.add(x, number(5), 32), number(10)));
  EXPECT_EQ(range(x), (Interval{-5, 4}));
  EXPECT_FALSE(table.assumed(SymbolTable::NoWrap::kIndex));
}

TEST_F(ReasonTest, AnUnsignedBoundOfAMultipleIsAnAssumption) {
  const Value x = any();
  facts.holds(below(table.scale(x, 2, 32), number(10)));  // also -2^31
  EXPECT_EQ(range(x), (Interval{0, 4}));
  EXPECT_TRUE(table.assumed(SymbolTable::NoWrap::kIndex));
}

TEST_F(ReasonTest, EqualityGivesTheNumber) {
  const Value x = any();
  facts.holds(equal(x, number(-7)));
  EXPECT_EQ(range(x), Interval::exactly(-7));
  EXPECT_EQ(truth(equal(x, number(-7))), true);
  EXPECT_EQ(truth(equal(x, number(7))), false);
}

TEST_F(ReasonTest, EqualityWithoutASignGivesOnlySmallNumbers) {
  const auto is = [&](Value a, Value b) { return table.compare(CompareKind::kEq, false, false, 32, a, b); };
  const Value x = any(), y = any(), z = any();
  facts.holds(is(x, number(7))).holds(is(y, number(0x80000000))).holds(is(z, number(0x7fffffff)));
  EXPECT_EQ(range(x), Interval::exactly(7));
  EXPECT_EQ(range(y), Interval::of_signed(32));
  EXPECT_EQ(range(z), Interval::exactly(kTwo31 - 1));
}

TEST_F(ReasonTest, EqualityOfOneNumberWithSeveralIsOpen) {
  EXPECT_EQ(truth(equal(in(5, 5), number(5))), true);
  EXPECT_EQ(truth(equal(in(5, 5), in(3, 9))), std::nullopt);
  EXPECT_EQ(truth(equal(in(5, 6), in(5, 6))), std::nullopt);
  EXPECT_EQ(truth(equal(in(5, 6), in(7, 9))), false);
}

TEST_F(ReasonTest, InequalityMovesOnlyAnEndOfTheRange) {
  const Value x = in(0, 9);
  facts.fails(equal(x, number(0)));
  EXPECT_EQ(range(x), (Interval{1, 9}));
  facts.fails(equal(x, number(5)));
  EXPECT_EQ(range(x), (Interval{1, 9}));
  facts.fails(equal(x, number(9)));
  EXPECT_EQ(range(x), (Interval{1, 8}));
}

TEST_F(ReasonTest, InequalitiesThatCameInTheWrongOrderAreAllUsed) {
  const Value x = in(0, 9);
  for (const int y : {3, 2, 1, 0}) facts.fails(equal(x, number(y)));
  EXPECT_EQ(range(x), (Interval{4, 9}));
  const Value z = in(0, 9);
  for (const int y : {0, 1, 2, 3}) facts.fails(equal(z, number(y)));
  EXPECT_EQ(range(z), (Interval{4, 9}));
}

TEST_F(ReasonTest, FactorsAreDividedOutTowardsTheInside) {
  const Value x = any();
  facts.holds(less(table.scale(x, 3, 32), number(10))).holds(less(number(-10), table.scale(x, 3, 32)));
  EXPECT_EQ(range(x), (Interval{-3, 3}));
  const Value y = any();
  facts.holds(less(table.scale(y, -3, 32), number(10)));
  EXPECT_EQ(range(y).lo, -3);
}

TEST_F(ReasonTest, AnotherUnknownBoundsByItsRange) {
  const Value x = any(), y = in(0, 7);
  facts.holds(less(x, y));
  EXPECT_EQ(range(x).hi, 6);
  EXPECT_EQ(range(x).lo, -kTwo31);
}

TEST_F(ReasonTest, RangesOfSumsThatMayWrapAreEverything) {
  const Value x = in(0, kTwo31 - 1);
  EXPECT_EQ(range(table.add(x, number(1), 32)), Interval::of_signed(32));
  EXPECT_EQ(exact(table.add(x, number(1), 32)), (Interval{1, kTwo31}));
  facts.holds(less(x, number(0x7fffffff)));
  EXPECT_EQ(range(table.add(x, number(1), 32)), (Interval{1, kTwo31 - 1}));
}

TEST_F(ReasonTest, LoopCountersAreTakenNotToWrap) {
  const Value counter = in(0, kTwo31 - 1);
  table.change(table.single(counter)).kind = SymbolKind::kIteration;
  EXPECT_EQ(range(table.add(counter, number(1), 32)), (Interval{1, kTwo31 - 1}));
}

TEST_F(ReasonTest, AFactAboutASumBoundsTheSum) {
  const Value x = any(), y = any(), sum = table.add(x, y, 32);
  facts.holds(below(sum, number(100)));
  EXPECT_EQ(range(sum), (Interval{0, 99}));
  EXPECT_EQ(range(table.add(sum, number(1), 32)), (Interval{1, 100}));
  EXPECT_EQ(range(x), Interval::of_signed(32));
}

TEST_F(ReasonTest, AComparisonBoundsTheDifference) {
  const Value y = in(0, 1000), x = in(0, 1000);
  facts.holds(less(x, y));
  EXPECT_EQ(exact(table.subtract(y, x, 64)), (Interval{1, 1000}));
  EXPECT_EQ(exact(table.subtract(x, y, 64)), (Interval{-1000, -1}));
  EXPECT_EQ(exact(table.scale(table.subtract(y, x, 64), 4, 64)).lo, 4);
  EXPECT_EQ(exact(table.scale(table.subtract(y, x, 64), -4, 64)).hi, -4);
}

TEST_F(ReasonTest, AComparisonThatFailsAllowsEquality) {
  const Value x = in(0, 1000), y = in(0, 1000);
  facts.fails(less(x, y));
  EXPECT_EQ(exact(table.subtract(x, y, 64)), (Interval{0, 1000}));
}

TEST_F(ReasonTest, ContradictoryFactsLeaveNothing) {
  const Value x = any();
  facts.holds(less(x, number(0))).holds(less(number(5), x));
  EXPECT_TRUE(range(x).empty() || Reasoner(table, facts.at()).symbol_range(table.single(x)).empty());
}

TEST_F(ReasonTest, EqualFormsDifferByTheirConstants) {
  const Value x = any();
  EXPECT_EQ(truth(equal(table.add(x, number(1), 32), x)), false);
  EXPECT_EQ(truth(equal(table.add(x, number(1), 32), table.add(x, number(1), 32))), true);
}

TEST_F(ReasonTest, ComparisonsAtTheEndsOfARange) {
  const Value x = in(3, 5);
  EXPECT_EQ(truth(at_most(x, number(5))), true);
  EXPECT_EQ(truth(at_most(x, number(4))), std::nullopt);
  EXPECT_EQ(truth(at_most(x, number(2))), false);
  EXPECT_EQ(truth(below(x, number(6))), true);
  EXPECT_EQ(truth(below(x, number(3))), false);
  EXPECT_EQ(truth(up_to(number(3), x)), true);
}

TEST_F(ReasonTest, SignedAndUnsignedComparisonsDifferBelowZero) {
  const Value x = in(-3, -1);
  EXPECT_EQ(truth(less(x, number(0))), true);
  EXPECT_EQ(truth(below(x, number(0))), false);
}

TEST_F(ReasonTest, ASelectionIsWhatItsConditionChooses) {
  const Value p = table.fresh_predicate(Scope::kThread, false), x = in(0, 3);
  const Value chosen = select(p, x, number(50));
  EXPECT_EQ(range(chosen), (Interval{0, 50}));
  const Value plus = table.add(table.scale(chosen, 4, 32), number(1), 32);
  EXPECT_EQ(Reasoner(table, facts.at()).simplify(plus, 32), plus);
  facts.holds(p);
  EXPECT_EQ(range(chosen), (Interval{0, 3}));
  EXPECT_EQ(Reasoner(table, facts.at()).simplify(plus, 32), table.add(table.scale(x, 4, 32), number(1), 32));
}

TEST_F(ReasonTest, ASelectionOfANegativeNumberStaysNegativeIn64Bits) {
  const Value p = table.fresh_predicate(Scope::kThread, false);
  const Value chosen = select(p, any(), number(-1));
  facts.fails(p);
  EXPECT_EQ(Reasoner(table, facts.at()).simplify(chosen, 64).constant, ~uint64_t{0});
}

TEST_F(ReasonTest, SimplifyUnderAddsACondition) {
  const Value p = table.fresh_predicate(Scope::kThread, false), x = any();
  const Value chosen = select(p, x, number(50));
  const Reasoner reasoner(table, facts.at());
  EXPECT_EQ(reasoner.simplify_under(p.form, chosen, 32), x);
  EXPECT_EQ(reasoner.simplify_under(p.form ^ 1, chosen, 32), number(50));
  EXPECT_EQ(reasoner.simplify(chosen, 32), chosen);
}

TEST_F(ReasonTest, EachSideOfASelectionIsBoundedByItsCondition) {
  const Value x = any();
  const Value clamped = select(less(x, number(0)), number(0), x);
  EXPECT_EQ(range(clamped), (Interval{0, kTwo31 - 1}));
  const Value twice = select(less(clamped, number(9)), clamped, number(9));
  EXPECT_EQ(range(twice).hi, 9);
}

TEST_F(ReasonTest, ExtensionsOfSelectionsAreSimplifiedInside) {
  const Value p = table.fresh_predicate(Scope::kThread, false);
  const Value wide = table.zero_extended(select(p, number(7), number(-1)), 32);
  facts.holds(p);
  EXPECT_EQ(Reasoner(table, facts.at()).simplify(wide, 64), number(7, 64));
}

TEST_F(ReasonTest, LeastAndGreatestFollowTheirArguments) {
  const Value x = any();
  const Value least = operation(Op::kMin, Type::kS32, x, number(100));
  const Value greatest = operation(Op::kMax, Type::kS32, x, number(0));
  facts.holds(less(number(10), x)).holds(less(x, number(50)));
  EXPECT_EQ(range(least), (Interval{11, 49}));
  EXPECT_EQ(range(greatest), (Interval{11, 49}));
  EXPECT_EQ(range(operation(Op::kMin, Type::kU32, x, number(20))), (Interval{11, 20}));
  EXPECT_EQ(range(operation(Op::kMax, Type::kU32, x, number(20))), (Interval{20, 49}));
}

TEST_F(ReasonTest, TheLeastOfANumberAndAnythingIsNotAbove) {
  const Value x = in(11, 49);
  EXPECT_EQ(range(operation(Op::kMin, Type::kU32, x, any())), (Interval{0, 49}));
  EXPECT_EQ(range(operation(Op::kMax, Type::kU32, x, any())), Interval::of_signed(32));
}

TEST_F(ReasonTest, ExtensionsFollowTheirSign) {
  const Value x = any();
  const Value unsigned_wide = table.operation(Op::kConvert, Type::kU64, 32, 64, {x, {}, {}});
  const Value signed_wide = table.operation(Op::kConvert, Type::kS64, 32, 64, {x, {}, {}});
  facts.holds(less(x, number(10)));
  EXPECT_EQ(Reasoner(table, facts.at()).range(unsigned_wide, 64, false), (Interval{0, kTwo32 - 1}));
  EXPECT_EQ(Reasoner(table, facts.at()).range(signed_wide, 64, true), (Interval{-kTwo31, 9}));
  facts.holds(less(number(2), x));
  EXPECT_EQ(Reasoner(table, facts.at()).range(unsigned_wide, 64, false), (Interval{3, 9}));
}

TEST_F(ReasonTest, ANumberThatIsNotFiveMayBeZero) {
  const Value x = any();
  facts.fails(equal(x, number(5)));
  EXPECT_EQ(range(operation(Op::kFindBit, Type::kU32, x)), (Interval{-1, 31}));
}

TEST_F(ReasonTest, ShiftsAndQuotientsOfNaturalNumbers) {
  const Value x = any();
  facts.holds(below(x, number(100)));
  EXPECT_EQ(range(operation(Op::kShr, Type::kU32, x, number(3))), (Interval{0, 12}));
  EXPECT_EQ(range(operation(Op::kDiv, Type::kS32, x, number(7))), (Interval{0, 14}));
  EXPECT_EQ(range(operation(Op::kDiv, Type::kS32, x, number(-1))), Interval::of_signed(32));
}

TEST_F(ReasonTest, TheFirstBitOfANumberThatIsNotZeroExists) {
  const Value x = any(), place = operation(Op::kFindBit, Type::kU32, x);
  EXPECT_EQ(range(place), (Interval{-1, 31}));
  facts.fails(equal(x, number(0)));
  EXPECT_EQ(range(place), (Interval{0, 31}));
  EXPECT_EQ(range(operation(Op::kCountLeadingZeros, Type::kB32, operation(Op::kBitReverse, Type::kB32, x))),
            (Interval{0, 31}));
  EXPECT_EQ(truth(equal(operation(Op::kBitReverse, Type::kB32, x), number(0))), false);
}

TEST_F(ReasonTest, ABallotWithAYesIsNotZero) {
  Votes votes;
  for (Value& vote : votes) vote = table.fresh_predicate(Scope::kThread, true);
  const Value ballot = table.ballot(votes);
  EXPECT_EQ(truth(equal(ballot, number(0))), std::nullopt);
  facts.holds(votes[17]);
  EXPECT_EQ(truth(equal(ballot, number(0))), false);
  votes[3] = number(1);
  EXPECT_EQ(Reasoner(table, {}).truth(equal(table.ballot(votes), number(0))), false);
}

TEST_F(ReasonTest, CountsOfVotesFollowTheFacts) {
  Votes votes;
  for (Value& vote : votes) vote = table.fresh_predicate(Scope::kThread, true);
  const Value count = table.count_votes(table.single(table.ballot(votes)), 0xf);
  EXPECT_EQ(exact(count), (Interval{0, 4}));
  facts.holds(votes[1]).fails(votes[2]);
  EXPECT_EQ(exact(count), (Interval{1, 3}));
  EXPECT_EQ(range(table.add(count, number(1), 32)), (Interval{2, 4}));
}

TEST_F(ReasonTest, WhatAComparisonImpliesIsAFact) {
  const Value p = table.fresh_predicate(Scope::kThread, false);
  facts.holds(at_most(number(0), select(p, in(0, 5), number(-1))));
  EXPECT_EQ(truth(p), true);
}

TEST_F(ReasonTest, ALongPathEndsWithoutRecursion) {
  PathPointer path;
  const Value p = table.fresh_predicate(Scope::kThread, false);
  for (int i = 0; i < 300000; ++i) path = extend(std::move(path), p.form, 0);
  const PathPointer middle = path->parent->parent;
  path.reset();
  EXPECT_EQ(middle->everyone, p.form);
  EXPECT_EQ(middle.use_count(), 1);
}

}  // namespace
}  // namespace glove::verify
