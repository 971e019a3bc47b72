// Conditions about the order of numbers, and floats that are not NaN: value/orders.cpp.
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "values.h"

namespace glove::verify {
namespace {

class OrdersTest : public TableTest {
 protected:
  static Value single_float(float x) { return number(std::bit_cast<int32_t>(x)); }
  Value float_compare(CompareKind kind, Value a, Value b, bool flushes = false) {
    return table.compare(kind, true, !flushes, 32, a, b);
  }
  // A float that is not NaN: what may be it is replaced.
  Value a_number() {
    const Value x = any(), size = table.operation(Op::kAbs, Type::kF32, 0, 32, {x, {}, {}});
    const Value ordered = float_compare(CompareKind::kLe, size, single_float(HUGE_VALF));
    return table.select(ordered.form, x, single_float(-1), Type::kF32, 32);
  }
  // Whether a pair is the greater one: by its number and, of equal ones, by the lower index.
  Value is_better(Value number, Value index, Value than, Value its_index) {
    const Value ties =
        table.logical_and(float_compare(CompareKind::kEq, number, than), less(index, its_index));
    return table.logical_or(float_compare(CompareKind::kLt, than, number), ties);
  }
  // One of two numbers.
  Value either(int64_t a, int64_t b) {
    return table.select(table.fresh_predicate(Scope::kThread, true).form, number(a), number(b), Type::kS32,
                        32);
  }
  bool opposite(Value p, Value q) { return table.common_name(p.form) == (table.common_name(q.form) ^ 1); }
};

TEST_F(OrdersTest, KnowsNumbers) {
  const Value x = any();
  EXPECT_FALSE(table.is_number(x, 32));
  EXPECT_TRUE(table.is_number(a_number(), 32));
  EXPECT_FALSE(table.is_number(a_number(), 64)) << "its bits are half of another float";
  EXPECT_TRUE(table.is_number(single_float(HUGE_VALF), 32));
  EXPECT_FALSE(table.is_number(single_float(std::numeric_limits<float>::quiet_NaN()), 32));
}

TEST_F(OrdersTest, ASelectionIsANumberIfBothSidesAre) {
  const Value p = table.fresh_predicate(Scope::kThread, true), a = a_number();
  EXPECT_TRUE(table.is_number(table.select(p.form, a, single_float(2), Type::kF32, 32), 32));
  EXPECT_FALSE(table.is_number(table.select(p.form, a, any(), Type::kF32, 32), 32));
}

TEST_F(OrdersTest, TheTestForNanMustBeOfWhatIsSelected) {
  const Value x = any(), y = any();
  const Value ordered = float_compare(CompareKind::kNumber, x, x);
  EXPECT_TRUE(table.is_number(table.select(ordered.form, x, number(0), Type::kF32, 32), 32));
  EXPECT_FALSE(table.is_number(table.select(ordered.form, y, number(0), Type::kF32, 32), 32));
  EXPECT_FALSE(table.is_number(table.select(ordered.form ^ 1, x, number(0), Type::kF32, 32), 32));
}

TEST_F(OrdersTest, OneOfTwoPairsIsBetter) {
  const Value a = a_number(), b = a_number(), i = either(3, 19), j = either(11, 27);
  EXPECT_TRUE(opposite(is_better(a, i, b, j), is_better(b, j, a, i)));
}

TEST_F(OrdersTest, NanIsNotOrdered) {
  const Value a = any(), b = a_number(), i = either(3, 19), j = either(11, 27);
  EXPECT_FALSE(opposite(is_better(a, i, b, j), is_better(b, j, a, i)));
}

TEST_F(OrdersTest, EqualPairsHaveNoOrder) {
  const Value a = a_number(), b = a_number(), i = either(3, 19), j = either(11, 19);
  EXPECT_FALSE(opposite(is_better(a, i, b, j), is_better(b, j, a, i)));
}

TEST_F(OrdersTest, LessIsNotTheOppositeOfGreater) {
  const Value a = a_number(), b = a_number();
  EXPECT_FALSE(opposite(float_compare(CompareKind::kLt, a, b), float_compare(CompareKind::kLt, b, a)));
  EXPECT_TRUE(opposite(float_compare(CompareKind::kLt, a, b), float_compare(CompareKind::kLe, b, a)));
}

TEST_F(OrdersTest, ComparisonsThatFlushAreOthers) {
  const Value a = a_number(), b = a_number();
  EXPECT_FALSE(opposite(float_compare(CompareKind::kLt, a, b), float_compare(CompareKind::kLe, b, a, true)));
  EXPECT_TRUE(
      opposite(float_compare(CompareKind::kLt, a, b, true), float_compare(CompareKind::kLe, b, a, true)));
}

TEST_F(OrdersTest, SignsMakeAnotherOrder) {
  const Value a = any(), b = any();
  EXPECT_TRUE(opposite(less(a, b), at_most(b, a)));
  EXPECT_FALSE(opposite(less(a, b), up_to(b, a)));
}

TEST_F(OrdersTest, AnotherConditionCounts) {
  const Value a = a_number(), b = a_number(), p = table.fresh_predicate(Scope::kThread, true);
  const Value one = table.logical_and(p, float_compare(CompareKind::kLt, a, b));
  EXPECT_FALSE(opposite(one, float_compare(CompareKind::kLe, b, a)));
  EXPECT_TRUE(
      opposite(one, table.logical_or(SymbolTable::logical_not(p), float_compare(CompareKind::kLe, b, a))));
}

// In each order of two numbers, with and without another condition, the name says what the condition says.
TEST_F(OrdersTest, NamesAreThoseOfEqualFunctions) {
  const Value a = any(), b = any(), p = table.fresh_predicate(Scope::kThread, true);
  std::vector<std::pair<Value, unsigned>> made = {{less(a, b), 0b001001},
                                                  {less(b, a), 0b100100},
                                                  {equal(a, b), 0b010010},
                                                  {at_most(a, b), 0b011011},
                                                  {p, 0b111000}};
  for (size_t i = 0; i < 5; ++i)
    for (size_t j = 0; j < 5; ++j)
      for (const unsigned negate : {0u, 1u}) {
        const Value q = negate == 0 ? made[j].first : SymbolTable::logical_not(made[j].first);
        const unsigned rows = negate == 0 ? made[j].second : made[j].second ^ 0b111111;
        made.emplace_back(table.logical_and(made[i].first, q), made[i].second & rows);
        made.emplace_back(table.logical_xor(made[i].first, q), made[i].second ^ rows);
      }
  for (const auto& [one, rows] : made)
    for (const auto& [other, others] : made) {
      if (one.known() || other.known()) continue;
      EXPECT_TRUE(table.common_name(one.form) != table.common_name(other.form) || rows == others);
      EXPECT_TRUE(table.common_name(one.form) != (table.common_name(other.form) ^ 1) ||
                  rows == (others ^ 0b111111));
    }
}

TEST_F(OrdersTest, SelectionsKeepWhatBothSidesHaveInCommon) {
  EXPECT_EQ(table.residue_of(either(3, 19)), (std::pair<uint64_t, int64_t>(16, 3)));
  EXPECT_EQ(table.residue_of(either(3, 5)), (std::pair<uint64_t, int64_t>(2, 1)));
  EXPECT_EQ(table.residue_of(either(-1, 7)), (std::pair<uint64_t, int64_t>(8, 7)));
  EXPECT_EQ(table.residue_of(any()).first, 1u);
}

TEST_F(OrdersTest, AWarpSharesWhatAShuffleHandsOver) {
  const Value x = any(), claim = table.fresh(32, Scope::kThread, false, SymbolKind::kClaim);
  const Value sum = operation(Op::kMul, Type::kB32, x, any()),
              other = operation(Op::kMul, Type::kB32, x, claim);
  table.share(sum, Scope::kWarp);
  table.share(other, Scope::kWarp);
  EXPECT_EQ(table.scope_of(sum), Scope::kWarp);
  EXPECT_EQ(table.scope_of(x), Scope::kWarp);
  EXPECT_EQ(table.scope_of(other), Scope::kThread) << "each lane may have another";
}

TEST_F(OrdersTest, LanesOfAWarpExcludeEachOther) {
  const Value x = any(32, Scope::kWarp);
  Facts mine, other;
  mine.holds(equal(x, number(1)));
  other.holds(equal(x, number(2)));
  EXPECT_TRUE(exclude_each_other(mine.at(), other.at(1), true, table));
  EXPECT_FALSE(exclude_each_other(mine.at(), other.at(1), false, table));
}

}  // namespace
}  // namespace glove::verify
