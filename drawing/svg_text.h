// The pieces of an SVG document: escaped text and coordinates.
#pragma once

#include <string>
#include <string_view>

namespace glove {

// Text as the content or a quoted attribute of an XML element. Bytes that are not UTF-8 and characters that
// XML 1.0 does not allow or discourages become U+FFFD; tabs and line ends become spaces.
std::string xml_text(std::string_view text);

// Appends a number with one decimal, rounded half up; ".0" is left out. REQUIRES: |value| < 10^9.
void append_coordinate(std::string& out, double value);

}  // namespace glove
