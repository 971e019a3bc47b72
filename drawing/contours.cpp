#include "drawing/contours.h"

#include <array>
#include <utility>

#include "base/require.h"

namespace glove {
namespace {

// The sides of the squares between values, of the grid with a border of zeros around it. Each side is crossed
// at most once and belongs to two squares, so the crossings form closed lines.
class Squares {
 public:
  Squares(const Grid& grid, double level)
      : grid_(grid), level_(level), width_(grid.columns + 2), height_(grid.rows + 2) {
    links_.assign(static_cast<size_t>(2 * width_ * height_), {-1, -1});
    for (int64_t i = 0; i + 1 < height_; ++i)
      for (int64_t j = 0; j + 1 < width_; ++j) link_square(i, j);
  }

  std::vector<std::vector<GridPlace>> lines() {
    std::vector<std::vector<GridPlace>> result;
    for (int64_t side = 0; side < static_cast<int64_t>(links_.size()); ++side) {
      if (links_[static_cast<size_t>(side)][0] < 0) continue;
      std::vector<GridPlace> line;
      for (int64_t at = side; at >= 0;) {
        line.push_back(crossing(at));
        at = leave(at);
      }
      result.push_back(std::move(line));
    }
    return result;
  }

 private:
  // Of the value at row i and column j with the border: the side to its right, and the one below it.
  int64_t right_of(int64_t i, int64_t j) const { return 2 * (i * width_ + j); }
  int64_t below(int64_t i, int64_t j) const { return 2 * (i * width_ + j) + 1; }

  double value(int64_t i, int64_t j) const {
    const bool inside = i > 0 && j > 0 && i + 1 < height_ && j + 1 < width_;
    return inside ? grid_.row(i - 1)[j - 1] : 0;
  }
  bool above(int64_t i, int64_t j) const { return value(i, j) > level_; }

  void link(int64_t a, int64_t b) {
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      auto& links = links_[static_cast<size_t>(from)];
      links[links[0] < 0 ? 0 : 1] = to;
    }
  }

  void link_square(int64_t i, int64_t j) {
    const std::array<bool, 4> corners = {above(i, j), above(i, j + 1), above(i + 1, j + 1), above(i + 1, j)};
    const std::array<int64_t, 4> sides = {right_of(i, j), below(i, j + 1), right_of(i + 1, j), below(i, j)};
    std::array<int64_t, 4> crossed{};
    size_t count = 0;
    for (size_t k = 0; k < 4; ++k)
      if (corners[k] != corners[(k + 1) % 4]) crossed[count++] = sides[k];
    if (count == 2) link(crossed[0], crossed[1]);
    if (count != 4) return;
    const double mean = value(i, j) / 4 + value(i, j + 1) / 4 + value(i + 1, j + 1) / 4 + value(i + 1, j) / 4;
    // The first corner is cut off from the others if it differs from the middle.
    const bool cut_first = corners[0] != (mean > level_);
    link(sides[0], sides[cut_first ? 3 : 1]);
    link(sides[2], sides[cut_first ? 1 : 3]);
  }

  GridPlace crossing(int64_t side) const {
    const int64_t i = side / 2 / width_;
    const int64_t j = side / 2 % width_;
    const bool down = side % 2 != 0;
    const double from = value(i, j);
    const double to = down ? value(i + 1, j) : value(i, j + 1);
    const double part = (level_ - from) / (to - from);
    return {static_cast<double>(j - 1) + (down ? 0 : part), static_cast<double>(i - 1) + (down ? part : 0)};
  }

  // Takes a side out of its line. Returns the next one, -1 at the end.
  int64_t leave(int64_t side) {
    auto& links = links_[static_cast<size_t>(side)];
    const int64_t next = links[0] >= 0 ? links[0] : links[1];
    for (const int64_t other : links)
      if (other >= 0)
        for (int64_t& back : links_[static_cast<size_t>(other)])
          if (back == side) back = -1;
    links = {-1, -1};
    return next;
  }

  const Grid& grid_;
  const double level_;
  const int64_t width_;
  const int64_t height_;
  std::vector<std::array<int64_t, 2>> links_;  // of each side: those that the line joins it to, or -1
};

}  // namespace

std::vector<std::vector<GridPlace>> contour_lines(const Grid& grid, double level) {
  GLOVE_REQUIRE(level > 0);
  return Squares(grid, level).lines();
}

}  // namespace glove
