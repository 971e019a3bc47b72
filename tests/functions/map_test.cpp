// glove_map as SQL sees it.
#include <gtest/gtest.h>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

// Around (2, 1), four times as wide along the first axis; "nothing" has no direction.
constexpr const char* kCross =
    "east 6 1\n"
    "west -2 1\n"
    "north 2 2\n"
    "south 2 0\n"
    "nothing 0 0\n";

class MapTable : public ::testing::Test {
 protected:
  void SetUp() override {
    unload_all(connection);
    connection.rows("SELECT glove_load(" + sql_text(folder.write("cross.txt", kCross)) + ", 'cross')");
  }
  void TearDown() override { unload_all(connection); }

  TemporaryFolder folder;
  Connection connection;
};

constexpr const char* kRaw = "NULL, NULL, '{\"unit_rows\":false}'";

TEST_F(MapTable, PlacesWordsByTheirComponents) {
  EXPECT_EQ(connection.rows(std::string("SELECT word, x, y FROM glove_map(4, ") + kRaw + ")"),
            (Rows{{"east", "4", "0"}, {"west", "-4", "0"}, {"north", "0", "1"}, {"south", "0", "-1"}}));
  EXPECT_EQ(
      connection.rows(std::string("SELECT word, x FROM glove_map('[\"west\",\"EAST\",null]', ") + kRaw + ")"),
      (Rows{{"east", "4"}, {"west", "-4"}}));
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_map(0)"), "0");
  EXPECT_EQ(connection.value(std::string("SELECT count(*) FROM glove_map(NULL, ") + kRaw + ")"), "5");
}

// The sum of squares along an axis is its singular value's square.
TEST_F(MapTable, MapsDirectionsByDefault) {
  EXPECT_EQ(connection.rows("SELECT word FROM glove_map"), (Rows{{"east"}, {"west"}, {"north"}, {"south"}}))
      << "a word without a direction has no place";
  EXPECT_EQ(connection.value("SELECT abs(sum(x * x) / p.singular_value / p.singular_value - 1) < 1e-6 AND "
                             "abs(sum(x)) < 1e-6 FROM glove_map, glove_pca(1, NULL, NULL, NULL, "
                             "'{\"unit_rows\":true}') p WHERE p.component = 1"),
            "1");
}

TEST_F(MapTable, EachCombinationOfInputsHasItsOwnRows) {
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_map WHERE (words = 2) OR (words = 3)"), "5");
  EXPECT_EQ(connection.rows("SELECT DISTINCT words, model FROM glove_map(2, 'cross')"),
            (Rows{{"2", "cross"}}));
  EXPECT_EQ(connection.value(
                "SELECT m.x - n.x FROM glove_map(3) m JOIN glove_map(3) n USING (word) WHERE word = 'west'"),
            "0");
}

TEST_F(MapTable, AModelOfOneDimensionLiesOnALine) {
  connection.rows("SELECT glove_load_table('line', 'SELECT 7, ''[1]'' UNION ALL SELECT 9, ''[3]''')");
  EXPECT_EQ(
      connection.rows(std::string("SELECT typeof(word), word, x, y FROM glove_map(NULL, 'line', NULL, ") +
                      "'{\"unit_rows\":false}')"),
      (Rows{{"integer", "7", "-1", "0"}, {"integer", "9", "1", "0"}}));
}

TEST_F(MapTable, ErrorsNameTheInput) {
  const auto error = [&](const std::string& arguments) {
    return connection.error("SELECT * FROM glove_map(" + arguments + ")");
  };
  EXPECT_EQ(error("'x'").substr(0, 27), "glove_map: words is 'x', bu");
  EXPECT_EQ(error("1, NULL, NULL, '{\"method\":\"tsne\"}'"),
            "glove_map: option \"method\" is \"tsne\", but must be \"pca\"");
  EXPECT_EQ(error("1, NULL, NULL, '{\"seed\":1}'"),
            "glove_map: unknown option \"seed\"; the options are: method, unit_rows");
  EXPECT_EQ(error("'[\"nothing\"]'"), "glove_map: there is no row to compute principal components of");
}

}  // namespace
}  // namespace glove::testing
