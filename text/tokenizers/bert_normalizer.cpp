// BertNormalizer: removes control characters, sets ideographs apart, removes accents, makes lower case.
#include <array>
#include <memory>

#include "text/tokenizers/normalizers.h"

namespace glove::tokenizers {
namespace {

// The blocks that BERT calls Chinese. The gap below U+2B920 is the reference's.
bool is_ideograph(char32_t code) {
  return (code >= 0x4e00 && code <= 0x9fff) || (code >= 0x3400 && code <= 0x4dbf) ||
         (code >= 0x20000 && code <= 0x2a6df) || (code >= 0x2a700 && code <= 0x2b73f) ||
         (code >= 0x2b740 && code <= 0x2b81f) || (code >= 0x2b920 && code <= 0x2ceaf) ||
         (code >= 0xf900 && code <= 0xfaff) || (code >= 0x2f800 && code <= 0x2fa1f);
}

class BertNormalizer {
 public:
  friend Result<Normalizer> tokenizers::read_bert_normalizer(const JsonField& field);

  void append(std::string_view text, NormalizerBuffers& buffers, std::string& out, TextWork& work) const {
    // ASCII characters do not take part in normalization forms, so what is between them can be treated by
    // itself.
    for (size_t at = 0; at < text.size() && !work.stop();) {
      at = append_ascii(text, at, out, work);
      const size_t begin = at;
      while (at < text.size() && static_cast<unsigned char>(text[at]) >= 0x80 && !work.stop())
        at += length_of(text[at]);  // so that an interrupt cuts no character in two
      if (begin < at) append_other(text.substr(begin, at - begin), buffers, out, work);
    }
  }

 private:
  // Appends characters as long as they are ASCII. Returns the position of the first other one.
  size_t append_ascii(std::string_view text, size_t at, std::string& out, TextWork& work) const {
    for (; at < text.size() && !work.stop(); ++at) {
      const auto byte = static_cast<unsigned char>(text[at]);
      if (byte >= 0x80) break;
      if (!drops_[byte]) out += ascii_[byte];
    }
    return at;
  }

  // Appends other characters, step by step.
  void append_other(std::string_view text, NormalizerBuffers& buffers, std::string& out,
                    TextWork& work) const {
    std::string& cleaned = buffers.clean;
    cleaned.clear();
    for (size_t at = 0; at < text.size() && !work.stop();) append_cleaned(next_code(text, at), cleaned);
    std::string_view rest = cleaned;
    if (strips_) {
      buffers.decomposed.clear();
      append_normalized(rest, Form::kNfd, buffers.marks, buffers.decomposed, work);
      rest = buffers.decomposed;
    }
    for (size_t at = 0; at < rest.size() && !work.stop();) {
      const char32_t code = next_code(rest, at);
      if (strips_ && has(code, kNonspacingMark)) continue;
      lowers_ ? append_lower(out, code) : append_code(out, code);
    }
  }

  void append_cleaned(char32_t code, std::string& out) const {
    const uint16_t flags = character(code).flags;
    if (cleans_ && (flags & kBertDropped) != 0) return;
    if (cleans_ && (flags & kWhite) != 0) code = ' ';
    const bool is_apart = separates_ && is_ideograph(code);
    if (is_apart) out += ' ';
    append_code(out, code);
    if (is_apart) out += ' ';
  }

  bool cleans_ = true, separates_ = true, strips_ = true, lowers_ = true;
  std::array<char, 128> ascii_;    // what ASCII characters become
  std::array<bool, 128> drops_{};  // which of them are removed
};

}  // namespace

Result<Normalizer> read_bert_normalizer(const JsonField& field) {
  const auto made = std::make_shared<BertNormalizer>();
  GLOVE_ASSIGN_OR_RETURN(made->cleans_, field.boolean("clean_text"));
  GLOVE_ASSIGN_OR_RETURN(made->separates_, field.boolean("handle_chinese_chars"));
  GLOVE_ASSIGN_OR_RETURN(made->lowers_, field.boolean("lowercase"));
  GLOVE_ASSIGN_OR_RETURN(made->strips_, field.boolean("strip_accents", made->lowers_));
  for (unsigned char byte = 0; byte < 128; ++byte) {
    const uint16_t flags = character(byte).flags;
    char& mapped = made->ascii_[byte];
    mapped = static_cast<char>(byte);
    if (made->lowers_ && byte >= 'A' && byte <= 'Z') mapped = static_cast<char>(byte + ('a' - 'A'));
    if (made->cleans_ && (flags & kWhite) != 0) mapped = ' ';
    made->drops_[byte] = made->cleans_ && (flags & kBertDropped) != 0;
  }
  return Normalizer{[made = std::shared_ptr<const BertNormalizer>(made)](
                        std::string_view text, NormalizerBuffers& buffers, std::string& out, TextWork& work) {
    made->append(text, buffers, out, work);
  }};
}

}  // namespace glove::tokenizers
