// Each input has one number for as long as a cursor is open.
#include "sql/adapter/input_numbers.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

namespace glove::sql::vtab {
namespace {

TEST(InputNumbers, 01_EqualInputsHaveOneNumber) {
  InputNumbers numbers;
  numbers.open();
  EXPECT_EQ(numbers.number_of("king"), 0);
  EXPECT_EQ(numbers.number_of("queen"), 1);
  EXPECT_EQ(numbers.number_of(""), 2);
  EXPECT_EQ(numbers.number_of(std::string_view("king\0x", 6)), 3);
  EXPECT_EQ(numbers.number_of("king"), 0);
  EXPECT_EQ(numbers.number_of(""), 2);
  EXPECT_EQ(numbers.size(), 4u);
}

// The number stays the same however many other inputs come in between.
TEST(InputNumbers, 02_NothingIsForgottenWhileACursorIsOpen) {
  constexpr int kInputs = 20000;
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  InputNumbers numbers;
  numbers.open();
  for (int i = 0; i < kInputs; ++i) ASSERT_EQ(numbers.number_of(std::to_string(i)), i);
  numbers.open();
  numbers.close();  // not the last
  for (int i = 0; i < kInputs; ++i) ASSERT_EQ(numbers.number_of(std::to_string(i)), i);
  for (int i = 0; i < kInputs; ++i) {
    const int input = std::uniform_int_distribution(0, kInputs - 1)(random);
    ASSERT_EQ(numbers.number_of(std::to_string(input)), input);
  }
  EXPECT_EQ(numbers.size(), size_t{kInputs});
}

TEST(InputNumbers, 03_TheLastCursorForgetsAll) {
  InputNumbers numbers(2 * (InputNumbers::kEntryBytes + 1));
  for (int round = 0; round < 100; ++round) {
    numbers.open();
    numbers.open();
    ASSERT_EQ(numbers.cursors(), 2u);
    const std::string first = round % 2 == 0 ? "a" : "b";
    const std::string second = round % 2 == 0 ? "b" : "a";
    ASSERT_EQ(numbers.number_of(first), 0);
    ASSERT_EQ(numbers.number_of(second), 1);
    numbers.close();
    ASSERT_EQ(numbers.number_of(second), 1);
    numbers.close();
    ASSERT_EQ(numbers.size(), 0u);
  }
}

TEST(InputNumbers, 04_FullMeansNoNumberForNewInputs) {
  InputNumbers numbers(3 * InputNumbers::kEntryBytes + 6);
  numbers.open();
  EXPECT_EQ(numbers.number_of("ab"), 0);
  EXPECT_EQ(numbers.number_of("cd"), 1);
  EXPECT_EQ(numbers.number_of("efg"), -1);  // one byte too long
  EXPECT_EQ(numbers.number_of("ef"), 2);
  EXPECT_EQ(numbers.number_of(""), -1);
  EXPECT_EQ(numbers.number_of("cd"), 1);
  EXPECT_EQ(numbers.size(), 3u);
}

// A live index has rows of any id.
TEST(InputNumbers, 05_RowidsTellEveryRowOfEveryInputApart) {
  InputNumbers numbers;
  ScanRowids first(numbers, "t"), second(numbers, "t");
  std::set<int64_t> rowids;
  const int64_t rows[] = {0,  1,        INT32_MAX, int64_t{1} << 31, (int64_t{1} << 31) + 1, int64_t{1} << 62,
                          -1, INT64_MIN};
  for (const std::string key : {"k1", "k2", "k3"}) {
    first.start(key);
    second.start(key);
    for (const int64_t row : rows) {
      const int64_t rowid = first.rowid(row).value();
      EXPECT_TRUE(rowids.insert(rowid).second) << key << ", " << row;
      EXPECT_EQ(second.rowid(row).value(), rowid) << key << ", " << row;
    }
  }
}

TEST(InputNumbers, 06_AFullTableSaysWhatToDo) {
  InputNumbers numbers(InputNumbers::kEntryBytes + 2);
  ScanRowids rowids(numbers, "t");
  rowids.start("k1");
  EXPECT_TRUE(rowids.rowid(7).ok());
  rowids.start("k2");
  const auto full = rowids.rowid(7);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().message,
            "t: the running statements tell the rows of 1 different inputs apart by their rowids, and there "
            "is no room for more; finish other statements that read the table, or split this one: an OR into "
            "a UNION, or its outer rows into parts");
}

}  // namespace
}  // namespace glove::sql::vtab
