#include "base/status.h"

#include "base/concat.h"
#include "base/utf8.h"

namespace glove {

Failure::Failure(Error&& error) : error_(new Error(std::move(error))) {}

Failure::Failure(ErrorCode code, std::string&& message) : error_(new Error{code, std::move(message)}) {}

Error* Failure::copy(const Error& error) {
  return new Error(error);
}

void Failure::destroy(Error* error) noexcept {
  delete error;
}

void TextPiece::append_to(std::string& text) const {
  if (size_ < kNatural)
    text.append(text_, size_);
  else
    text += size_ == kReal      ? std::to_string(real_)
            : size_ == kInteger ? std::to_string(integer_)
                                : std::to_string(natural_);
}

std::string concat_pieces(std::span<const TextPiece> pieces) {
  std::string text;
  for (const TextPiece& piece : pieces) piece.append_to(text);
  return text;
}

std::string counted(int64_t count, std::string_view plural) {
  if (count == 1) plural.remove_suffix(1);
  return concat(count, ' ', plural);
}

Error error_of_pieces(ErrorCode code, std::span<const TextPiece> pieces) {
  return {code, concat_pieces(pieces)};
}

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

std::string quoted_value(std::string_view value, size_t most) {
  const std::string_view shown = utf8_prefix(value, most);
  return "'" + std::string(shown) + (shown.size() < value.size() ? "...'" : "'");
}

}  // namespace glove
