#include "value/symbols.h"

#include "values.h"

namespace glove::verify {
namespace {

using SymbolsTest = TableTest;

TEST_F(SymbolsTest, NumbersAddModuloTheirBits) {
  EXPECT_EQ(table.add(number(0xffffffff), number(1), 32), number(0));
  EXPECT_EQ(table.add(number(0xffffffff), number(1), 64).constant, uint64_t{1} << 32);
  EXPECT_EQ(table.subtract(number(0), number(1), 32), number(0xffffffff));
  EXPECT_EQ(table.subtract(number(0), number(1), 8).constant, 0xffu);
}

TEST_F(SymbolsTest, NumbersScaleModuloTheirBits) {
  EXPECT_EQ(table.scale(number(0x80000000), 2, 32), number(0));
  EXPECT_EQ(table.scale(number(3), -1, 32), number(0xfffffffd));
}

TEST_F(SymbolsTest, EqualSumsAreOneForm) {
  const Value x = any(), y = any();
  EXPECT_EQ(table.add(x, y, 32), table.add(y, x, 32));
  EXPECT_NE(table.add(x, y, 32).form, table.add(x, x, 32).form);
}

TEST_F(SymbolsTest, ADifferenceOfEqualsIsZero) {
  const Value sum = table.add(any(), table.scale(any(), 3, 32), 32);
  EXPECT_EQ(table.subtract(sum, sum, 32), number(0));
  EXPECT_EQ(table.subtract(table.add(sum, number(7), 32), sum, 32), number(7));
}

TEST_F(SymbolsTest, TermsThatCancelDisappear) {
  const Value x = any(), y = any();
  EXPECT_EQ(table.subtract(table.add(x, y, 32), y, 32), x);
}

TEST_F(SymbolsTest, FactorsVanishModuloTheirBits) {
  const Value x = any();
  EXPECT_EQ(table.scale(table.scale(x, 1 << 16, 32), 1 << 16, 32), number(0));
  EXPECT_FALSE(table.scale(table.scale(x, 1 << 16, 64), 1 << 16, 64).known());
  const Value half = table.scale(x, int64_t{1} << 31, 32);
  EXPECT_EQ(table.add(half, half, 32), number(0));
}

TEST_F(SymbolsTest, FactorsAreSigned) {
  const Value minus = table.scale(any(), 0xffffffff, 32);
  EXPECT_EQ(table.terms(minus.form)[0].factor, -1);
}

TEST_F(SymbolsTest, FreshSymbolsAreUnrelated) {
  const Value x = any(), y = any();
  EXPECT_NE(x, y);
  EXPECT_FALSE(table.subtract(x, y, 32).known());
}

TEST_F(SymbolsTest, AChangeOfOneFreshSymbolLeavesTheOthers) {
  const Value x = any(), y = any();
  table.change(table.single(x)).range = {1, 2};
  EXPECT_EQ(symbol(x).range, (Interval{1, 2}));
  EXPECT_EQ(symbol(y).range, Interval::of_signed(32));
  EXPECT_EQ(symbol(any()).range, Interval::of_signed(32));
}

TEST_F(SymbolsTest, SingleIsASymbolAndNothingElse) {
  const Value x = any();
  EXPECT_NE(table.single(x), 0u);
  EXPECT_EQ(table.single(number(5)), 0u);
  EXPECT_EQ(table.single(table.add(x, number(1), 32)), 0u);
  EXPECT_EQ(table.single(table.scale(x, 2, 32)), 0u);
}

TEST_F(SymbolsTest, TheSameOperationIsTheSameSymbol) {
  const Value x = any(), y = any();
  EXPECT_EQ(operation(Op::kXor, Type::kB32, x, y), operation(Op::kXor, Type::kB32, x, y));
  EXPECT_NE(operation(Op::kXor, Type::kB32, x, y), operation(Op::kXor, Type::kB32, y, x));
  EXPECT_NE(operation(Op::kXor, Type::kB32, x, y), operation(Op::kOr, Type::kB32, x, y));
  EXPECT_NE(operation(Op::kMin, Type::kU32, x, y), operation(Op::kMin, Type::kS32, x, y));
  EXPECT_NE(operation(Op::kXor, Type::kB32, x, number(1)), operation(Op::kXor, Type::kB32, x, number(2)));
}

TEST_F(SymbolsTest, TheSameInputIsTheSameSymbol) {
  const Value first = table.input(SymbolKind::kInput, 8, 32, Scope::kGrid);
  EXPECT_EQ(table.input(SymbolKind::kInput, 8, 32, Scope::kGrid), first);
  EXPECT_NE(table.input(SymbolKind::kInput, 12, 32, Scope::kGrid), first);
  EXPECT_NE(table.input(SymbolKind::kInput, 8, 64, Scope::kGrid), first);
  EXPECT_NE(table.input(SymbolKind::kObject, 8, 32, Scope::kGrid), first);
}

TEST_F(SymbolsTest, ScopesAreThoseOfTheMostPrivatePart) {
  const Value grid = any(32, Scope::kGrid), block = any(32, Scope::kBlock), thread = any();
  EXPECT_EQ(table.scope_of(number(1)), Scope::kGrid);
  EXPECT_EQ(table.scope_of(table.add(grid, block, 32)), Scope::kBlock);
  EXPECT_EQ(table.scope_of(operation(Op::kXor, Type::kB32, grid, thread)), Scope::kThread);
  EXPECT_EQ(table.scope_of_predicate(less(grid, block).form), Scope::kBlock);
}

TEST_F(SymbolsTest, SharedValuesAreTheSameForTheBlock) {
  const Value x = any(), both = operation(Op::kXor, Type::kB32, x, number(1));
  table.share(both, Scope::kBlock);
  EXPECT_EQ(table.scope_of(x), Scope::kBlock);
  EXPECT_EQ(table.scope_of(both), Scope::kBlock);
}

TEST_F(SymbolsTest, SharingALoopCounterDoesNothing) {
  const Value counter = any();
  table.change(table.single(counter)).kind = SymbolKind::kIteration;
  table.share(counter, Scope::kBlock);
  EXPECT_EQ(table.scope_of(counter), Scope::kThread);
}

TEST_F(SymbolsTest, SharingASelectionSharesWhatDecidesIt) {
  const Value x = any(), condition = table.logical_and(less(x, number(4)), less(any(), number(2)));
  const Value chosen = select(condition, number(1), number(2));
  EXPECT_EQ(table.scope_of(chosen), Scope::kThread);
  table.share(chosen, Scope::kBlock);
  EXPECT_EQ(table.scope_of(chosen), Scope::kBlock);
  EXPECT_EQ(table.scope_of(x), Scope::kBlock);
}

TEST_F(SymbolsTest, LoadsOfTheSameAddressAreTheSameData) {
  const Value address = any(64);
  const Value load = table.loaded(Type::kU32, 0, 32, address);
  EXPECT_EQ(table.loaded(Type::kU32, 0, 32, address), load);
  EXPECT_NE(table.loaded(Type::kU32, 0, 32, table.add(address, number(4, 64), 64)), load);
  EXPECT_EQ(table.load(load), table.single(load));
  EXPECT_EQ(table.load(address), 0u);
  EXPECT_TRUE(table.is_data(load));
}

TEST_F(SymbolsTest, DataNeedEveryPrivatePartToBeData) {
  const Value data = table.fresh(32, Scope::kThread, true), grid = any(32, Scope::kGrid);
  EXPECT_TRUE(table.is_data(table.add(data, grid, 32)));
  EXPECT_FALSE(table.is_data(table.add(data, any(), 32)));
  EXPECT_FALSE(table.is_data(grid));
  EXPECT_FALSE(table.is_data(number(1)));
  EXPECT_TRUE(table.is_data(operation(Op::kAnd, Type::kB32, data, number(15))));
  EXPECT_FALSE(table.is_data(operation(Op::kAnd, Type::kB32, data, any())));
  EXPECT_TRUE(table.is_data(operation(Op::kConvert, Type::kS32, data)));
  EXPECT_TRUE(table.is_data(operation(Op::kMin, Type::kS32, data, data)));
  EXPECT_FALSE(table.is_data(operation(Op::kXor, Type::kB32, data, data)));
}

TEST_F(SymbolsTest, ForgetSinceDropsFormsButNoSymbols) {
  const Value x = any(), y = any();
  const auto mark = table.mark();
  (void)table.add(x, y, 32), (void)table.scale(x, 4, 32);
  EXPECT_EQ(table.mark().forms, mark.forms + 2);
  table.forget_since(mark);
  EXPECT_EQ(table.mark().forms, mark.forms);
  EXPECT_EQ(table.terms(table.add(x, y, 32).form).size(), 2u);

  const auto later = table.mark();
  const Value kept = table.add(any(), y, 32);
  table.forget_since(later);
  EXPECT_EQ(table.terms(kept.form).size(), 2u) << "a new symbol may hold forms";
}

TEST_F(SymbolsTest, AFormThatWasForgottenIsMadeAgain) {
  const Value x = any();
  const SymbolId id = table.single(x);
  (void)table.operation(Op::kXor, Type::kB32, 0, 32, {x, {}, {}});
  const auto mark = table.mark();
  const SymbolId bare = table.add_symbol(table.symbol(id));
  EXPECT_EQ(table.single(table.of(bare)), bare);
  EXPECT_EQ(table.mark().symbols, mark.symbols + 1);
}

TEST_F(SymbolsTest, LongSumsBecomeOneSymbolWithTheirRange) {
  Value sum = number(0);
  for (int i = 0; i < 13; ++i) sum = table.add(sum, in(1, 10), 32);
  EXPECT_EQ(table.terms(sum.form).size(), 1u);
  EXPECT_EQ(signed_range(sum), (Interval{13, 130}));
  EXPECT_EQ(unsigned_range(sum), (Interval{13, 130}));
}

TEST_F(SymbolsTest, LongSumsThatMayWrapMayBeAnything) {
  Value sum = number(0);
  for (int i = 0; i < 13; ++i) sum = table.add(sum, in(0, 1 << 30), 32);
  EXPECT_EQ(signed_range(sum), Interval::of_signed(32));
}

TEST_F(SymbolsTest, SignExtensionOfSmallNumbersKeepsThem) {
  const Value x = in(-4, 9);
  EXPECT_EQ(table.sign_extended(number(0xffffffff), 32).constant, ~uint64_t{0});
  const Value wide = table.sign_extended(table.add(x, number(-2), 32), 32);
  EXPECT_EQ(wide, (Value{static_cast<uint64_t>(-2), x.form}));
  EXPECT_FALSE(table.assumed(SymbolTable::NoWrap::kIndex));
}

TEST_F(SymbolsTest, SignExtensionThatMayWrapIsAssumedNotTo) {
  (void)table.sign_extended(table.add(in(0, kTwo31 - 1), number(1), 32), 32);
  EXPECT_TRUE(table.assumed(SymbolTable::NoWrap::kIndex));
}

TEST_F(SymbolsTest, SignExtensionAtTheLastNumberAssumesNothing) {
  (void)table.sign_extended(table.add(in(0, kTwo31 - 2), number(1), 32), 32);
  EXPECT_FALSE(table.assumed(SymbolTable::NoWrap::kIndex));
}

TEST_F(SymbolsTest, ZeroExtensionOfNaturalNumbersKeepsThem) {
  const Value x = in(1, 9);
  EXPECT_EQ(table.zero_extended(number(-1), 32).constant, 0xffffffffu);
  EXPECT_EQ(table.zero_extended(table.add(x, number(-1), 32), 32), (Value{~uint64_t{0}, x.form}));
  EXPECT_FALSE(table.assumed(SymbolTable::NoWrap::kIndex));
}

TEST_F(SymbolsTest, ZeroExtensionOfANumberThatMayBeNegativeIsAnotherNumber) {
  const Value x = in(-1, 9);
  const Value wide = table.zero_extended(x, 32);
  EXPECT_NE(wide.form, x.form);
  EXPECT_EQ(symbol(wide).op, Op::kConvert);
  EXPECT_EQ(unsigned_range(wide, 64), (Interval{0, kTwo32 - 1}));
  EXPECT_TRUE(table.assumed(SymbolTable::NoWrap::kIndex));
}

TEST_F(SymbolsTest, ZeroExtensionBelowZeroIsAssumedNotToWrap) {
  const Value x = in(0, 9);
  EXPECT_EQ(table.zero_extended(table.add(x, number(-1), 32), 32), (Value{~uint64_t{0}, x.form}));
  EXPECT_TRUE(table.assumed(SymbolTable::NoWrap::kIndex));
}

TEST_F(SymbolsTest, TruncationUndoesExtension) {
  const Value x = in(-1, 9);
  EXPECT_EQ(table.truncated(table.zero_extended(x, 32), 64, 32), x);
  EXPECT_EQ(table.truncated(table.sign_extended(x, 32), 64, 32), x);
  EXPECT_EQ(table.truncated(number(0x1ffffffff, 64), 64, 32), number(0xffffffff));
}

TEST_F(SymbolsTest, TruncationOfALargeNumberIsAnotherNumber) {
  const Value large = in(0, kTwo32, 64), small = in(0, kTwo31 - 1, 64);
  EXPECT_NE(table.truncated(large, 64, 32).form, large.form);
  EXPECT_EQ(table.truncated(small, 64, 32).form, small.form);
}

TEST_F(SymbolsTest, TheLowerHalfOfATicketIsOneTicket) {
  const Value drawn = ticket(7, number(4, 64));
  table.change(table.single(drawn)).bits = 64;
  const Value half = table.truncated(drawn, 64, 32);
  EXPECT_EQ(symbol(half).kind, SymbolKind::kTicket);
  EXPECT_EQ(symbol(half).detail, 7u | kLowerHalf);
  EXPECT_EQ(symbol(half).arguments[0], number(4));
  EXPECT_EQ(symbol(half).range, (Interval{0, kTwo31 - 1}));
  EXPECT_EQ(table.truncated(drawn, 64, 32), half);
}

TEST_F(SymbolsTest, TicketsAreDrawnApartUnlessOneDrawingGaveBoth) {
  const SymbolId a = table.single(ticket(1, number(1))), b = table.single(ticket(1, number(1)));
  const SymbolId c = table.single(ticket(1, number(1), 99)), d = table.single(ticket(1, number(1), 99));
  EXPECT_TRUE(table.drawn_apart(a, b));
  EXPECT_TRUE(table.drawn_apart(a, c));
  EXPECT_FALSE(table.drawn_apart(c, d));
  EXPECT_FALSE(table.drawn_apart(a, a));
}

TEST_F(SymbolsTest, TicketsAreDrawnAlikeByOneThreadWithOneAmount) {
  const SymbolId a = table.single(ticket(1, number(1)));
  EXPECT_TRUE(table.drawn_alike(a, table.single(ticket(1, number(1)))));
  EXPECT_FALSE(table.drawn_alike(a, table.single(ticket(2, number(1)))));
  EXPECT_FALSE(table.drawn_alike(a, table.single(ticket(1, number(2)))));
  EXPECT_FALSE(table.drawn_alike(a, table.single(ticket(1, number(1), 0, 2))));
  EXPECT_FALSE(table.drawn_alike(a, table.single(ticket(1, number(1), 5))));
  EXPECT_FALSE(table.drawn_alike(a, table.single(any())));
}

TEST_F(SymbolsTest, ComputedFromFindsASymbolThroughOperationsAndConditions) {
  const Value x = any(), y = any();
  const Value chosen = select(less(x, number(3)), y, number(0));
  EXPECT_TRUE(computed_from(table, table.add(chosen, number(1), 32), false, table.single(x)));
  EXPECT_TRUE(computed_from(table, chosen, false, table.single(y)));
  EXPECT_TRUE(computed_from(table, less(y, chosen), true, table.single(x)));
  EXPECT_FALSE(computed_from(table, table.add(y, number(1), 32), false, table.single(x)));
  EXPECT_FALSE(computed_from(table, number(3), false, table.single(x)));
  EXPECT_TRUE(computed_from(table, table.logical_xor(less(y, number(1)), less(x, y)), true, table.single(x)));
}

TEST_F(SymbolsTest, DistinctNumbersNeedAPlaceOfTheDeclaredStride) {
  const Value object = table.input(SymbolKind::kObject, 1, 64, Scope::kGrid);
  const SymbolId id = table.single(object);
  EXPECT_EQ(table.distinct_numbers(id), nullptr);
  table.declare_distinct(id, {"rows", 8});
  ASSERT_NE(table.distinct_numbers(id), nullptr);
  EXPECT_EQ(table.distinct_numbers(id)->name, "rows");
  const auto loaded_at = [&](Value offset) {
    return table.single(table.loaded(Type::kU32, 0, 32, table.add(object, offset, 64)));
  };
  EXPECT_EQ(distinct_in(table, loaded_at(number(16, 64))), id);
  EXPECT_EQ(distinct_in(table, loaded_at(number(4, 64))), 0u);
  const Value index = any(64);
  EXPECT_EQ(distinct_in(table, loaded_at(table.scale(index, 8, 64))), id);
  EXPECT_EQ(distinct_in(table, loaded_at(table.scale(index, 4, 64))), 0u);
  EXPECT_EQ(distinct_in(table, table.single(index)), 0u);
  EXPECT_EQ(distinct_in(table, table.single(table.loaded(Type::kU8, 0, 32, object))), 0u) << "a byte";
  EXPECT_EQ(distinct_in(table, table.single(table.loaded(Type::kU32, 2, 32, object))), 0u)
      << "constant memory";
  EXPECT_EQ(distinct_in(table, table.single(table.loaded(Type::kU64, 0, 64, object))), 0u) << "too wide";
}

}  // namespace
}  // namespace glove::verify
