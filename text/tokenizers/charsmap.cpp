// Precompiled: the table of SentencePiece's normalizer ("precompiled_charsmap").
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/utf8.h"
#include "text/tokenizers/normalizers.h"

namespace glove::tokenizers {
namespace {

// Extended grapheme clusters (UAX #29). Pairs of regional indicators are not joined: no cluster with one is
// short enough to be looked up as a whole.

bool is_control(ClusterKind kind) {
  return kind == ClusterKind::kCarriageReturn || kind == ClusterKind::kLineFeed ||
         kind == ClusterKind::kControl;
}

// Rules GB6 to GB8.
bool joins_syllable(ClusterKind left, ClusterKind right) {
  using enum ClusterKind;
  if (left == kHangulL)
    return right == kHangulL || right == kHangulV || right == kHangulLV || right == kHangulLVT;
  if (left == kHangulV || left == kHangulLV) return right == kHangulV || right == kHangulT;
  return (left == kHangulT || left == kHangulLVT) && right == kHangulT;
}

// The characters of a cluster so far.
class Cluster {
 public:
  explicit Cluster(const Character& first) { add(first); }

  // Whether the next character belongs to the cluster.
  bool takes(const Character& next) const {
    using enum ClusterKind;
    if (last_ == kCarriageReturn) return next.cluster == kLineFeed;
    if (is_control(last_) || is_control(next.cluster)) return false;
    if (joins_syllable(last_, next.cluster)) return true;
    if (next.cluster == kExtend || next.cluster == kJoiner || next.cluster == kSpacingMark) return true;
    if (last_ == kPrepend) return true;
    if (linked_ && next.conjunct == ConjunctKind::kConsonant) return true;
    return picture_joined_ && next.cluster == kPictograph;
  }

  void add(const Character& next) {
    using enum ClusterKind;
    picture_joined_ = picture_ && next.cluster == kJoiner;
    picture_ = next.cluster == kPictograph || (picture_ && next.cluster == kExtend);
    if (next.conjunct == ConjunctKind::kConsonant) {
      consonant_ = true;
      linked_ = false;
    } else if (next.conjunct == ConjunctKind::kNone) {
      consonant_ = linked_ = false;
    } else if (next.conjunct == ConjunctKind::kLinker) {
      linked_ = consonant_;
    }
    last_ = next.cluster;
  }

 private:
  ClusterKind last_ = ClusterKind::kOther;
  bool picture_ = false;         // a pictograph and any number of kExtend
  bool picture_joined_ = false;  // the same and a joiner
  bool consonant_ = false;       // a consonant and any number of linkers and kExtend
  bool linked_ = false;          // the same with a linker
};

// Returns where the grapheme cluster that begins at `begin` ends.
size_t cluster_end(std::string_view text, size_t begin, TextWork& work) {
  size_t end = begin;
  Cluster cluster(character(next_code(text, end)));
  while (end < text.size() && !work.stop()) {
    size_t after = end;
    const Character& next = character(next_code(text, after));
    if (!cluster.takes(next)) break;
    cluster.add(next);
    end = after;
  }
  return end;
}

// A double-array trie of strings (in the format of darts-clone) and their replacements. Immutable.
class Charsmap {
 public:
  // Reads the base64 text of a charsmap.
  static Result<Charsmap> read(const JsonField& field);

  // Appends the normalized text. As in the reference, a grapheme cluster of fewer than 6 bytes is replaced as
  // a whole by the replacement of the shortest key that begins it, and otherwise each character is.
  void append_normalized(std::string_view text, std::string& out, TextWork& work) const;

 private:
  bool append_replacement(std::string_view key, std::string& out) const;

  std::vector<uint32_t> units_;
  std::string replacements_;    // each ends with NUL
  bool keeps_ascii_[128] = {};  // characters that no key begins with
};

// Parts of a unit of the trie.
bool has_leaf(uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
uint32_t label(uint32_t unit) {
  return unit & (0x80000000u | 0xff);
}
uint32_t offset(uint32_t unit) {
  return (unit >> 10) << ((unit & 1u << 9) >> 6);
}

// Decodes base64 with padding. Returns false if it is malformed.
[[gnu::cold]] bool decode_base64(std::string_view text, std::string& bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return false;
  for (size_t padding = 0; padding < 2 && !text.empty() && text.back() == '='; ++padding)
    text.remove_suffix(1);
  bytes.reserve(text.size() / 4 * 3);
  uint32_t bits = 0;
  unsigned count = 0;
  for (const char digit : text) {
    const size_t value = kDigits.find(digit);
    if (value == std::string_view::npos) return false;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count);
  }
  return count < 6 && (bits & ((1u << count) - 1)) == 0;
}

[[gnu::cold]] Result<Charsmap> Charsmap::read(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const std::string text, field.string("precompiled_charsmap"));
  std::string bytes;
  if (!decode_base64(text, bytes)) return field.corrupt("has a precompiled_charsmap that is not base64");
  Charsmap map;
  uint32_t table_bytes = 0;
  if (bytes.size() >= sizeof table_bytes) std::memcpy(&table_bytes, bytes.data(), sizeof table_bytes);
  if (table_bytes < 4 || table_bytes > bytes.size() - 4)
    return field.corrupt("has a precompiled_charsmap of " + std::to_string(bytes.size()) +
                         " bytes, which is truncated");
  map.units_.resize(table_bytes / 4);
  std::memcpy(map.units_.data(), bytes.data() + 4, 4 * map.units_.size());
  map.replacements_ = bytes.substr(4 + 4 * map.units_.size());
  if (!is_valid_utf8(map.replacements_))
    return field.corrupt("has a precompiled_charsmap whose text is not UTF-8");
  for (uint32_t code = 1; code < 128; ++code) {
    const uint64_t child = offset(map.units_[0]) ^ code;
    map.keeps_ascii_[code] = child >= map.units_.size() || label(map.units_[child]) != code;
  }
  map.keeps_ascii_[0] = true;
  return map;
}

// Finds the shortest key that begins `key`.
bool Charsmap::append_replacement(std::string_view key, std::string& out) const {
  uint32_t node = offset(units_[0]);
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return false;
    node ^= byte;
    if (node >= units_.size() || label(units_[node]) != byte) return false;
    const uint32_t unit = units_[node];
    node ^= offset(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size()) return false;
    const size_t begin = units_[node] & 0x7fffffffu;
    // Only a damaged table points outside the text or into a character.
    if (begin >= replacements_.size() || (static_cast<unsigned char>(replacements_[begin]) & 0xc0) == 0x80)
      return false;
    out += replacements_.c_str() + begin;
    return true;
  }
  return false;
}

void Charsmap::append_normalized(std::string_view text, std::string& out, TextWork& work) const {
  constexpr size_t kMostWhole = 5;
  const auto is_ascii = [&](size_t at) {
    return at >= text.size() || static_cast<unsigned char>(text[at]) < 0x80;
  };
  for (size_t begin = 0; begin < text.size() && !work.stop();) {
    if (is_ascii(begin) && is_ascii(begin + 1) && text[begin] != '\r') {  // a cluster of its own
      if (keeps_ascii_[static_cast<unsigned char>(text[begin])] ||
          !append_replacement(text.substr(begin, 1), out))
        out += text[begin];
      if (work.is_too_large(out.size())) return;
      ++begin;
      continue;
    }
    const size_t end = cluster_end(text, begin, work);
    const bool is_whole =
        end - begin <= kMostWhole && append_replacement(text.substr(begin, end - begin), out);
    while (!is_whole && begin < end && !work.stop()) {
      const std::string_view character = text.substr(begin, length_of(text[begin]));
      if (!append_replacement(character, out)) out += character;
      begin += character.size();
      if (work.is_too_large(out.size())) return;
    }
    begin = end;
  }
}

}  // namespace

Result<Normalizer> read_precompiled(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(Charsmap read, Charsmap::read(field));
  const auto map = std::make_shared<const Charsmap>(std::move(read));
  return Normalizer{[map](std::string_view text, NormalizerBuffers&, std::string& out, TextWork& work) {
                      map->append_normalized(text, out, work);
                    },
                    // The reference does not account for characters that are removed at the beginning.
                    [map](std::string_view text, size_t origin, std::string& out, TextWork& work) {
                      out.clear();
                      for (size_t begin = 0, end = origin;
                           out.empty() && begin < text.size() && !work.stop();) {
                        map->append_normalized(text.substr(begin, end - begin), out, work);
                        begin = end;
                        if (begin < text.size()) end += length_of(text[begin]);
                      }
                      return out.size();
                    }};
}

}  // namespace glove::tokenizers
