#include "drawing/svg_text.h"

#include <array>
#include <cmath>
#include <cstdint>

#include "base/require.h"
#include "base/utf8.h"

namespace glove {
namespace {

// Whether XML 1.0 has no place for the character, or discourages it as a control character.
bool is_unsuitable(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code & 0xFFFE) == 0xFFFE ||
         (code >= 0xFDD0 && code < 0xFDF0);
}

}  // namespace

std::string xml_text(std::string_view text) {
  constexpr std::string_view kSpecial = "\t\n\r&<>\"";
  constexpr std::array kEscapes = {" ", " ", " ", "&amp;", "&lt;", "&gt;", "&quot;"};
  std::string out;
  while (!text.empty()) {
    const size_t length = utf8_character_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    text.remove_prefix(character.size());
    const size_t special = kSpecial.find(character.front());
    if (special != std::string_view::npos)
      out += kEscapes[special];
    else if (length == 0 || is_unsuitable(utf8_code_point(character)))
      out += kReplacementCharacter;
    else
      out += character;
  }
  return out;
}

void append_coordinate(std::string& out, double value) {
  GLOVE_REQUIRE(std::fabs(value) < 1e9);
  const auto tenths = static_cast<int64_t>(std::floor(value * 10 + 0.5));
  const int64_t size = tenths < 0 ? -tenths : tenths;
  if (tenths < 0) out += '-';
  out += std::to_string(size / 10);
  if (size % 10 != 0) {
    out += '.';
    out += static_cast<char>('0' + size % 10);
  }
}

}  // namespace glove
