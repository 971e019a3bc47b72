// glove_svg as SQL sees it. tests/examples draws a map and opens it in a browser.
#include <gtest/gtest.h>

#include <string>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

class SvgFunction : public ::testing::Test {
 protected:
  void SetUp() override {
    connection.rows(
        "CREATE TABLE p(x, y, label, kind); INSERT INTO p VALUES (0, 0, 'a<b', 'left'), (1, 1, 'c&d', "
        "'right'), "
        "(NULL, 1, 'gone', 'left'), (1, NULL, 'gone', 'gone'), ('4', 2.5, NULL, NULL), (3, 1, 7, 12)");
  }
  // How often the text occurs in the drawing of all points.
  size_t count(const std::string& text, const std::string& options = "NULL") {
    const std::string document =
        connection.value("SELECT glove_svg(x, y, label, kind, " + options + ") FROM p");
    size_t found = 0;
    for (size_t at = document.find(text); at != std::string::npos; at = document.find(text, at + 1)) ++found;
    return found;
  }
  Connection connection;
};

TEST_F(SvgFunction, DrawsPointsLabelsAndGroups) {
  EXPECT_EQ(count("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"960\" height=\"720\""), 1u);
  EXPECT_EQ(count("gone"), 0u) << "a row without a place is skipped";
  EXPECT_EQ(count(">a&lt;b</text>"), 1u);
  EXPECT_EQ(count(">c&amp;d</text>"), 1u);
  EXPECT_EQ(count(">7</text>"), 1u);
  EXPECT_EQ(count("h0"), 4u + 2u) << "points, and the marks of the legend";
  EXPECT_EQ(count(">left</text>"), 1u);
  EXPECT_EQ(count(">12</text>"), 0u) << "a number is no name";
  EXPECT_EQ(count("#777777"), 1u) << "points without a group are grey";
  EXPECT_EQ(count("class=\"contours\""), 1u);
}

TEST_F(SvgFunction, OptionsSayHow) {
  EXPECT_EQ(count("viewBox=\"0 0 300 8192\"", "'{\"width\":300,\"height\":8192}'"), 1u);
  EXPECT_EQ(count("contours", "'{\"contours\":0}'"), 0u);
  EXPECT_EQ(count("<text", "'{\"labels\":0}'"), 2u) << "the legend";
  EXPECT_EQ(count("<text", "'{\"labels\":1}'"), 3u);
  EXPECT_EQ(count("<title>x &lt; y</title>", "'{\"title\":\"x < y\"}'"), 1u);
  EXPECT_EQ(count("stroke-width=\"8\"", "'{\"radius\":4}'"), 4u + 2u);
  EXPECT_EQ(count("font-size=\"20\"", "'{\"font_size\":20}'"), 1u);
}

TEST_F(SvgFunction, NoPointsAreNoDrawing) {
  EXPECT_EQ(connection.value("SELECT glove_svg(x, y, label, kind) FROM p WHERE 0"), "NULL");
  EXPECT_EQ(connection.value("SELECT glove_svg(NULL, y, label, kind) FROM p"), "NULL");
  EXPECT_EQ(
      connection.value("SELECT count(*) FROM (SELECT glove_svg(x, y, label, kind) AS s FROM p GROUP BY kind) "
                       "WHERE s LIKE '<svg%</svg>_'"),
      "4");
}

// Numbers come first in their order, and then text.
TEST_F(SvgFunction, ColorsFollowTheOrderOfTheGroups) {
  const auto colors = [&](const char* order) {
    return connection.value(
        std::string("SELECT glove_svg(x, y, NULL, kind, '{\"contours\":0}') FROM (SELECT * FROM p "
                    "WHERE kind IS NOT NULL ORDER BY ") +
        order + ")");
  };
  const std::string document = colors("rowid");
  EXPECT_EQ(document, colors("rowid DESC")) << "points of one group have one path";
  EXPECT_LT(document.find("#332288"), document.find("#cc6677"));
}

// A point whose surroundings no number reaches.
TEST_F(SvgFunction, DrawsThePointsThatAreFarthestOut) {
  for (const char* const x : {"1.7976931348623157e308", "-1.7976931348623157e308"})
    EXPECT_EQ(connection.value(std::string("SELECT glove_svg(") + x + ", -(" + x +
                               "), 'far', 'g') LIKE '%>far</text>%'"),
              "1")
        << x;
}

TEST_F(SvgFunction, WorksInAnUntrustedSchema) {
  connection.rows(
      "PRAGMA trusted_schema = OFF; CREATE VIEW v AS SELECT glove_svg(x, y, label, kind) AS s FROM p");
  EXPECT_EQ(connection.value("SELECT s LIKE '<svg%' FROM v"), "1");
}

TEST_F(SvgFunction, ErrorsNameTheValue) {
  const auto error = [&](const std::string& arguments) {
    return connection.error("SELECT glove_svg(" + arguments + ") FROM p");
  };
  EXPECT_EQ(error("kind, y, label, kind"), "glove_svg: x is 'left', but must be a finite number");
  EXPECT_EQ(error("x, 9e999, label, kind"), "glove_svg: y is Inf, but must be a finite number");
  EXPECT_EQ(error("x, y, x'00', kind"),
            "glove_svg: the label must be text, not a BLOB; use CAST(... AS TEXT)");
  EXPECT_EQ(error("x, y, label, x'00'"),
            "glove_svg: the group must be text or a number, not a BLOB; use CAST(... AS TEXT)");
  EXPECT_EQ(error("x, y, label, kind, '{\"width\":99}'"),
            "glove_svg: option \"width\" is 99, but must be an integer from 100 to 8192");
  EXPECT_EQ(error("x, y, label, kind, '{\"title\":1}'"),
            "glove_svg: option \"title\" is 1, but must be text");
  EXPECT_EQ(
      error("x, y, label, kind, '{\"size\":1}'"),
      "glove_svg: unknown option \"size\"; the options are: width, height, title, labels, contours, radius, "
      "font_size");
}

}  // namespace
}  // namespace glove::testing
