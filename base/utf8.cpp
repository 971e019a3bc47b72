#include "base/utf8.h"

#include "base/require.h"

namespace glove {
namespace {

// Whether a well-formed character moves the cursor, changes the terminal, hides text or reverses it: C0, DEL,
// C1, and the formatting characters U+061C, U+200B to U+200F, U+2028 to U+202E, U+2060 to U+206F, U+FEFF,
// U+FFF9 to U+FFFB.
bool is_unprintable(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  const char32_t code = utf8_code_point(character);
  if (character.size() == 2) return code < 0xA0 || code == 0x61C;
  return character.size() == 3 &&
         ((code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
          (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB));
}

}  // namespace

size_t utf8_character_length(std::string_view bytes) {
  if (bytes.empty()) return 0;
  const auto byte = [&](size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u; };
  const auto continues = [&](size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return continues(1) ? 2 : 0;
  if (first < 0xF0) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return byte(1) >= low && byte(1) <= high && continues(2) ? 3 : 0;
  }
  if (first > 0xF4) return 0;
  const unsigned low = first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
  return byte(1) >= low && byte(1) <= high && continues(2) && continues(3) ? 4 : 0;
}

char32_t utf8_code_point(std::string_view character) {
  GLOVE_REQUIRE(!character.empty() && utf8_character_length(character) == character.size());
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  char32_t code = first & (0x7Fu >> character.size());
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3Fu);
  return code;
}

bool is_valid_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t length = utf8_character_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string printable_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t length = bytes.front() == '\0' ? 0 : utf8_character_length(bytes);
    text += length == 0 ? kReplacementCharacter : bytes.substr(0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

std::string escaped(std::string_view bytes, size_t most) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::string_view shown = utf8_prefix(bytes, most);
  std::string text;
  for (std::string_view rest = shown; !rest.empty();) {
    const size_t length = utf8_character_length(rest);
    const std::string_view character = rest.substr(0, length == 0 ? 1 : length);
    rest.remove_prefix(character.size());
    if (length != 0 && !is_unprintable(character)) {
      text += character;
      continue;
    }
    for (const char c : character) {
      const auto byte = static_cast<unsigned char>(c);
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return shown.size() < bytes.size() ? text + "..." : text;
}

void ShortList::add(std::string_view name) {
  if (count_++ < kMostShown) shown_ += (shown_.empty() ? "" : ", ") + escaped(name);
}

std::string ShortList::text() const {
  return count_ <= kMostShown ? shown_ : shown_ + " and " + std::to_string(count_ - kMostShown) + " more";
}

std::string_view utf8_prefix(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0u) == 0x80u) --most;
  return text.substr(0, most);
}

std::string quoted_value(std::string_view value, size_t most) {
  const std::string_view shown = utf8_prefix(value, most);
  return "'" + std::string(shown) + (shown.size() < value.size() ? "...'" : "'");
}

}  // namespace glove
