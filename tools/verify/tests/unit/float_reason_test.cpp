#include <bit>
#include <cmath>
#include <limits>

#include "values.h"

namespace glove::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class FloatReasonTest : public TableTest {
 protected:
  static Value number(float x) { return SymbolStore::number(std::bit_cast<uint32_t>(x)); }
  Value compare(CompareKind kind, Value a, Value b) { return table.compare(kind, true, false, 32, a, b); }
  FloatRange range(Value value) { return Reasoner(table, facts.at()).float_range(value, 32); }
  std::optional<bool> truth(Value predicate) { return Reasoner(table, facts.at()).truth(predicate); }
  // A number that is known to lie between the two.
  Value between(float lo, float hi) {
    const Value x = any();
    facts.holds(compare(CompareKind::kGe, x, number(lo))).holds(compare(CompareKind::kLe, x, number(hi)));
    return x;
  }
  static void expect(const FloatRange& range, double lo, double hi) {
    EXPECT_EQ(range.lo, lo);
    EXPECT_EQ(range.hi, hi);
    EXPECT_FALSE(range.maybe_nan);
  }
  static void expect_anything(const FloatRange& range) {
    EXPECT_EQ(range.lo, -kInfinity);
    EXPECT_EQ(range.hi, kInfinity);
    EXPECT_TRUE(range.maybe_nan);
  }

  Facts facts;
};

TEST_F(FloatReasonTest, ANumberIsItself) {
  expect(range(number(2.5f)), 2.5, 2.5);
  expect(Reasoner(table, {}).float_range(SymbolStore::number(std::bit_cast<uint64_t>(-0.25)), 64), -0.25,
         -0.25);
}

TEST_F(FloatReasonTest, NothingIsKnownOfNaNAndOfUnknowns) {
  expect_anything(range(number(std::nanf(""))));
  expect_anything(range(any()));
  expect_anything(range(table.add(between(0, 1), TableTest::number(1), 32)));
  expect_anything(Reasoner(table, {}).float_range(number(1), 16));
}

TEST_F(FloatReasonTest, OrderedComparisonsBoundAndExcludeNaN) {
  const Value x = any();
  facts.holds(compare(CompareKind::kLt, x, number(3)));
  expect(range(x), -kInfinity, 3);
  facts.holds(compare(CompareKind::kLe, number(1), x));
  expect(range(x), 1, 3);
}

TEST_F(FloatReasonTest, EqualityGivesTheNumber) {
  const Value x = any();
  facts.holds(compare(CompareKind::kEq, x, number(7)));
  expect(range(x), 7, 7);
}

TEST_F(FloatReasonTest, AFailedComparisonSaysNothingOfWhatMayBeNaN) {
  const Value x = any();
  facts.fails(compare(CompareKind::kLt, x, number(3)));
  expect_anything(range(x));
}

TEST_F(FloatReasonTest, AFailedComparisonBoundsANumber) {
  const Value x = any();
  facts.fails(compare(CompareKind::kLt, x, number(3))).holds(compare(CompareKind::kNumber, x, number(0)));
  expect(range(x), 3, kInfinity);
  facts.fails(compare(CompareKind::kGe, x, number(9)));
  expect(range(x), 3, 9);
}

TEST_F(FloatReasonTest, SumsAndDifferences) {
  const Value x = between(1, 2), y = between(10, 20);
  expect(range(operation(Op::kAdd, Type::kF32, x, y)), 11, 22);
  expect(range(operation(Op::kSub, Type::kF32, x, y)), -19, -8);
}

TEST_F(FloatReasonTest, SumsThatAreNoFloatsMoveOutwards) {
  const Value x = between(1, 1), y = between(std::ldexp(1.0f, -30), std::ldexp(1.0f, -30));
  const FloatRange sum = range(operation(Op::kAdd, Type::kF32, x, y));
  EXPECT_EQ(sum.lo, 1.0 - std::ldexp(1.0, -24));
  EXPECT_EQ(sum.hi, 1.0 + std::ldexp(1.0, -23));
}

TEST_F(FloatReasonTest, SumsOfDoublesMoveOutwardsByAStep) {
  const auto wide = [](double x) { return SymbolStore::number(std::bit_cast<uint64_t>(x)); };
  const Value x = any(64);
  facts.holds(table.compare(CompareKind::kLe, true, false, 64, x, wide(2)));
  const Value sum = table.operation(Op::kAdd, Type::kF64, 0, 64, {x, wide(1), {}});
  const FloatRange known = Reasoner(table, facts.at()).float_range(sum, 64);
  EXPECT_EQ(known.lo, -kInfinity);
  EXPECT_EQ(known.hi, std::nextafter(3.0, kInfinity));
  EXPECT_FALSE(known.maybe_nan);
}

TEST_F(FloatReasonTest, SumsOverflowToInfinity) {
  const float most = std::numeric_limits<float>::max();
  const FloatRange sum = range(operation(Op::kAdd, Type::kF32, between(most, most), between(most, most)));
  EXPECT_EQ(sum.hi, kInfinity);
  EXPECT_FALSE(sum.maybe_nan);
}

TEST_F(FloatReasonTest, InfinityMinusInfinityMayBeNaN) {
  const Value x = any(), y = any();
  facts.holds(compare(CompareKind::kGt, x, number(0))).holds(compare(CompareKind::kGt, y, number(0)));
  EXPECT_TRUE(range(operation(Op::kSub, Type::kF32, x, y)).maybe_nan);
  EXPECT_FALSE(range(operation(Op::kAdd, Type::kF32, x, y)).maybe_nan);
}

TEST_F(FloatReasonTest, OneInfiniteEndStaysInfinite) {
  const Value above = any(), below = any();
  facts.holds(compare(CompareKind::kGt, above, number(1)))
      .holds(compare(CompareKind::kLt, below, number(-1)));
  expect(range(operation(Op::kAdd, Type::kF32, above, number(2))), 3, kInfinity);
  expect(range(operation(Op::kAdd, Type::kF32, number(-2), below)), -kInfinity, -3);
  EXPECT_TRUE(range(operation(Op::kAdd, Type::kF32, above, below)).maybe_nan);
  EXPECT_TRUE(range(operation(Op::kAdd, Type::kF32, below, above)).maybe_nan);
  EXPECT_TRUE(range(operation(Op::kMul, Type::kF32, below, between(0, 1))).maybe_nan);
}

TEST_F(FloatReasonTest, ProductsTakeTheWorstOfFour) {
  const Value x = between(-2, 3), y = between(-5, 1);
  expect(range(operation(Op::kMul, Type::kF32, x, y)), -15, 10);
  expect(range(operation(Op::kFma, Type::kF32, x, y, number(100))), 85, 110);
}

TEST_F(FloatReasonTest, ZeroTimesInfinityMayBeNaN) {
  const Value x = any(), zero = between(0, 1);
  facts.holds(compare(CompareKind::kGe, x, number(1)));
  EXPECT_TRUE(range(operation(Op::kMul, Type::kF32, x, zero)).maybe_nan);
  EXPECT_FALSE(range(operation(Op::kMul, Type::kF32, x, between(1, 2))).maybe_nan);
}

TEST_F(FloatReasonTest, SignsAndAbsoluteValues) {
  expect(range(operation(Op::kNeg, Type::kF32, between(-1, 4))), -4, 1);
  expect(range(operation(Op::kAbs, Type::kF32, between(-1, 4))), 0, 4);
  expect(range(operation(Op::kAbs, Type::kF32, between(-4, -1))), 1, 4);
  expect(range(operation(Op::kAbs, Type::kF32, between(2, 3))), 2, 3);
}

TEST_F(FloatReasonTest, LeastAndGreatest) {
  const Value x = between(1, 5), y = between(3, 4);
  expect(range(operation(Op::kMin, Type::kF32, x, y)), 1, 4);
  expect(range(operation(Op::kMax, Type::kF32, x, y)), 3, 5);
  expect_anything(range(operation(Op::kMin, Type::kF32, x, any())));
}

TEST_F(FloatReasonTest, ConversionsFromIntegers) {
  const Value x = in(-3, 16777217);  // 2^24 + 1 is no float
  const FloatRange converted = range(table.operation(Op::kConvert, Type::kF32, 32, 32, {x, {}, {}}));
  EXPECT_EQ(converted.lo, -3);
  EXPECT_EQ(converted.hi, 16777218);
  expect_anything(range(table.operation(Op::kConvert, Type::kF32, 64, 32, {x, {}, {}})));
}

TEST_F(FloatReasonTest, IntegerOperationsAndRootsAreUnknown) {
  expect_anything(range(operation(Op::kAdd, Type::kS32, between(1, 2), between(1, 2))));
  expect_anything(range(operation(Op::kPure, Type::kF32, between(1, 2))));
}

TEST_F(FloatReasonTest, ComparisonsAreDecidedByRanges) {
  const Value x = between(1, 2), y = between(2, 3);
  EXPECT_EQ(truth(compare(CompareKind::kLe, x, y)), true);
  EXPECT_EQ(truth(compare(CompareKind::kLt, x, y)), std::nullopt);
  EXPECT_EQ(truth(compare(CompareKind::kLt, y, x)), false);
  EXPECT_EQ(truth(compare(CompareKind::kLe, y, x)), std::nullopt);
  EXPECT_EQ(truth(compare(CompareKind::kGe, x, y)), std::nullopt);
  EXPECT_EQ(truth(compare(CompareKind::kGt, y, x)), std::nullopt);
  EXPECT_EQ(truth(compare(CompareKind::kGt, x, y)), false);
  EXPECT_EQ(truth(compare(CompareKind::kGe, y, x)), true);
  EXPECT_EQ(truth(compare(CompareKind::kGt, y, number(1))), true);
  EXPECT_EQ(truth(compare(CompareKind::kGe, x, number(4))), false);
  EXPECT_EQ(truth(compare(CompareKind::kLe, y, number(1))), false);
  EXPECT_EQ(truth(compare(CompareKind::kLt, x, number(4))), true);
  EXPECT_EQ(truth(compare(CompareKind::kNumber, x, y)), true);
  EXPECT_EQ(truth(compare(CompareKind::kLt, x, any())), std::nullopt);
}

TEST_F(FloatReasonTest, ComparisonsOfRangesThatOverlapAreOpen) {
  const Value x = between(1, 4), y = between(2, 3);
  for (const CompareKind kind : {CompareKind::kLt, CompareKind::kLe, CompareKind::kGt, CompareKind::kGe}) {
    EXPECT_EQ(truth(compare(kind, x, y)), std::nullopt);
    EXPECT_EQ(truth(compare(kind, y, x)), std::nullopt);
  }
  EXPECT_EQ(truth(compare(CompareKind::kEq, x, y)), std::nullopt);
}

TEST_F(FloatReasonTest, AnIndexThatIsRoundedFromAFloatIsBounded) {
  const Value x = between(-0.5f, 7.5f);
  const Value index = table.operation(Op::kConvert, Type::kS32, 132, 32, {x, {}, {}});
  EXPECT_EQ(Reasoner(table, facts.at()).range(index, 32, true), (Interval{0, 7}));
}

TEST_F(FloatReasonTest, AnIndexFromAHugeFloatSaturates) {
  const Value x = between(0, 1e30f);
  const Value index = table.operation(Op::kConvert, Type::kS32, 132, 32, {x, {}, {}});
  EXPECT_EQ(Reasoner(table, facts.at()).range(index, 32, true), (Interval{0, kTwo31 - 1}));
  const Value unknown = table.operation(Op::kConvert, Type::kS32, 132, 32, {any(), {}, {}});
  EXPECT_EQ(Reasoner(table, facts.at()).range(unknown, 32, true), Interval::of_signed(32));
}

}  // namespace
}  // namespace glove::verify
