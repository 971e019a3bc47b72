// Contours, the placement of labels, and the drawing of a map.
#include "drawing/svg_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/float_environment.h"
#include "drawing/contours.h"
#include "drawing/label_placement.h"
#include "drawing/svg_text.h"
#include "tests/cpu/test_support.h"

namespace glove::test {
namespace {

// The value between the values of a grid by linear interpolation along a side; 0 beyond the border.
double value_at(const Grid& grid, const GridPlace& place) {
  const auto value = [&](double row, double column) {
    const auto i = static_cast<int64_t>(row);
    const auto j = static_cast<int64_t>(column);
    return i < 0 || j < 0 || i >= grid.rows || j >= grid.columns ? 0.0 : grid.row(i)[j];
  };
  const double row = std::floor(place.row), column = std::floor(place.column);
  const double down = place.row - row, across = place.column - column;
  EXPECT_TRUE(down == 0 || across == 0) << "a crossing lies on a side";
  const double from = value(row, column);
  return from + down * (value(row + 1, column) - from) + across * (value(row, column + 1) - from);
}

// How often a line winds around a place: the even-odd rule of a filled path.
bool is_inside(const std::vector<std::vector<GridPlace>>& lines, double row, double column) {
  bool inside = false;
  for (const auto& line : lines)
    for (size_t i = 0; i < line.size(); ++i) {
      const GridPlace a = line[i], b = line[(i + 1) % line.size()];
      if ((a.row > row) == (b.row > row)) continue;
      if (column < a.column + (row - a.row) / (b.row - a.row) * (b.column - a.column)) inside = !inside;
    }
  return inside;
}

TEST(Contours, SeparateTheValuesAboveALevel) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(70);
  for (const auto& [rows, columns] : {std::pair(1, 1), {1, 9}, {9, 1}, {2, 2}, {17, 23}, {40, 31}})
    for (const double level : {0.5, 3.5, 6.5}) {
      Grid grid(rows, columns);
      for (double& value : grid.values) value = static_cast<double>(random() % 8);
      const auto lines = contour_lines(grid, level);
      for (const auto& line : lines) {
        ASSERT_GE(line.size(), 4u);
        for (const GridPlace& place : line) ASSERT_NEAR(value_at(grid, place), level, 1e-9);
      }
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          ASSERT_EQ(is_inside(lines, static_cast<double>(i) + 1e-7, static_cast<double>(j) + 1e-7),
                    grid.row(i)[j] > level)
              << rows << " x " << columns << ", level " << level << ", row " << i << ", column " << j;
    }
}

TEST(Contours, SmallGrids) {
  EXPECT_TRUE(contour_lines(Grid(3, 3), 1).empty());
  EXPECT_TRUE(contour_lines(Grid(), 1).empty());
  Grid one(1, 1);
  one.values = {4};
  const auto lines = contour_lines(one, 1);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].size(), 4u);
  // A saddle: the mean, 2, decides.
  Grid saddle(2, 2);
  saddle.values = {4, 0, 0, 4};
  EXPECT_EQ(contour_lines(saddle, 1.5).size(), 1u);
  EXPECT_EQ(contour_lines(saddle, 2.5).size(), 2u);
}

TEST(Labels, DoNotOverlapAndStayInside) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(71);
  std::uniform_real_distribution<double> place(0, 1);
  for (const double side : {30.0, 333.0, 900.0}) {
    const PixelBox area{10, 20, 10 + side, 20 + side / 2};
    LabelPlacement placement(area, 3);
    std::vector<PixelBox> boxes;
    for (int i = 0; i < 3000; ++i) {
      PixelBox box;
      const double x = area.left + place(random) * side, y = area.top + place(random) * side / 2;
      const double width = 5 + place(random) * 90, height = 5 + place(random) * 15;
      if (!placement.place(x, y, width, height, box)) continue;
      ASSERT_TRUE(area.contains(box));
      ASSERT_NEAR(box.right - box.left, width, 1e-9);
      ASSERT_FALSE(box.left <= x && x <= box.right && box.top <= y && y <= box.bottom) << "covers its point";
      for (const PixelBox& other : boxes) ASSERT_FALSE(other.overlaps(box));
      boxes.push_back(box);
    }
    EXPECT_FALSE(boxes.empty());
  }
}

TEST(Labels, TheFirstHasPriority) {
  LabelPlacement placement({0, 0, 60, 12}, 2);
  PixelBox box;
  ASSERT_TRUE(placement.place(4, 6, 50, 10, box));
  EXPECT_EQ(box.left, 6);
  EXPECT_FALSE(placement.place(4, 6, 50, 10, box));
  EXPECT_FALSE(placement.place(4, 6, 70, 10, box)) << "wider than the area";
}

TEST(SvgText, IsSafeInXml) {
  EXPECT_EQ(xml_text("<a href=\"x\">&'</a>"), "&lt;a href=&quot;x&quot;&gt;&amp;'&lt;/a&gt;");
  EXPECT_EQ(xml_text(std::string_view("a\0b\x01\x1f\x7f\n\t", 8)),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd  ");
  EXPECT_EQ(xml_text("\xff\xc3\x28\xed\xa0\x80"),
            "\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(xml_text("\xef\xbf\xbe\xf0\x9f\x98\x80"), "\xef\xbf\xbd\xf0\x9f\x98\x80");
  std::string out;
  for (const double value : {0.0, 0.04, 0.05, 1.0, 12.34, -0.06, -3.0, 8191.96}) {
    append_coordinate(out, value);
    out += ' ';
  }
  EXPECT_EQ(out, "0 0 0.1 1 12.3 -0.1 -3 8192 ");
}

// Whatever the places and sizes are, every coordinate lies in the drawing.
TEST(SvgMap, DrawsAnyPoints) {
  SCOPED_TRACE(seed_text());
  const ScopedFloatEnvironment environment;
  std::mt19937_64 random = make_random(72);
  constexpr double kHuge = std::numeric_limits<double>::max();
  constexpr double kTiny = std::numeric_limits<double>::denorm_min();
  const std::vector<double> values[] = {{0},
                                        {1, 1, 1},
                                        {-kHuge, kHuge, 0},
                                        {kHuge},
                                        {-kHuge},
                                        {0, kTiny, 2 * kTiny},
                                        {1e300, 1e300 * (1 + 1e-15)},
                                        {-5, 3, 2, 7, 7, 7, 1}};
  for (const auto& x : values)
    for (const auto& y : values) {
      SvgMapPoints points;
      for (size_t i = 0; i < 60; ++i) {
        points.x.push_back(x[i % x.size()]);
        points.y.push_back(y[i % y.size()]);
        points.labels.push_back("label " + std::to_string(i));
        points.groups.push_back(static_cast<int32_t>(random() % 41) - 1);
      }
      points.group_names.resize(40, "a name that is longer than the legend is wide");
      for (const bool small : {false, true}) {
        SvgMapOptions options;
        options.title = "a title";
        if (small) {
          options.width = options.height = 100;
          options.radius = 50;
          options.font_size = 72;
        }
        const auto document = draw_map(points, options, {});
        ASSERT_TRUE(document.ok());
        EXPECT_EQ(document.value().find("nan"), std::string::npos);
        EXPECT_EQ(document.value().find("inf"), std::string::npos);
        EXPECT_EQ(document.value().find("-9"), std::string::npos);
        EXPECT_EQ(document.value(), draw_map(points, options, {}).value());
      }
    }
}

TEST(SvgMap, StopsWhenInterrupted) {
  const ScopedFloatEnvironment environment;
  SvgMapPoints points{{1, 2}, {3, 4}, {"a", "b"}, {0, -1}, {""}};
  EXPECT_EQ(draw_map(points, {}, [] { return true; }).error().code, ErrorCode::kInterrupted);
  SvgMapOptions plain;
  plain.contours = 0;
  EXPECT_EQ(draw_map(points, plain, [] { return true; }).error().code, ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace glove::test
