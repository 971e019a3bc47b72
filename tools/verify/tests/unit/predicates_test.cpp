// Conditions, and what is known of the results of operations: value/predicates.cpp.
#include "values.h"

namespace glove::verify {
namespace {

using PredicatesTest = TableTest;
using RangesTest = TableTest;

TEST_F(PredicatesTest, EqualComparisonsAreOnePredicate) {
  const Value x = any();
  EXPECT_EQ(less(x, number(3)), less(x, number(3)));
  EXPECT_NE(less(x, number(3)), below(x, number(3)));
  EXPECT_NE(less(x, number(3)), at_most(x, number(3)));
}

TEST_F(PredicatesTest, NotIsItsOwnInverse) {
  const Value p = less(any(), number(3));
  EXPECT_NE(SymbolTable::logical_not(p), p);
  EXPECT_EQ(SymbolTable::logical_not(SymbolTable::logical_not(p)), p);
  EXPECT_EQ(SymbolTable::logical_not(number(1)), number(0));
}

TEST_F(PredicatesTest, AndSimplifies) {
  const Value p = less(any(), number(3)), q = less(any(), number(4));
  EXPECT_EQ(table.logical_and(p, number(1)), p);
  EXPECT_EQ(table.logical_and(number(0), p), number(0));
  EXPECT_EQ(table.logical_and(p, p), p);
  EXPECT_EQ(table.logical_and(p, SymbolTable::logical_not(p)), number(0));
  EXPECT_EQ(table.logical_and(p, q), table.logical_and(q, p));
}

TEST_F(PredicatesTest, OrSimplifies) {
  const Value p = less(any(), number(3));
  EXPECT_EQ(table.logical_or(p, number(0)), p);
  EXPECT_EQ(table.logical_or(p, number(1)), number(1));
  EXPECT_EQ(table.logical_or(p, SymbolTable::logical_not(p)), number(1));
}

TEST_F(PredicatesTest, XorSimplifiesAndCarriesNegations) {
  const Value p = less(any(), number(3)), q = less(any(), number(4));
  const Value not_p = SymbolTable::logical_not(p);
  EXPECT_EQ(table.logical_xor(p, p), number(0));
  EXPECT_EQ(table.logical_xor(p, not_p), number(1));
  EXPECT_EQ(table.logical_xor(p, number(1)), not_p);
  EXPECT_EQ(table.logical_xor(number(0), q), q);
  EXPECT_EQ(table.logical_xor(not_p, q), SymbolTable::logical_not(table.logical_xor(p, q)));
  EXPECT_EQ(table.logical_xor(not_p, SymbolTable::logical_not(q)), table.logical_xor(q, p));
}

TEST_F(PredicatesTest, AConjunctionOfTooManyPartsIsASymbol) {
  Value all = number(1);
  for (int i = 0; i < 2000 && (all.known() || table.predicate(all.form).kind != PredicateKind::kSymbol); ++i)
    all = table.logical_and(all, less(any(), number(3)));
  EXPECT_EQ(table.predicate(all.form).kind, PredicateKind::kSymbol);
  EXPECT_EQ(table.predicate(all.form).parts, 1u);
}

TEST_F(PredicatesTest, FreshPredicatesAreUnrelated) {
  EXPECT_NE(table.fresh_predicate(Scope::kThread, false), table.fresh_predicate(Scope::kThread, false));
  EXPECT_TRUE(table.predicate(table.fresh_predicate(Scope::kGrid, true).form).data);
}

TEST_F(PredicatesTest, AComparisonWithASelectionImpliesWhatWasSelected) {
  const Value p = less(any(), number(3));
  const Value chosen = select(p, any(), number(-1));
  const Predicate& natural = table.predicate(at_most(number(0), chosen).form);
  EXPECT_EQ(natural.implied[1], p.form);
  EXPECT_EQ(natural.implied[0], 0u);
  const Predicate& negative = table.predicate(less(chosen, number(0)).form);
  EXPECT_EQ(negative.implied[0], p.form);
  EXPECT_EQ(negative.implied[1], 0u);
}

TEST_F(PredicatesTest, WithoutASignMinusOneIsTheGreatestNumber) {
  const Value p = less(any(), number(3));
  const Value chosen = select(p, any(), number(-1));
  EXPECT_EQ(table.predicate(below(chosen, number(100)).form).implied[1], p.form);
  EXPECT_EQ(table.predicate(less(chosen, number(100)).form).implied[1], 0u);
}

TEST_F(PredicatesTest, AComparisonWithTheSelectedNumberItselfIsStrictOrNot) {
  const Value p = less(any(), number(3));
  const Value chosen = select(p, any(), number(-1));
  const Predicate& strict = table.predicate(less(chosen, number(-1)).form);
  EXPECT_EQ(strict.implied[1], p.form);
  EXPECT_EQ(strict.implied[0], 0u);
  const Predicate& equal_too = table.predicate(at_most(chosen, number(-1)).form);
  EXPECT_EQ(equal_too.implied[0], p.form);
  EXPECT_EQ(equal_too.implied[1], 0u);
}

TEST_F(RangesTest, OfNumbersAreTheNumbers) {
  EXPECT_EQ(signed_range(number(-5)), Interval::exactly(-5));
  EXPECT_EQ(unsigned_range(number(-5)), Interval::exactly(kTwo32 - 5));
}

TEST_F(RangesTest, OfSumsThatMayWrapAreEverything) {
  const Value x = in(0, kTwo31 - 1);
  EXPECT_EQ(signed_range(table.add(x, number(1), 32)), Interval::of_signed(32));
  EXPECT_EQ(unsigned_range(table.add(x, number(1), 32)), (Interval{1, kTwo31}));
  EXPECT_EQ(unsigned_range(table.scale(x, 4, 32)), Interval::of_unsigned(32));
  EXPECT_EQ(table.exact_base_range(table.scale(x, 4, 64), 64), (Interval{0, 4 * (kTwo31 - 1)}));
}

TEST_F(RangesTest, OfFreshNumbersWithARangeDoNotExceedTheirBits) {
  EXPECT_EQ(symbol(in(-1000, 1000, 8)).range, (Interval{-128, 127}));
  EXPECT_EQ(symbol(in(-1, 5)).unsigned_range, Interval::of_unsigned(32));
  EXPECT_EQ(symbol(in(2, 5)).unsigned_range, (Interval{2, 5}));
}

TEST_F(RangesTest, OfMasksAreTheMasksAndTheirLowestBit) {
  const Value masked = operation(Op::kAnd, Type::kB32, any(), number(0xf0));
  EXPECT_EQ(symbol(masked).range, (Interval{0, 0xf0}));
  EXPECT_EQ(symbol(masked).stride, 16u);
  const Value high = operation(Op::kAnd, Type::kB32, number(0xfffffff0), any());
  EXPECT_EQ(symbol(high).range, Interval::of_signed(32)) << "it may be negative";
  EXPECT_EQ(symbol(high).unsigned_range, (Interval{0, 0xfffffff0}));
}

TEST_F(RangesTest, OfShiftsToTheRight) {
  EXPECT_EQ(symbol(operation(Op::kShr, Type::kU32, any(), number(28))).range, (Interval{0, 15}));
  EXPECT_EQ(symbol(operation(Op::kShr, Type::kS32, any(), number(28))).range, (Interval{-8, 7}));
  EXPECT_EQ(symbol(operation(Op::kShr, Type::kS32, in(-5, 5), number(1))).range, (Interval{-3, 2}));
  EXPECT_EQ(symbol(operation(Op::kShr, Type::kU32, any(), number(0))).range, Interval::of_signed(32));
  EXPECT_EQ(symbol(operation(Op::kShr, Type::kU32, any(), number(32))).range, Interval::of_signed(32));
}

TEST_F(RangesTest, OfRemainders) {
  EXPECT_EQ(symbol(operation(Op::kRem, Type::kU32, any(), number(10))).range, (Interval{0, 9}));
  EXPECT_EQ(symbol(operation(Op::kRem, Type::kS32, any(), number(10))).range, (Interval{-9, 9}));
  EXPECT_EQ(symbol(operation(Op::kRem, Type::kS32, in(0, 99), number(-10))).range, (Interval{0, 9}));
  EXPECT_EQ(symbol(operation(Op::kRem, Type::kU32, any(), number(0))).range, Interval::of_signed(32));
  EXPECT_EQ(symbol(operation(Op::kRem, Type::kU32, any(), number(0x80000000))).range,
            (Interval{0, kTwo31 - 1}));
}

TEST_F(RangesTest, OfQuotients) {
  EXPECT_EQ(symbol(operation(Op::kDiv, Type::kU32, any(), number(4))).range, (Interval{0, (1 << 30) - 1}));
  EXPECT_EQ(symbol(operation(Op::kDiv, Type::kS32, in(-7, 7), number(2))).range, (Interval{-3, 3}));
  EXPECT_EQ(symbol(operation(Op::kDiv, Type::kU32, any(), number(1))).range, Interval::of_signed(32));
  EXPECT_EQ(symbol(operation(Op::kDiv, Type::kS32, any(), number(0))).range, Interval::of_signed(32));
  EXPECT_EQ(symbol(operation(Op::kDiv, Type::kS32, any(), number(-1))).range, Interval::of_signed(32));
}

TEST_F(RangesTest, OfLeastAndGreatest) {
  EXPECT_EQ(symbol(operation(Op::kMin, Type::kS32, any(), number(9))).range, (Interval{-kTwo31, 9}));
  EXPECT_EQ(symbol(operation(Op::kMin, Type::kU32, any(), number(9))).range, (Interval{0, 9}));
  EXPECT_EQ(symbol(operation(Op::kMax, Type::kS32, in(-5, 3), number(0))).range, (Interval{0, 3}));
  EXPECT_EQ(symbol(operation(Op::kMax, Type::kS32, in(-5, 3), in(-2, 1))).range, (Interval{-2, 3}));
  EXPECT_EQ(symbol(operation(Op::kMin, Type::kS32, in(-5, 3), in(-2, 1))).range, (Interval{-5, 1}));
  EXPECT_EQ(symbol(operation(Op::kMax, Type::kU32, any(), number(9))).unsigned_range,
            (Interval{9, kTwo32 - 1}));
}

TEST_F(RangesTest, OfSelectionsCoverBothSides) {
  const Value chosen = select(less(any(), number(3)), number(5), in(-2, 1));
  EXPECT_EQ(symbol(chosen).range, (Interval{-2, 5}));
  EXPECT_EQ(symbol(chosen).unsigned_range, Interval::of_unsigned(32));
}

TEST_F(RangesTest, OfOperationsThatLookAtBits) {
  EXPECT_EQ(symbol(operation(Op::kPopCount, Type::kB32, any())).range, (Interval{0, 32}));
  EXPECT_EQ(symbol(operation(Op::kPopCount, Type::kB64, any(64))).range, (Interval{0, 64}));
  EXPECT_EQ(symbol(operation(Op::kCountLeadingZeros, Type::kB32, any())).range, (Interval{0, 32}));
  EXPECT_EQ(symbol(operation(Op::kFindBit, Type::kU32, any())).range, (Interval{-1, 31}));
  EXPECT_EQ(symbol(operation(Op::kBitExtract, Type::kU32, any(), number(8), number(4))).range,
            (Interval{0, 15}));
  EXPECT_EQ(symbol(operation(Op::kBitExtract, Type::kS32, any(), number(8), number(4))).range,
            Interval::of_signed(32));
}

TEST_F(RangesTest, OfNarrowLoads) {
  EXPECT_EQ(symbol(table.loaded(Type::kU8, 0, 32, any(64))).range, (Interval{0, 255}));
  EXPECT_EQ(symbol(table.loaded(Type::kS8, 0, 32, any(64))).range, (Interval{-128, 127}));
  EXPECT_EQ(symbol(table.loaded(Type::kU32, 0, 32, any(64))).range, Interval::of_signed(32));
}

TEST_F(RangesTest, DataTakeEveryValueThroughSomeOperations) {
  const Value x = table.fresh(32, Scope::kThread, true);
  const auto all = [&](Value value) { return takes_every_value(value, table); };
  EXPECT_TRUE(all(x));
  EXPECT_FALSE(all(any()));
  EXPECT_FALSE(all(table.add(x, table.fresh(32, Scope::kThread, true), 32)));
  EXPECT_TRUE(all(operation(Op::kAnd, Type::kB32, x, number(0x3c))));
  EXPECT_FALSE(all(operation(Op::kAnd, Type::kB32, x, number(0x35))));
  EXPECT_FALSE(all(operation(Op::kAnd, Type::kB32, any(), number(0x3c))));
  EXPECT_TRUE(all(operation(Op::kAnd, Type::kB32, table.scale(x, 4, 32), number(0x3c))));
  EXPECT_FALSE(all(operation(Op::kAnd, Type::kB32, table.scale(x, 8, 32), number(0x3c))));
  EXPECT_TRUE(all(operation(Op::kRem, Type::kU32, x, number(10))));
  EXPECT_FALSE(all(operation(Op::kRem, Type::kS32, x, number(10))));
  EXPECT_FALSE(all(operation(Op::kRem, Type::kU32, table.scale(x, 2, 32), number(10))));
  EXPECT_FALSE(all(operation(Op::kMin, Type::kU32, x, number(10))));
}

}  // namespace
}  // namespace glove::verify
