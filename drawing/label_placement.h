// Labels beside points, none of which overlap.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace glove {

// A rectangle in pixels; y grows downwards.
struct PixelBox {
  double left = 0, top = 0, right = 0, bottom = 0;

  bool overlaps(const PixelBox& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
  bool contains(const PixelBox& other) const {
    return left <= other.left && other.right <= right && top <= other.top && other.bottom <= bottom;
  }
};

// The height of a line of text, above and below its baseline, as a share of the font size: what the tallest
// of the usual sans-serif fonts needs.
constexpr double kTextAscent = 1.1;
constexpr double kTextDescent = 0.35;

// A width that the text does not exceed, as a share of the font size, if it consists of printable ASCII
// characters and the font is one of the usual sans-serif ones: the advances are those of DejaVu Sans, which
// is the widest, rounded up. For other characters it is only typical. REQUIRES: the text is valid UTF-8.
double text_width(std::string_view text);

// Places labels one after the other: who asks first has priority. Each gets the first of eight places around
// its point (right, left, above, below, and the four corners) that lies in the area and overlaps no earlier
// label, or none.
class LabelPlacement {
 public:
  // `gap` is the distance between the point and the box of its label.
  LabelPlacement(const PixelBox& area, double gap);

  // Whether there is room for a label of this size. If so, `box` is where.
  bool place(double x, double y, double width, double height, PixelBox& box);

 private:
  bool is_free(const PixelBox& box) const;
  template <class Visit>
  bool visit_cells(const PixelBox& box, Visit visit) const;

  const PixelBox area_;
  const double gap_;
  int64_t columns_;
  int64_t rows_;
  std::vector<std::vector<PixelBox>> cells_;  // [rows, columns]: the labels that reach into each cell
};

}  // namespace glove
