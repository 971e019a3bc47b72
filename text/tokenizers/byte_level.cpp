// ByteLevel: GPT-2's way to cut a text into words, and to spell their bytes.
#include "text/tokenizers/pre_tokenizers.h"
#include "text/tokenizers/unicode.h"

namespace glove::tokenizers {
namespace {

// The characters of all bytes, each of one or two bytes.
std::array<std::string, 256> alphabet() {
  std::array<std::string, 256> characters;
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool is_printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    append_code(characters[byte], is_printable ? byte : next++);
  }
  return characters;
}

constexpr uint16_t kClasses = kLetter | kNumber | kSpace;  // a character has at most one of them

// Finds the words of the regular expression
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// one after the other. They cover the whole text.
class Words {
 public:
  Words(std::string_view text, TextWork& work) : text_(text), work_(work) {}

  // Returns where the word that begins at `begin` ends.
  size_t end(size_t begin) const {
    if (const size_t length = clitic_length(text_.substr(begin))) return begin + length;
    const size_t first = text_[begin] == ' ' && begin + 1 < text_.size() ? begin + 1 : begin;
    const uint16_t kind = class_at(first);
    if (kind != kSpace) return run_end(first, kind);
    // White space: all at the end of the text, and otherwise all but the last character, which may belong to
    // the next word.
    const size_t end = run_end(begin, kSpace);
    if (end == text_.size()) return end;
    const size_t last = previous(text_, end);
    return last > begin ? last : end;
  }

 private:
  static size_t clitic_length(std::string_view text) {
    if (text.size() < 2 || text[0] != '\'') return 0;
    const auto is = [&](std::string_view clitic) { return text.substr(1).starts_with(clitic); };
    if (is("s") || is("t") || is("m") || is("d")) return 2;
    return is("re") || is("ve") || is("ll") ? 3 : 0;
  }

  uint16_t class_at(size_t at) const { return character(next_code(text_, at)).flags & kClasses; }

  size_t run_end(size_t at, uint16_t kind) const {
    while (at < text_.size() && class_at(at) == kind && !work_.stop()) at += length_of(text_[at]);
    return at;
  }

  std::string_view text_;
  TextWork& work_;
};

class ByteLevel : public PreTokenizer {
 public:
  [[gnu::cold]] static Result<std::unique_ptr<const PreTokenizer>> read(const JsonField& field) {
    auto made = std::make_unique<ByteLevel>();
    GLOVE_ASSIGN_OR_RETURN(made->adds_space_, field.boolean("add_prefix_space"));
    GLOVE_ASSIGN_OR_RETURN(made->finds_words_, field.boolean("use_regex", true));
    return std::unique_ptr<const PreTokenizer>(std::move(made));
  }

  void apply(PieceList& pieces, TextWork& work) const override {
    pieces.rewrite(work, [&](std::string_view piece, std::string& out, const PieceSink& sink) {
      std::string_view text = piece;
      if (adds_space_ && !piece.starts_with(' ')) {
        pieces.scratch.assign(1, ' ').append(piece);
        text = pieces.scratch;
      }
      const Words words(text, work);
      for (size_t begin = 0; begin < text.size() && !work.stop();) {
        const size_t end = finds_words_ ? words.end(begin) : text.size();
        const size_t from = out.size();
        append_spelled(text.substr(begin, end - begin), out, work);
        sink(from, out.size());
        begin = end;
      }
    });
  }

 private:
  bool adds_space_ = true;
  bool finds_words_ = true;
};

}  // namespace

void append_spelled(std::string_view bytes, std::string& out, TextWork& work) {
  static const std::array<std::string, 256> characters = alphabet();
  for (const char byte : bytes) {
    if (work.stop()) return;
    out += characters[static_cast<unsigned char>(byte)];
  }
}

Result<std::unique_ptr<const PreTokenizer>> read_byte_level(const JsonField& field) {
  return ByteLevel::read(field);
}

}  // namespace glove::tokenizers
