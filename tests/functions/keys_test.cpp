// glove_keys: an aggregate of ids.
#include <gtest/gtest.h>

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

TEST(Keys, MustBeIntegers) {
  Connection connection;
  for (const char* id : {"'1'", "1.5", "1.0", "x'01'", "9223372036854775808", "''"}) {
    const std::string error = connection.error(std::string("SELECT glove_keys(") + id + ")");
    EXPECT_NE(error.find("glove_keys: id must be an INTEGER or NULL, but is "), std::string::npos) << error;
  }
  EXPECT_NE(connection.error("SELECT glove_keys(1.5)").find("but is 1.5;"), std::string::npos);
}

}  // namespace
}  // namespace glove::testing
