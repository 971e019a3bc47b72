// Whether two accesses can touch a common byte: memory/disjoint.cpp.
#include "memory/access.h"

#include "values.h"

namespace glove::verify {
namespace {

class DisjointTest : public TableTest {
 protected:
  static Value number(int64_t value) { return TableTest::number(value, 64); }
  Value plus(Value a, Value b) { return table.add(a, b, 64); }
  Value times(Value a, int64_t factor) { return table.scale(a, factor, 64); }
  Overlap compare(Value a, Value b, unsigned bytes_a = 4, unsigned bytes_b = 4) {
    return compare_addresses({a, bytes_a, first.at()}, {b, bytes_b, second.at()}, table);
  }
  // Neither meets the other, whichever comes first.
  void expect_never(Value a, Value b) {
    EXPECT_EQ(compare(a, b), Overlap::kNever);
    std::swap(first, second);
    EXPECT_EQ(compare(b, a), Overlap::kNever);
    std::swap(first, second);
  }

  Facts first, second;
};

TEST_F(DisjointTest, KnownAddressesMeetIfTheyHaveAByteInCommon) {
  EXPECT_EQ(compare(number(0), number(4)), Overlap::kNever);
  EXPECT_EQ(compare(number(4), number(0)), Overlap::kNever);
  EXPECT_EQ(compare(number(0), number(3)), Overlap::kPossible);
  EXPECT_EQ(compare(number(3), number(0)), Overlap::kPossible);
  EXPECT_EQ(compare(number(0), number(4), 5, 1), Overlap::kPossible);
  EXPECT_EQ(compare(number(0), number(4), 4, 1), Overlap::kNever);
}

TEST_F(DisjointTest, EqualFormsDifferByTheirConstants) {
  const Value x = times(any(), 8);
  EXPECT_EQ(compare(x, plus(x, number(4))), Overlap::kNever);
  EXPECT_EQ(compare(x, plus(x, number(-4))), Overlap::kNever);
  EXPECT_EQ(compare(x, plus(x, number(3))), Overlap::kPossible);
  EXPECT_EQ(compare(x, x), Overlap::kPossible);
}

TEST_F(DisjointTest, UnrelatedUnknownsAreNotProved) {
  EXPECT_EQ(compare(times(any(), 4), times(any(), 4)), Overlap::kUnproved);
}

TEST_F(DisjointTest, DataDecide) {
  const Value data = table.fresh(32, Scope::kThread, true);
  EXPECT_EQ(compare(times(data, 4), number(0)), Overlap::kPossible);
}

TEST_F(DisjointTest, RangesThatDoNotMeetAreApart) {
  expect_never(times(in(0, 9), 4), plus(times(in(0, 9), 4), number(40)));
  EXPECT_EQ(compare(times(in(0, 9), 4), plus(times(in(0, 9), 4), number(39))), Overlap::kUnproved);
  EXPECT_EQ(compare(times(in(0, 10), 4), plus(times(in(0, 9), 4), number(40))), Overlap::kUnproved);
}

TEST_F(DisjointTest, WhatEitherPathKnowsIsUsed) {
  const Value x = any(), y = any();
  first.holds(less(x, TableTest::number(10))), second.holds(less(TableTest::number(9), y));
  expect_never(times(x, 4), times(y, 4));
}

TEST_F(DisjointTest, WhatAPathKnowsOfTheOthersPrivateNumberIsNotUsed) {
  const Value x = any(), y = any();
  first.holds(less(y, TableTest::number(10))), second.holds(less(TableTest::number(9), x));
  EXPECT_EQ(compare(times(x, 4), times(y, 4)), Overlap::kUnproved);
}

TEST_F(DisjointTest, ResiduesThatDifferAreApart) {
  const Value x = times(any(), 16), y = times(any(), 8);
  expect_never(x, plus(y, number(4)));
  EXPECT_EQ(compare(x, plus(y, number(5))), Overlap::kUnproved) << "its last byte is the next number's";
  EXPECT_EQ(compare(x, plus(y, number(4)), 4, 5), Overlap::kUnproved);
}

TEST_F(DisjointTest, MasksGiveResidues) {
  const Value row = operation(Op::kAnd, Type::kB32, any(), TableTest::number(0xf0));
  const Value other = operation(Op::kAnd, Type::kB32, any(), TableTest::number(0xf0));
  expect_never(row, plus(other, number(8)));
  EXPECT_EQ(compare(row, other), Overlap::kUnproved);
}

TEST_F(DisjointTest, SelectionsAreTakenAsThePathSays) {
  const Value p = table.fresh_predicate(Scope::kThread, false);
  const Value x = times(any(), 4);
  const Value chosen = select(p, TableTest::number(0), TableTest::number(64));
  const Value address = plus(x, chosen);
  EXPECT_EQ(compare(address, x), Overlap::kUnproved);
  first.fails(p);
  EXPECT_EQ(compare(address, x), Overlap::kNever);
}

TEST_F(DisjointTest, TwoTicketsDiffer) {
  const Value one = TableTest::number(1);
  expect_never(times(ticket(5, one), 4), times(ticket(5, one), 4));
  EXPECT_EQ(compare(times(ticket(5, one), 4), times(ticket(6, one), 4)), Overlap::kUnproved);
}

TEST_F(DisjointTest, ATicketMeetsItself) {
  const Value drawn = times(ticket(5, TableTest::number(1)), 4);
  EXPECT_EQ(compare(drawn, drawn), Overlap::kPossible);
}

TEST_F(DisjointTest, TicketsOfOneDrawingMayBeOneNumber) {
  const Value one = TableTest::number(1);
  EXPECT_EQ(compare(times(ticket(5, one, 9), 4), times(ticket(5, one, 9), 4)), Overlap::kUnproved);
}

TEST_F(DisjointTest, TicketsOfNothingMayBeOneNumber) {
  const Value none = TableTest::number(0), some = in(0, 3);
  EXPECT_EQ(compare(times(ticket(5, none), 4), times(ticket(5, none), 4)), Overlap::kUnproved);
  EXPECT_EQ(compare(times(ticket(5, some), 4), times(ticket(5, some), 4)), Overlap::kUnproved);
}

TEST_F(DisjointTest, TicketsAreApartByWhatWasAdded) {
  const Value two = TableTest::number(2);
  const Value a = times(ticket(5, two), 4), b = times(ticket(5, two), 4);
  EXPECT_EQ(compare(a, plus(b, number(4))), Overlap::kNever);
  EXPECT_EQ(compare(a, plus(b, number(5))), Overlap::kPossible)
      << "one addition may come right behind the other";
  EXPECT_EQ(compare(a, b, 8, 8), Overlap::kNever);
  EXPECT_EQ(compare(a, b, 9, 8), Overlap::kPossible);
}

TEST_F(DisjointTest, TheSmallerAdditionCounts) {
  const Value a = times(ticket(5, TableTest::number(1)), 4), b = times(ticket(5, TableTest::number(4)), 4);
  expect_never(a, b);
  EXPECT_EQ(compare(a, b, 8, 8), Overlap::kUnproved);
  EXPECT_EQ(compare(b, a, 8, 8), Overlap::kUnproved);
}

TEST_F(DisjointTest, WhoAddsNOwnsTheNextNPlaces) {
  const Value n = in(0, 100), m = in(0, 100), i = in(0, 100), j = in(0, 100);
  const Value a = times(plus(ticket(5, n), i), 4), b = times(plus(ticket(5, m), j), 4);
  EXPECT_EQ(compare(a, b), Overlap::kUnproved);
  first.holds(less(i, n)), second.holds(less(j, m));
  expect_never(a, b);
}

TEST_F(DisjointTest, OnePlaceTooManyIsNotOwned) {
  const Value n = in(0, 100), m = in(0, 100), i = in(0, 100), j = in(0, 100);
  first.holds(at_most(i, n)), second.holds(less(j, m));
  EXPECT_EQ(compare(times(plus(ticket(5, n), i), 4), times(plus(ticket(5, m), j), 4)), Overlap::kUnproved);
}

TEST_F(DisjointTest, APlaceThatMayBeNegativeIsNotOwned) {
  const Value n = in(0, 100), m = in(0, 100), i = in(-1, 100), j = in(0, 100);
  first.holds(less(i, n)), second.holds(less(j, m));
  EXPECT_EQ(compare(times(plus(ticket(5, n), i), 4), times(plus(ticket(5, m), j), 4)), Overlap::kUnproved);
}

TEST_F(DisjointTest, OwnedRangeNamesTheTicket) {
  const Value n = in(0, 100), i = in(0, 100), drawn = ticket(5, n);
  const Value object = table.input(SymbolKind::kObject, 1, 64, Scope::kGrid);
  const Value address = plus(object, times(plus(drawn, i), 4));
  EXPECT_EQ(owned_range(address, table.single(object), 4, first.at(), table), OwnedRange{});
  first.holds(less(i, n));
  const OwnedRange expected{5, 4, table.single(drawn)};
  EXPECT_EQ(owned_range(address, table.single(object), 4, first.at(), table), expected);
  EXPECT_EQ(owned_range(address, table.single(object), 5, first.at(), table), OwnedRange{});
}

TEST_F(DisjointTest, OwnedRangesDoNotBeginBeforeTheTicket) {
  const Value drawn = ticket(5, TableTest::number(4));
  EXPECT_EQ(owned_range(times(drawn, 4), 0, 16, {}, table).location, 5u);
  EXPECT_EQ(owned_range(times(drawn, 4), 0, 17, {}, table).location, 0u);
  EXPECT_EQ(owned_range(plus(times(drawn, 4), number(-1)), 0, 4, {}, table).location, 0u);
  EXPECT_EQ(owned_range(times(drawn, -4), 0, 4, {}, table).location, 0u);
}

TEST_F(DisjointTest, DistinctRowsAreApartInsideTheirLength) {
  const Value object = table.input(SymbolKind::kObject, 1, 64, Scope::kGrid);
  table.declare_distinct(table.single(object), {"rows", 4});
  const Value x = times(table.loaded(Type::kU32, 0, 32, object), 64);
  const Value y = times(table.loaded(Type::kU32, 0, 32, plus(object, number(4))), 64);
  expect_never(plus(x, in(0, 60)), plus(y, in(0, 60)));
  EXPECT_NE(compare(plus(x, in(0, 61)), plus(y, in(0, 60))), Overlap::kNever);
  EXPECT_NE(compare(plus(x, in(0, 60)), plus(y, in(-1, 60))), Overlap::kNever);
}

TEST_F(DisjointTest, DistinctNumbersKeepTheirRowsApart) {
  const Value object = table.input(SymbolKind::kObject, 1, 64, Scope::kGrid);
  const auto loaded = [&](int64_t at) { return table.loaded(Type::kU32, 0, 32, plus(object, number(at))); };
  const Value x = loaded(0), y = loaded(4);
  EXPECT_EQ(compare(times(x, 4), times(y, 4)), Overlap::kPossible);
  table.declare_distinct(table.single(object), {"rows", 4});
  expect_never(times(x, 4), times(y, 4));
  EXPECT_EQ(compare(times(x, 4), plus(times(y, 4), number(1))), Overlap::kPossible);
  EXPECT_EQ(compare(times(x, 2), times(y, 2)), Overlap::kPossible);
}

TEST_F(DisjointTest, DistinctNumbersOfTwoBuffersNeedOneName) {
  const Value a = table.input(SymbolKind::kObject, 1, 64, Scope::kGrid);
  const Value b = table.input(SymbolKind::kObject, 2, 64, Scope::kGrid);
  const Value x = table.loaded(Type::kU32, 0, 32, a), y = table.loaded(Type::kU32, 0, 32, b);
  table.declare_distinct(table.single(a), {"rows", 4});
  table.declare_distinct(table.single(b), {"columns", 4});
  EXPECT_EQ(compare(times(x, 4), times(y, 4)), Overlap::kPossible);
  table.declare_distinct(table.single(b), {"rows", 4});
  expect_never(times(x, 4), times(y, 4));
}

TEST_F(DisjointTest, DistinctPlacesNameWhereTheNumberComesFrom) {
  const Value object = table.input(SymbolKind::kObject, 1, 64, Scope::kGrid);
  const Value x = table.loaded(Type::kU32, 0, 32, object);
  EXPECT_EQ(distinct_places(times(x, 4), table), DistinctPlaces{});
  table.declare_distinct(table.single(object), {"rows", 4});
  const DistinctPlaces places = distinct_places(plus(times(x, 4), number(12)), table);
  EXPECT_EQ(places.object, table.single(object));
  EXPECT_EQ(places.factor, 4);
  EXPECT_EQ(places.rest, number(12));
  EXPECT_EQ(places.source, object);
  EXPECT_EQ(places.source_bytes, 4u);
  EXPECT_EQ(distinct_places(times(x, -4), table), DistinctPlaces{});
}

TEST_F(DisjointTest, TicketShapesAreApartByTheirLeastAddition) {
  const TicketShape shape{5, 4, 1, number(0)}, later{5, 4, 1, number(1)}, other{6, 4, 1, number(0)};
  EXPECT_TRUE(apart(shape, 4, shape, 4, table));
  EXPECT_FALSE(apart(shape, 5, shape, 4, table));
  EXPECT_FALSE(apart(shape, 4, later, 4, table));
  EXPECT_TRUE(apart(shape, 3, later, 3, table));
  EXPECT_FALSE(apart(shape, 4, other, 4, table));
  EXPECT_FALSE(apart(shape, 4, {5, 8, 1, number(0)}, 4, table));
  EXPECT_FALSE(apart({5, -4, 1, number(0)}, 4, {5, -4, 1, number(0)}, 4, table));
  EXPECT_FALSE(apart(TicketShape{}, 4, TicketShape{}, 4, table));
  EXPECT_FALSE(apart({5, 4, 0, number(0)}, 4, {5, 4, 0, number(0)}, 4, table)) << "nothing was added";
}

TEST_F(DisjointTest, ExtentsOfOneFormAreApartByTheirConstants) {
  Extent a, b;
  a.form = b.form = any().form;
  a.constants = {0, 3}, b.constants = {4, 7};
  EXPECT_TRUE(apart(a, 4, b, 4, table));
  b.constants = {3, 7};
  EXPECT_FALSE(apart(a, 4, b, 4, table));
  b.constants = {4, 7}, b.form = any().form;
  EXPECT_FALSE(apart(a, 4, b, 4, table));
}

TEST_F(DisjointTest, ExtentsThatTwoTicketsOwnAreApart) {
  const Value one = TableTest::number(1);
  Extent a, b;
  a.owned = {5, 4, table.single(ticket(5, one))}, b.owned = {5, 4, table.single(ticket(5, one))};
  EXPECT_TRUE(apart(a, 4, b, 4, table));
  b.owned.factor = 8;
  EXPECT_FALSE(apart(a, 4, b, 4, table));
  b.owned = a.owned;
  EXPECT_FALSE(apart(a, 4, b, 4, table));
}

TEST_F(DisjointTest, ExtentsBehindEachOtherAreApart) {
  const Value x = any(64);
  Extent a, b;
  a.begin = x, a.end = plus(x, number(16)), b.begin = plus(x, number(16)), b.end = plus(x, number(32));
  EXPECT_TRUE(apart(a, 4, b, 4, table));
  EXPECT_TRUE(apart(b, 4, a, 4, table));
  b.begin = plus(x, number(15));
  EXPECT_FALSE(apart(a, 4, b, 4, table));
  b.begin = plus(x, in(0, 40)), b.end = plus(x, number(64));
  EXPECT_FALSE(apart(a, 4, b, 4, table));
  EXPECT_FALSE(apart(b, 4, a, 4, table));
}

TEST_F(DisjointTest, ExtentsOfDistinctNumbersAreApart) {
  const Value object = table.input(SymbolKind::kObject, 1, 64, Scope::kGrid);
  table.declare_distinct(table.single(object), {"rows", 4});
  Extent a, b;
  a.places = {table.single(object), 4, number(0), object, 4};
  b.places = {table.single(object), 4, number(0), plus(object, number(4)), 4};
  EXPECT_TRUE(apart(a, 4, b, 4, table));
  EXPECT_FALSE(apart(a, 5, b, 4, table));
  b.places.factor = 8;
  EXPECT_FALSE(apart(a, 4, b, 4, table));
  b.places.factor = 4, b.places.source = object;
  EXPECT_FALSE(apart(a, 4, b, 4, table)) << "it is the same number";
}

TEST_F(DisjointTest, ContradictoryPathsExcludeEachOther) {
  const Value n = any(32, Scope::kBlock), x = any();
  first.holds(less(n, TableTest::number(5))), second.holds(less(TableTest::number(5), n));
  EXPECT_TRUE(exclude_each_other(first.at(), second.at(), false, table));
  Facts mine, other;
  mine.holds(less(x, TableTest::number(5))), other.fails(less(x, TableTest::number(5)));
  EXPECT_FALSE(exclude_each_other(mine.at(), other.at(), false, table)) << "each thread has its own";
  EXPECT_FALSE(exclude_each_other({}, {}, false, table));
}

TEST_F(DisjointTest, TwoThreadsDoNotBothDrawTheFirstTicket) {
  const Value one = TableTest::number(1), zero = TableTest::number(0);
  first.holds(equal(ticket(5, one), zero)), second.holds(equal(ticket(5, one), zero));
  EXPECT_TRUE(exclude_each_other(first.at(), second.at(), false, table));
  Facts third, fourth;
  third.holds(equal(ticket(6, one), zero)), fourth.holds(equal(ticket(5, zero), zero));
  EXPECT_FALSE(exclude_each_other(first.at(), third.at(), false, table));
  EXPECT_FALSE(exclude_each_other(first.at(), fourth.at(), false, table)) << "it has added nothing";
}

TEST_F(DisjointTest, AComparisonLeavesNoFormsBehind) {
  const Value x = times(any(), 4), y = times(any(), 4);
  const auto forms = table.mark().forms;
  (void)compare(x, y);
  EXPECT_EQ(table.mark().forms, forms);
}

}  // namespace
}  // namespace glove::verify
