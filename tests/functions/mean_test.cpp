// glove_mean, as an aggregate and as a window function.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

class Mean : public TinyModelTest {
 protected:
  // The mean over the rows of a VALUES list, in hex.
  std::string mean(const std::string& arguments, const std::string& values) {
    return connection.value("SELECT hex(glove_mean(" + arguments +
                            ")) FROM (SELECT column1 AS x, column2 AS w FROM (VALUES " + values + "))");
  }
};

constexpr const char* kOneTwo = "x'0000803f00000040'";     // (1, 2)
constexpr const char* kThreeZero = "x'0000404000000000'";  // (3, 0)

std::string two_rows(const std::string& first_weight, const std::string& second_weight) {
  return "(" + std::string(kOneTwo) + ", " + first_weight + "), (" + kThreeZero + ", " + second_weight + ")";
}

TEST_F(Mean, OfVectors) {
  EXPECT_EQ(mean("x", two_rows("0", "0")), "000000400000803F");     // (2, 1)
  EXPECT_EQ(mean("x, w", two_rows("1", "3")), "000020400000003F");  // (2.5, 0.5)
  EXPECT_EQ(mean("x, w", two_rows("1e300", "3e300")), "000020400000003F");
  EXPECT_EQ(mean("x, w", two_rows("5e-324", "0")), "0000803F00000040");
  EXPECT_EQ(mean("x, w", two_rows("'1'", "3.0")), "000020400000003F") << "text that is a number";
}

TEST_F(Mean, OfWordsIsThatOfTheirUnitVectors) {
  EXPECT_EQ(connection.value("SELECT glove_mean('king') = glove_vec('king')"), "1");
  EXPECT_EQ(
      connection.value("SELECT glove_mean(x) = glove_mean(glove_vec(x)) FROM (SELECT 'king' AS x UNION ALL "
                       "SELECT 'Queen' UNION ALL SELECT 'man')"),
      "1");
  EXPECT_EQ(mean("x", "('nosuchword', 1), ('the', 1), (NULL, 1), ('zero', 1)"), "0000803F0000000000000000");
}

TEST_F(Mean, IsNullWithoutWeight) {
  EXPECT_EQ(connection.value("SELECT glove_mean(x) FROM (SELECT 'the' AS x WHERE 0)"), "NULL");
  EXPECT_EQ(connection.value("SELECT glove_mean('nosuchword')"), "NULL");
  EXPECT_EQ(connection.value("SELECT glove_mean(NULL)"), "NULL");
  EXPECT_EQ(connection.value("SELECT glove_mean('the', 0)"), "NULL");
  EXPECT_EQ(connection.value("SELECT glove_mean('the', NULL)"), "NULL");
  EXPECT_EQ(connection.value(
                "SELECT hex(glove_mean(x)) FROM (SELECT x'0000803f' AS x UNION ALL SELECT x'000080bf')"),
            "00000000")
      << "a zero vector is a mean";
}

TEST_F(Mean, TakesAModel) {
  connection.rows("SELECT glove_load_table('other', 'SELECT ''king'', ''[0, 2]''')");
  EXPECT_EQ(connection.value("SELECT hex(glove_mean('king', 1, 'other'))"), "000000000000803F");
  EXPECT_EQ(connection.value("SELECT length(glove_mean('king', 1, NULL))"), "12");
  EXPECT_NE(connection.error("SELECT glove_mean('king', 1, 'nosuch')").find("no model 'nosuch'"),
            std::string::npos);
}

TEST_F(Mean, Errors) {
  EXPECT_EQ(connection.error("SELECT glove_mean(x) FROM (SELECT x'0000803f' AS x UNION ALL SELECT 'king')"),
            "glove_mean: the vectors must have the same number of components, but have 1 and 3");
  EXPECT_EQ(connection.error("SELECT glove_mean(x'0000')"),
            "glove_mean: x is a BLOB of 2 bytes; a float32 vector has 4 bytes per component");
  EXPECT_EQ(connection.error("SELECT glove_mean(x'')"),
            "glove_mean: x is an empty BLOB; a vector has at least one component");
  EXPECT_EQ(connection.error("SELECT glove_mean(x'0000c07f')"),
            "glove_mean: component 1 of x is NaN; every component must be finite");
  EXPECT_EQ(connection.error("SELECT glove_mean('king', -1)"),
            "glove_mean: the weight must be finite and not negative, but is -1");
  EXPECT_EQ(connection.error("SELECT glove_mean('king', 9e999)"),
            "glove_mean: the weight must be finite and not negative, but is Inf");
  EXPECT_EQ(connection.error("SELECT glove_mean('king', 'much')"),
            "glove_mean: the weight must be a number, but is 'much'");
  EXPECT_EQ(connection.error("SELECT glove_mean('king', x'31')"),
            "glove_mean: the weight must be a number, but is a BLOB");
  EXPECT_EQ(connection.error("SELECT glove_mean('king', -1) OVER ()"),
            "glove_mean: the weight must be finite and not negative, but is -1");
}

uint64_t mean_seed() {
  const char* const text = std::getenv("GLOVE_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
}

// Random vectors and weights of very different magnitudes.
void fill(Connection& connection, int rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  connection.rows("CREATE TABLE r(id INTEGER PRIMARY KEY, g, x, w)");
  for (int i = 1; i <= rows; ++i) {
    std::string blob = "x'";
    for (int byte = 0; byte < 12; ++byte) {
      const char digits[] = "0123456789abcdef";
      // The highest byte keeps the exponent finite.
      const auto value = byte % 4 == 3 ? static_cast<unsigned>(random() % 2 * 128 + random() % 127)
                                       : static_cast<unsigned>(random() % 256);
      blob += {digits[value / 16], digits[value % 16]};
    }
    const std::string weight = random() % 6 == 0 ? "0"
                                                 : std::to_string(random() % 1000) + "e" +
                                                       std::to_string(static_cast<int>(random() % 500) - 250);
    connection.rows("INSERT INTO r VALUES (" + std::to_string(i) + ", " + std::to_string(random() % 3) +
                    ", " + (random() % 8 == 0 ? "NULL" : blob + "'") + ", " + weight + ")");
  }
}

TEST_F(Mean, DoesNotDependOnTheOrder) {
  const uint64_t seed = mean_seed();
  SCOPED_TRACE("GLOVE_TEST_SEED=" + std::to_string(seed));
  fill(connection, 200, seed);
  EXPECT_EQ(
      connection.rows("SELECT g, glove_mean(x, w) FROM (SELECT * FROM r ORDER BY id) GROUP BY g"),
      connection.rows("SELECT g, glove_mean(x, w) FROM (SELECT * FROM r ORDER BY w, id DESC) GROUP BY g"));
}

TEST_F(Mean, AFrameHasTheBitsOfTheAggregate) {
  const uint64_t seed = mean_seed();
  SCOPED_TRACE("GLOVE_TEST_SEED=" + std::to_string(seed));
  fill(connection, 120, seed);
  EXPECT_EQ(
      connection.rows(
          "SELECT id, glove_mean(x, w) OVER (ORDER BY id ROWS BETWEEN 5 PRECEDING AND 2 FOLLOWING) FROM r "
          "ORDER BY id"),
      connection.rows(
          "SELECT o.id, (SELECT glove_mean(i.x, i.w) FROM r i WHERE i.id BETWEEN o.id - 5 AND o.id + 2) "
          "FROM r o ORDER BY o.id"));
  EXPECT_EQ(
      connection.rows("SELECT id, glove_mean(x, w) OVER (PARTITION BY g ORDER BY id ROWS 3 PRECEDING EXCLUDE "
                      "CURRENT ROW) "
                      "FROM r ORDER BY id"),
      connection.rows(
          "SELECT o.id, (SELECT glove_mean(x, w) FROM (SELECT * FROM r i WHERE i.g = o.g AND i.id < o.id "
          "ORDER BY id DESC LIMIT 3)) FROM r o ORDER BY o.id"));
}

TEST_F(Mean, AWindowEndsWithItsFrame) {
  EXPECT_EQ(connection.rows(
                "SELECT hex(glove_mean(x) OVER (ORDER BY i ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING)) FROM "
                "(SELECT 1 AS i, x'0000803f' AS x UNION ALL SELECT 2, x'00000040')"),
            (Rows{{"00000040"}, {""}}));
}

}  // namespace
}  // namespace glove::testing
