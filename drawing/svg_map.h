// Draws points in the plane as an SVG document.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace glove {

struct SvgMapOptions {
  int64_t width = 960;  // in pixels
  int64_t height = 720;
  int64_t labels = 200;   // at most
  int64_t contours = 6;   // levels of density; 0: none
  double radius = 2.5;    // of a point, in pixels
  double font_size = 11;  // in pixels
  std::string title;      // empty: none
};

// What to draw. All text may be any bytes: what no XML document may contain is replaced by U+FFFD.
struct SvgMapPoints {
  std::vector<double> x, y;              // [points]; y grows upwards
  std::vector<std::string> labels;       // [points]; empty: none
  std::vector<int32_t> groups;           // [points]: an index of group_names; -1: no group
  std::vector<std::string> group_names;  // in the order of their colours; those that are empty have no
                                         // place in the legend
};

// Returns a document of SVG 1.1: the title, filled contours of the points' density, a mark per point in the
// colour of its group, labels, and a legend of the groups that have names. Both axes have one scale, and the
// points fill the width or the height.
//
// The nine colours are Paul Tol's scheme "muted", which people with any colour vision can tell apart; further
// groups have the same colours with other marks. Points without a group are grey. Points that come first have
// priority for labels (drawing/label_placement.h), and no two labels overlap: boxes are wide enough for
// DejaVu Sans, and text with other characters than ASCII is set to the width of its box.
//
// The same points give the same bytes on every machine. Errors: an interrupt. REQUIRES: the float
// environment; there are points, and all are finite; the sizes are positive.
Result<std::string> draw_map(const SvgMapPoints& points, const SvgMapOptions& options,
                             const InterruptCheck& interrupted);

}  // namespace glove
