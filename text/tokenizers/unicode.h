// What normalizers and pre-tokenizers know about a character, in the versions of Unicode of the reference
// (make_unicode_tables.mjs lists them). text/tokenizer.cpp has those for the words of word models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizers/work.h"

namespace glove::tokenizers {

// Properties of a character, as bits.
inline constexpr uint16_t kWhite = 1;                    // white space
inline constexpr uint16_t kBertDropped = 2;              // control characters and others that BERT removes
inline constexpr uint16_t kPunctuation = 4;              // punctuation, and the symbols of ASCII
inline constexpr uint16_t kNumeric = 8;                  // numbers of any kind, for Digits
inline constexpr uint16_t kNonspacingMark = 16;          // for BERT's accents
inline constexpr uint16_t kMark = 32;                    // for StripAccents
inline constexpr uint16_t kWord = 64;                    // \w
inline constexpr uint16_t kLetter = 128;                 // \p{L} of ByteLevel
inline constexpr uint16_t kNumber = 256;                 // \p{N} of ByteLevel
inline constexpr uint16_t kSpace = 512;                  // \s of ByteLevel, Replace and Split
inline constexpr uint16_t kDecomposes = 1024;            // NFD changes it
inline constexpr uint16_t kDecomposesCompatibly = 2048;  // NFKD changes it
inline constexpr uint16_t kHasLower = 4096;              // Lowercase changes it
inline constexpr uint16_t kComposes = 8192;              // may be the second character of a composition

// The role of a character in grapheme clusters (UAX #29), as far as needed.
enum class ClusterKind : uint8_t {
  kOther,
  kCarriageReturn,
  kLineFeed,
  kControl,
  kExtend,
  kJoiner,
  kSpacingMark,
  kPrepend,
  kHangulL,
  kHangulV,
  kHangulT,
  kHangulLV,
  kHangulLVT,
  kPictograph,
};

// The role of a character in the conjuncts of Indic scripts (Indic_Conjunct_Break).
enum class ConjunctKind : uint8_t { kNone, kConsonant, kLinker, kExtend };

// The properties of a character.
struct Character {
  uint16_t flags;
  uint8_t combining_class;
  ClusterKind cluster;
  ConjunctKind conjunct;
};

// The properties of a code point up to U+10FFFF.
const Character& character(char32_t code);

// Whether a character has any of these properties.
inline bool has(char32_t code, uint16_t flags) {
  return (character(code).flags & flags) != 0;
}

// Reads the code point at `position` of well-formed UTF-8, and moves behind it.
inline char32_t next_code(std::string_view text, size_t& position) {
  const auto byte = [&](size_t offset) { return static_cast<unsigned char>(text[position + offset]); };
  const unsigned char lead = byte(0);
  char32_t code = lead;
  size_t length = 1;
  if (lead >= 0xf0) {
    code =
        static_cast<char32_t>((lead & 7) << 18 | (byte(1) & 63) << 12 | (byte(2) & 63) << 6 | (byte(3) & 63));
    length = 4;
  } else if (lead >= 0xe0) {
    code = static_cast<char32_t>((lead & 15) << 12 | (byte(1) & 63) << 6 | (byte(2) & 63));
    length = 3;
  } else if (lead >= 0xc0) {
    code = static_cast<char32_t>((lead & 31) << 6 | (byte(1) & 63));
    length = 2;
  }
  position += length;
  return code;
}

// The number of bytes of the character that begins with `lead`, and where the character before `position`
// begins.
inline size_t length_of(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}
inline size_t previous(std::string_view text, size_t position) {
  do --position;
  while ((static_cast<unsigned char>(text[position]) & 0xc0) == 0x80);
  return position;
}

// Appends a code point as UTF-8.
void append_code(std::string& text, char32_t code);

// Appends the lower case of a code point. U+0130 becomes two characters.
void append_lower(std::string& text, char32_t code);

// Returns `text`, any bytes, if it is well-formed UTF-8. Otherwise writes it to `buffer`, each maximal part
// of a character that is not well-formed replaced by U+FFFD, and returns that.
std::string_view well_formed(std::string_view text, std::string& buffer, TextWork& work);

// The normalization forms of UAX #15.
enum class Form { kNfc, kNfd, kNfkc, kNfkd };

// A character on its way to its place in a normalization form, and buffers of them.
struct Mark {
  char32_t code;
  uint8_t combining_class;
};
struct MarkBuffers {
  std::vector<Mark> run, sorted;
};

// Appends a normalization form of `text`.
void append_normalized(std::string_view text, Form form, MarkBuffers& buffers, std::string& out,
                       TextWork& work);

// Appends each byte of `bytes` as the printable character of GPT-2's byte-level encoding.
void append_spelled(std::string_view bytes, std::string& out, TextWork& work);

}  // namespace glove::tokenizers
