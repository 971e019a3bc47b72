// Decimal text -> the nearest float32.
#pragma once

namespace glove {

// Reads one number at the front of [begin, end) and gives the position after it, or nullptr if there is no
// number. Decimal and exponent notation with an optional sign, "nan" and "inf"; correctly rounded, as
// std::from_chars; a magnitude too small becomes a zero, one too large an infinity. Stops at
// the first character that cannot belong to the number. Locale-free.
// REQUIRES: the float environment.
const char* parse_float(const char* begin, const char* end, float& value);

}  // namespace glove
