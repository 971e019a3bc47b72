#include "value/interval.h"

#include "values.h"

namespace glove::verify {
namespace {

TEST(Interval, OfNothingKnownHoldsEveryNumberOf64Bits) {
  EXPECT_TRUE(Interval{}.contains({-kTwo63, 2 * kTwo63 - 1}));
  EXPECT_EQ(Interval{}, (Interval{-kWideLimit, kWideLimit}));
}

TEST(Interval, IsEmptyOnlyIfItsEndsCross) {
  EXPECT_FALSE((Interval{3, 3}.empty()));
  EXPECT_FALSE((Interval{-1, 0}.empty()));
  EXPECT_TRUE((Interval{4, 3}.empty()));
}

TEST(Interval, IsSingleOnlyIfItHoldsOneNumber) {
  EXPECT_TRUE(Interval::exactly(-7).single());
  EXPECT_FALSE((Interval{0, 1}.single()));
  EXPECT_FALSE((Interval{1, 0}.single()));
}

TEST(Interval, ContainsItselfAndNothingBeyondEitherEnd) {
  const Interval ten{0, 9};
  EXPECT_TRUE(ten.contains(ten));
  EXPECT_TRUE(ten.contains({9, 9}));
  EXPECT_FALSE(ten.contains({9, 10}));
  EXPECT_FALSE(ten.contains({-1, 0}));
}

TEST(Interval, MeetKeepsWhatBothHold) {
  EXPECT_EQ((Interval{0, 9}.meet({5, 20})), (Interval{5, 9}));
  EXPECT_EQ((Interval{0, 9}.meet({9, 9})), Interval::exactly(9));
  EXPECT_EQ((Interval{0, 9}.meet({})), (Interval{0, 9}));
}

TEST(Interval, MeetOfNeighboursIsEmpty) {
  EXPECT_TRUE((Interval{0, 9}.meet({10, 12}).empty()));
  EXPECT_TRUE((Interval{10, 12}.meet({0, 9}).empty()));
}

TEST(Interval, HullFillsTheGap) {
  EXPECT_EQ((Interval{0, 1}.hull({8, 9})), (Interval{0, 9}));
  EXPECT_EQ((Interval{8, 9}.hull({0, 1})), (Interval{0, 9}));
}

TEST(Interval, SumsAddBothEnds) {
  EXPECT_EQ((Interval{-1, 3}.plus(Interval{10, 20})), (Interval{9, 23}));
  EXPECT_EQ((Interval{-1, 3}.plus(-5)), (Interval{-6, -2}));
}

TEST(Interval, SumsDoNotWrapAtAnyWidthOfARegister) {
  EXPECT_EQ(Interval::of_unsigned(32).plus(1), (Interval{1, kTwo32}));
  EXPECT_EQ(Interval::of_signed(64).plus(Interval::of_signed(64)), (Interval{-2 * kTwo63, 2 * kTwo63 - 2}));
}

TEST(Interval, SumsStayRepresentable) {
  Interval sum;
  for (int i = 0; i < 200; ++i) sum = sum.plus(Interval{});
  EXPECT_EQ(sum, Interval{});
  EXPECT_EQ(Interval{}.plus(kWideLimit), (Interval{0, kWideLimit}));
}

TEST(Interval, NegatedSwapsItsEnds) {
  EXPECT_EQ((Interval{-3, 8}.negated()), (Interval{-8, 3}));
  EXPECT_EQ(Interval::of_signed(32).negated(), (Interval{-(kTwo31 - 1), kTwo31}));
}

TEST(Interval, NegativeFactorsSwapTheEnds) {
  EXPECT_EQ((Interval{-2, 5}.times(3)), (Interval{-6, 15}));
  EXPECT_EQ((Interval{-2, 5}.times(-3)), (Interval{-15, 6}));
  EXPECT_EQ((Interval{-2, 5}.times(-1)), (Interval{-5, 2}));
}

TEST(Interval, NothingTimesZeroIsUnknown) {
  EXPECT_EQ(Interval{}.times(0), Interval::exactly(0));
  EXPECT_EQ((Interval{0, 5}.times(kTwo63)), (Interval{0, 5 * kTwo63}));
}

TEST(Interval, ProductsStopAtTheLimit) {
  EXPECT_EQ(Interval{}.times(2), Interval{});
  EXPECT_EQ(Interval{}.times(-2), Interval{});
  EXPECT_EQ((Interval{1, kWideLimit}.times(2)), (Interval{2, kWideLimit}));
  EXPECT_EQ((Interval{1, kWideLimit}.times(-2)), (Interval{-kWideLimit, -2}));
  EXPECT_EQ((Interval{0, kTwo63}.times(kTwo63)), (Interval{0, kWideLimit}));
}

TEST(Interval, OfSignedHoldsTheNumbersOfSoManyBits) {
  EXPECT_EQ(Interval::of_signed(1), (Interval{-1, 0}));
  EXPECT_EQ(Interval::of_signed(8), (Interval{-128, 127}));
  EXPECT_EQ(Interval::of_signed(32), (Interval{-2147483648LL, 2147483647}));
  EXPECT_EQ(Interval::of_signed(64), (Interval{INT64_MIN, INT64_MAX}));
}

TEST(Interval, OfUnsignedHoldsTheNumbersOfSoManyBits) {
  EXPECT_EQ(Interval::of_unsigned(1), (Interval{0, 1}));
  EXPECT_EQ(Interval::of_unsigned(32), (Interval{0, 4294967295}));
  EXPECT_EQ(Interval::of_unsigned(64), (Interval{0, 2 * kTwo63 - 1}));
}

TEST(Interval, NothingIsKnownOfMoreThan64Bits) {
  EXPECT_EQ(Interval::of_signed(65), Interval{});
  EXPECT_EQ(Interval::of_unsigned(128), Interval{});
}

TEST(Interval, FloorDivideRoundsDown) {
  EXPECT_EQ(floor_divide(7, 4), 1);
  EXPECT_EQ(floor_divide(-1, 4), -1);
  EXPECT_EQ(floor_divide(-4, 4), -1);
  EXPECT_EQ(floor_divide(-5, 4), -2);
  EXPECT_EQ(floor_divide(0, 4), 0);
}

TEST(Interval, CeilDivideRoundsUp) {
  EXPECT_EQ(ceil_divide(7, 4), 2);
  EXPECT_EQ(ceil_divide(8, 4), 2);
  EXPECT_EQ(ceil_divide(-7, 4), -1);
  EXPECT_EQ(ceil_divide(-8, 4), -2);
}

TEST(Interval, MaskBitsKeepsTheLowest) {
  EXPECT_EQ(mask_bits(0x1ffffffffu, 32), 0xffffffffu);
  EXPECT_EQ(mask_bits(~uint64_t{0}, 1), 1u);
  EXPECT_EQ(mask_bits(~uint64_t{0}, 63), ~uint64_t{0} >> 1);
  EXPECT_EQ(mask_bits(~uint64_t{0}, 64), ~uint64_t{0});
}

TEST(Interval, SignExtendReadsTheHighestBit) {
  EXPECT_EQ(sign_extend(0x7fffffff, 32), 2147483647);
  EXPECT_EQ(sign_extend(0x80000000, 32), -2147483648LL);
  EXPECT_EQ(sign_extend(0xffffffff, 32), -1);
  EXPECT_EQ(sign_extend(0x100000080, 8), -128);
  EXPECT_EQ(sign_extend(1, 1), -1);
  EXPECT_EQ(sign_extend(uint64_t{1} << 63, 64), INT64_MIN);
}

}  // namespace
}  // namespace glove::verify
