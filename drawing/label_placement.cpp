#include "drawing/label_placement.h"

#include <algorithm>

#include "base/utf8.h"

namespace glove {
namespace {

constexpr double kCellPixels = 50;

// Of printable ASCII characters.
double ascii_width(char character) {
  constexpr std::string_view kNarrow = " !'(),-./:;I[\\]`fijlrt{|}\"J";
  constexpr std::string_view kWide = "%@MWmw";
  if (kNarrow.find(character) != std::string_view::npos) return 0.47;
  if (kWide.find(character) != std::string_view::npos) return 1.01;
  const bool is_capital = character >= 'A' && character <= 'Z';
  return is_capital || character == '&' || character == '#' || character == '+' || character == '<' ||
                 character == '>' || character == '=' || character == '~' || character == '^'
             ? 0.85
             : 0.65;
}

double wide_character(char32_t code) {
  if (code >= 0x300 && code < 0x370) return 0;  // combining marks
  if (code < 0x2000) return 0.75;               // alphabets
  if (code >= 0x1F000) return 1.3;              // emoji
  return 1;                                     // ideographs, syllables, symbols
}

}  // namespace

double text_width(std::string_view text) {
  double width = 0;
  while (!text.empty()) {
    const size_t length = std::max<size_t>(1, utf8_character_length(text));
    width +=
        length == 1 ? ascii_width(text.front()) : wide_character(utf8_code_point(text.substr(0, length)));
    text.remove_prefix(length);
  }
  return width;
}

LabelPlacement::LabelPlacement(const PixelBox& area, double gap)
    : area_(area),
      gap_(gap),
      columns_(static_cast<int64_t>((area.right - area.left) / kCellPixels) + 1),
      rows_(static_cast<int64_t>((area.bottom - area.top) / kCellPixels) + 1),
      cells_(static_cast<size_t>(columns_ * rows_)) {}

// Calls visit(cell) for the cells that the box reaches into, until one returns false. REQUIRES: it lies in
// the area.
template <class Visit>
bool LabelPlacement::visit_cells(const PixelBox& box, Visit visit) const {
  const auto column = [&](double x) { return static_cast<int64_t>((x - area_.left) / kCellPixels); };
  const auto row = [&](double y) { return static_cast<int64_t>((y - area_.top) / kCellPixels); };
  for (int64_t i = row(box.top); i <= row(box.bottom); ++i)
    for (int64_t j = column(box.left); j <= column(box.right); ++j)
      if (!visit(static_cast<size_t>(i * columns_ + j))) return false;
  return true;
}

bool LabelPlacement::is_free(const PixelBox& box) const {
  return visit_cells(box, [&](size_t cell) {
    return std::ranges::none_of(cells_[cell], [&](const PixelBox& other) { return other.overlaps(box); });
  });
}

bool LabelPlacement::place(double x, double y, double width, double height, PixelBox& box) {
  struct Side {
    double across, down;  // 1: beyond the point; 0: centred; -1: before it
  };
  constexpr Side kSides[] = {{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {1, -1}, {-1, -1}, {1, 1}, {-1, 1}};
  for (const Side side : kSides) {
    const double left = x + side.across * gap_ + (side.across - 1) * width / 2;
    const double top = y + side.down * gap_ + (side.down - 1) * height / 2;
    const PixelBox candidate{left, top, left + width, top + height};
    if (!area_.contains(candidate) || !is_free(candidate)) continue;
    visit_cells(candidate, [&](size_t cell) {
      cells_[cell].push_back(candidate);
      return true;
    });
    box = candidate;
    return true;
  }
  return false;
}

}  // namespace glove
