// Converts decimal text to the nearest float32.
#pragma once

namespace glove {

// Parses a number at the front of [begin, end) and returns the position after it, or nullptr if there is no
// number. Accepts decimal and exponent notation with an optional sign, "nan" and "inf". The result is
// correctly rounded, as by std::from_chars; too small a magnitude becomes zero, and too large a magnitude
// becomes infinity. Stops at the first character that cannot belong to the number. Independent of the locale.
// REQUIRES: the float environment.
const char* parse_float(const char* begin, const char* end, float& value);

}  // namespace glove
