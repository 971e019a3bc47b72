#include "drawing/svg_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "analysis/density.h"
#include "base/concat.h"
#include "base/utf8.h"
#include "drawing/contours.h"
#include "drawing/label_placement.h"
#include "drawing/svg_text.h"

namespace glove {
namespace {

constexpr double kMargin = 12;       // around everything, in pixels
constexpr double kLabelPadding = 1;  // around the text of a label
constexpr double kTitleScale = 1.4;  // of the font size
constexpr double kLegendLine = 1.6;
constexpr double kLegendMark = 16;     // the width of the column of marks
constexpr double kLegendShare = 0.25;  // of the width, at most
constexpr double kLabelShare = 0.33;
constexpr double kDensityCells = 100;  // along the longer side
constexpr double kDensitySigma = 2;    // in cells
constexpr size_t kLabelsBetweenChecks = 256;
constexpr size_t kPointsBetweenChecks = 4096;

// Paul Tol's scheme "muted" with three of his others, and grey for points without a group.
constexpr std::array kColors = {"#332288", "#cc6677", "#117733", "#88ccee", "#882255", "#ddcc77",
                                "#44aa99", "#aa4499", "#999933", "#ee7733", "#0077bb", "#663333"};
constexpr const char* kNoGroupColor = "#777777";
constexpr int kMarks = 4;  // circle, square, triangle, diamond

// Returns the text or, if it is wider than `width`, a prefix that is not, with an ellipsis.
std::string fitted(const std::string& text, double font_size, double width) {
  if (text_width(text) * font_size <= width) return text;
  const double most = width / font_size - 1;  // the ellipsis takes less
  double used = 0;
  size_t end = 0;
  while (end < text.size()) {
    const std::string_view rest = std::string_view(text).substr(end);
    const std::string_view character = rest.substr(0, std::max<size_t>(1, utf8_character_length(rest)));
    used += text_width(character);
    if (used > most) break;
    end += character.size();
  }
  return text.substr(0, end) + "\xe2\x80\xa6";
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// The places of values along one side of the drawing, as shares of it. The difference of two values may be
// infinite, their halves' is not.
class Axis {
 public:
  Axis(double least, double most) : factor_(std::isfinite(most - least) ? 1 : 0.5) {
    least_ = factor_ * least;
    range_ = factor_ * most - least_;
  }
  double share(double value) const { return (factor_ * value - least_) / range_; }
  double half_range() const { return factor_ == 1 ? range_ / 2 : range_; }

 private:
  double factor_;
  double least_ = 0;
  double range_ = 0;
};

class MapDrawing {
 public:
  MapDrawing(const SvgMapPoints& points, const SvgMapOptions& options) : points_(points), options_(options) {
    const auto width = static_cast<double>(options.width);
    const auto height = static_cast<double>(options.height);
    plot_ = {kMargin, kMargin, width - kMargin, height - kMargin};
    if (!options.title.empty()) plot_.top += kTitleScale * options.font_size * (kTextAscent + kTextDescent);
    choose_legend();
    plot_.right = std::max(plot_.left + 1, plot_.right);
    plot_.bottom = std::max(plot_.top + 1, plot_.bottom);
  }

  Result<std::string> draw(const InterruptCheck& interrupted) {
    GLOVE_RETURN_IF_ERROR(find_pixels(interrupted));
    draw_head();
    GLOVE_RETURN_IF_ERROR(draw_contours(interrupted));
    GLOVE_RETURN_IF_ERROR(draw_points(interrupted));
    draw_legend();
    GLOVE_RETURN_IF_ERROR(draw_labels(interrupted));
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  // Names that have a place in the legend, and the width that it takes from the plot.
  void choose_legend() {
    const double most = kLegendShare * static_cast<double>(options_.width);
    const double line = kLegendLine * options_.font_size;
    for (size_t group = 0; group < points_.group_names.size(); ++group)
      if (!points_.group_names[group].empty()) legend_.push_back(group);
    if (legend_.empty()) return;
    const auto lines = static_cast<size_t>(std::max(1.0, (plot_.bottom - plot_.top) / line));
    if (legend_.size() > lines) {
      legend_left_out_ = legend_.size() - lines + 1;
      legend_.resize(lines - 1);
    }
    double widest = legend_left_out_ > 0 ? text_width("and 1000000 more") : 0;
    for (const size_t group : legend_)
      widest = std::max(widest, text_width(printable_utf8(points_.group_names[group])));
    legend_text_ = std::min(most, widest * options_.font_size);
    plot_.right -= kLegendMark + legend_text_ + kMargin;
  }

  Status find_pixels(const InterruptCheck& interrupted) {
    const PlaneExtent extent = extent_of(points_.x, points_.y);
    const Axis across(extent.x_min, extent.x_max);
    const Axis up(extent.y_min, extent.y_max);
    const double side = std::max(plot_.right - plot_.left, plot_.bottom - plot_.top);
    const double room = options_.contours > 0 ? 2 * kDensitySigma * side / kDensityCells : 0;
    const double inset = std::min({std::max(options_.radius + 1, room), (plot_.right - plot_.left) / 4,
                                   (plot_.bottom - plot_.top) / 4});
    const double room_across = plot_.right - plot_.left - 2 * inset;
    const double room_down = plot_.bottom - plot_.top - 2 * inset;
    double width = room_across;
    double height = width * (up.half_range() / across.half_range());
    if (!(height <= room_down)) {
      height = room_down;
      width = std::min(room_across, height * (across.half_range() / up.half_range()));
    }
    const double left = plot_.left + inset + (room_across - width) / 2;
    const double bottom = plot_.bottom - inset - (room_down - height) / 2;
    for (size_t i = 0; i < points_.x.size(); ++i) {
      if (i % kPointsBetweenChecks == 0) GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
      x_.push_back(left + width * across.share(points_.x[i]));
      y_.push_back(bottom - height * up.share(points_.y[i]));
    }
    return {};
  }

  void place(const char* letter, double x, double y) {
    out_ += letter;
    append_coordinate(out_, x);
    out_ += ' ';
    append_coordinate(out_, y);
  }

  void attribute(const char* name, double value) {
    out_ += std::string(" ") + name + "=\"";
    append_coordinate(out_, value);
    out_ += '"';
  }

  void text(double x, double baseline, const std::string& content, double length = 0) {
    out_ += "<text";
    attribute("x", x);
    attribute("y", baseline);
    if (length > 0) {
      attribute("textLength", length);
      out_ += " lengthAdjust=\"spacingAndGlyphs\"";
    }
    out_ += ">" + xml_text(content) + "</text>\n";
  }

  void draw_head() {
    const std::string width = std::to_string(options_.width);
    const std::string height = std::to_string(options_.height);
    out_ += "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" + height +
            "\" viewBox=\"0 0 " + width + " " + height +
            "\" role=\"img\" font-family=\"sans-serif\" font-size=\"";
    append_coordinate(out_, options_.font_size);
    out_ += "\">\n";
    if (!options_.title.empty()) out_ += "<title>" + xml_text(options_.title) + "</title>\n";
    out_ += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    if (options_.title.empty()) return;
    const double size = kTitleScale * options_.font_size;
    const double room = static_cast<double>(options_.width) - 2 * kMargin;
    out_ += "<g class=\"title\" fill=\"#222222\"";
    attribute("font-size", size);
    out_ += ">\n";
    text(kMargin, kMargin + kTextAscent * size, fitted(printable_utf8(options_.title), size, room));
    out_ += "</g>\n";
  }

  Status draw_contours(const InterruptCheck& interrupted) {
    if (options_.contours == 0) return {};
    const double cell = std::max(plot_.right - plot_.left, plot_.bottom - plot_.top) / kDensityCells;
    DensityOptions density;
    density.width = static_cast<int64_t>(std::ceil((plot_.right - plot_.left) / cell));
    density.height = static_cast<int64_t>(std::ceil((plot_.bottom - plot_.top) / cell));
    density.sigma = kDensitySigma;
    density.extent = {plot_.left, plot_.top, plot_.left + cell * static_cast<double>(density.width),
                      plot_.top + cell * static_cast<double>(density.height)};
    GLOVE_ASSIGN_OR_RETURN(const Grid grid, point_density(x_, y_, density, 1, interrupted));
    const double most = *std::ranges::max_element(grid.values);
    out_ +=
        "<g class=\"contours\" fill=\"#4477aa\" fill-opacity=\"0.08\" fill-rule=\"evenodd\" "
        "stroke=\"#4477aa\" "
        "stroke-opacity=\"0.3\" stroke-width=\"0.6\">\n";
    for (int64_t level = 1; level <= options_.contours; ++level) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
      out_ += "<path d=\"";
      for (const auto& line : contour_lines(
               grid, most * static_cast<double>(level) / static_cast<double>(options_.contours + 1)))
        draw_line(line, cell);
      out_ += "\"/>\n";
    }
    out_ += "</g>\n";
    return {};
  }

  void draw_line(const std::vector<GridPlace>& line, double cell) {
    for (size_t i = 0; i < line.size(); ++i)
      place(i == 0 ? "M" : (i == 1 ? "L" : " "),
            std::clamp(plot_.left + cell * (line[i].column + 0.5), plot_.left, plot_.right),
            std::clamp(plot_.top + cell * (line[i].row + 0.5), plot_.top, plot_.bottom));
    out_ += 'z';
  }

  // A path of marks for a group, -1 for the points without one: color and shape, and then mark() for each.
  void begin_marks(int64_t group) {
    const char* const color =
        group < 0 ? kNoGroupColor : kColors[static_cast<size_t>(group) % kColors.size()];
    out_ += "<path ";
    if (mark_of(group) == 0) {
      out_ += std::string("stroke=\"") + color + "\" stroke-linecap=\"round\"";
      attribute("stroke-width", 2 * options_.radius);
    } else {
      out_ += std::string("fill=\"") + color + '"';
    }
    out_ += " d=\"";
  }

  static int64_t mark_of(int64_t group) {
    return group < 0 ? 0 : group / static_cast<int64_t>(kColors.size()) % kMarks;
  }

  void mark(int64_t group, double x, double y) {
    const double r = options_.radius;
    switch (mark_of(group)) {
      case 0:  // a line of no length with round ends
        place("M", x, y);
        out_ += "h0";
        return;
      case 1:
        place("M", x - r, y - r);
        place("l", 2 * r, 0);
        place("l", 0, 2 * r);
        place("l", -2 * r, 0);
        break;
      case 2:
        place("M", x, y - r);
        place("l", r, 2 * r);
        place("l", -2 * r, 0);
        break;
      default:
        place("M", x, y - r);
        place("l", r, r);
        place("l", -r, r);
        place("l", -r, -r);
    }
    out_ += 'z';
  }

  Status draw_points(const InterruptCheck& interrupted) {
    std::vector<size_t> order(points_.groups.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t i) { return points_.groups[i]; });
    out_ += "<g class=\"points\" fill=\"none\" opacity=\"0.75\">\n";
    for (size_t i = 0; i < order.size(); ++i) {
      if (i % kPointsBetweenChecks == 0) GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
      const int64_t group = points_.groups[order[i]];
      if (i == 0 || points_.groups[order[i - 1]] != group) begin_marks(group);
      mark(group, x_[order[i]], y_[order[i]]);
      if (i + 1 == order.size() || points_.groups[order[i + 1]] != group) out_ += "\"/>\n";
    }
    out_ += "</g>\n";
    return {};
  }

  void draw_legend() {
    if (legend_.empty() && legend_left_out_ == 0) return;
    const double left = static_cast<double>(options_.width) - kMargin - legend_text_;
    const double line = kLegendLine * options_.font_size;
    double middle = plot_.top + line / 2;
    out_ += "<g class=\"legend\" fill=\"#222222\">\n";
    const auto entry = [&](const std::string& name) {
      text(left, middle + 0.35 * options_.font_size,
           fitted(printable_utf8(name), options_.font_size, legend_text_));
      middle += line;
    };
    for (const size_t group : legend_) {
      begin_marks(static_cast<int64_t>(group));
      mark(static_cast<int64_t>(group), left - kLegendMark / 2, middle);
      out_ += "\"/>\n";
      entry(points_.group_names[group]);
    }
    if (legend_left_out_ > 0) entry(concat("and ", legend_left_out_, " more"));
    out_ += "</g>\n";
  }

  Status draw_labels(const InterruptCheck& interrupted) {
    const double size = options_.font_size;
    const double most = kLabelShare * (plot_.right - plot_.left);
    LabelPlacement placement(plot_, options_.radius + 1);
    out_ +=
        "<g class=\"labels\" fill=\"#222222\" stroke=\"#ffffff\" stroke-width=\"2\" "
        "stroke-linejoin=\"round\" "
        "paint-order=\"stroke\">\n";
    int64_t placed = 0;
    for (size_t i = 0; i < points_.labels.size() && placed < options_.labels; ++i) {
      if (i % kLabelsBetweenChecks == 0) GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
      if (points_.labels[i].empty()) continue;
      const std::string label = fitted(printable_utf8(points_.labels[i]), size, most);
      const double width = text_width(label) * size;
      PixelBox box;
      if (!placement.place(x_[i], y_[i], width + 2 * kLabelPadding,
                           (kTextAscent + kTextDescent) * size + 2 * kLabelPadding, box))
        continue;
      text(box.left + kLabelPadding, box.top + kLabelPadding + kTextAscent * size, label,
           is_ascii(label) ? 0 : width);
      ++placed;
    }
    out_ += "</g>\n";
    return {};
  }

  const SvgMapPoints& points_;
  const SvgMapOptions& options_;
  PixelBox plot_;
  std::vector<double> x_, y_;   // in pixels
  std::vector<size_t> legend_;  // groups
  size_t legend_left_out_ = 0;
  double legend_text_ = 0;  // the width of its text
  std::string out_;
};

}  // namespace

Result<std::string> draw_map(const SvgMapPoints& points, const SvgMapOptions& options,
                             const InterruptCheck& interrupted) {
  return MapDrawing(points, options).draw(interrupted);
}

}  // namespace glove
