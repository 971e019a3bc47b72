// glove_keys: an aggregate of ids.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/functions/connection.h"

namespace glove::testing {
namespace {

std::string keys(Connection& connection, const std::string& values) {
  return connection.value("SELECT hex(glove_keys(column1)) FROM (VALUES " + values + ")");
}

TEST(Keys, AreSortedAndUnique) {
  Connection connection;
  EXPECT_EQ(keys(connection, "(2), (1), (2), (NULL), (1)"), "01000000000000000200000000000000");
  EXPECT_EQ(keys(connection, "(-1), (9223372036854775807), (-9223372036854775808)"),
            "0000000000000080"
            "FFFFFFFFFFFFFFFF"
            "FFFFFFFFFFFFFF7F");
  constexpr const char* kMany =
      "WITH RECURSIVE c(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM c WHERE i < 99999) ";
  EXPECT_EQ(connection.value(std::string(kMany) + "SELECT length(glove_keys(i * 7919 % 10007)) FROM c"),
            std::to_string(8 * 10007));
  EXPECT_EQ(connection.value(std::string(kMany) + "SELECT glove_keys(i) = glove_keys(99999 - i) FROM c"),
            "1");
}

TEST(Keys, OfNoIdAreNull) {
  Connection connection;
  EXPECT_EQ(connection.value("SELECT glove_keys(1) WHERE 0"), "NULL");
  EXPECT_EQ(connection.value("SELECT glove_keys(NULL)"), "NULL");
}

// One set of each: the order of the rows, duplicates and keys with a NULL make no difference.
TEST(Keys, MayBeOfAnyTypeAndOfSeveralColumns) {
  Connection connection;
  const auto set_of = [&connection](const std::string& key, const std::string& values) {
    return connection.value("SELECT glove_keys(" + key + ") FROM (VALUES " + values + ")");
  };
  std::set<std::string> sets;
  for (const char* values : {"('1')", "(1.0)", "(x'31')", "(9223372036854775808.0)", "('')", "(x'')",
                             "('a'), ('b')", "('ab')", "(1), ('a')"})
    EXPECT_TRUE(sets.insert(set_of("column1", values)).second) << values;
  EXPECT_TRUE(sets.insert(set_of("column1, column2", "('a', 1)")).second);
  EXPECT_TRUE(sets.insert(set_of("column1, column2", "('a', '1')")).second);
  EXPECT_EQ(set_of("column1", "('b'), (NULL), ('a'), ('b')"), set_of("column1", "('a'), ('b')"));
  EXPECT_EQ(set_of("column1, column2", "('b', NULL), ('a', 1), (NULL, 1)"),
            set_of("column1, column2", "('a', 1)"));
  EXPECT_EQ(set_of("column1, column2", "('b', NULL)"), "NULL");
  EXPECT_EQ(set_of("column1, column2", "('b', x'00ff'), ('a', 1.5)"), "[[\"a\",1.5],[\"b\",[\"00ff\"]]]");
  EXPECT_NE(connection.error("SELECT glove_keys(9e999)").find("a key is infinite"), std::string::npos);
}

}  // namespace
}  // namespace glove::testing
