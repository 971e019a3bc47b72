// ByteLevel: GPT-2's way to cut a text into words, and to spell their bytes.
#include <optional>
#include <string_view>

#include "text/tokenizers/pattern.h"
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

// The words of GPT-2, which cover the whole text.
constexpr std::string_view kWords =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace

void append_spelled(std::string_view bytes, std::string& out, TextWork& work) {
  static const std::array<std::string, 256> characters = alphabet();
  for (const char byte : bytes) {
    if (work.stop()) return;
    out += characters[static_cast<unsigned char>(byte)];
  }
}

Result<PreTokenizer> read_byte_level(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const bool adds_space, field.boolean("add_prefix_space"));
  GLOVE_ASSIGN_OR_RETURN(const bool finds_words, field.boolean("use_regex", true));
  const std::optional<Pattern> words = finds_words ? Pattern::expression(kWords) : std::nullopt;
  return PreTokenizer{[=](PieceList& pieces, TextWork& work) {
    pieces.rewrite(work, [&](std::string_view piece, std::string& out, const PieceSink& sink) {
      std::string_view text = piece;
      if (adds_space && !piece.starts_with(' ')) {
        pieces.scratch.assign(1, ' ').append(piece);
        text = pieces.scratch;
      }
      for (size_t begin = 0; begin < text.size() && !work.stop();) {
        const size_t end = words ? words->find(text, begin, work).end : text.size();
        const size_t from = out.size();
        append_spelled(text.substr(begin, end - begin), out, work);
        sink(from, out.size());
        begin = end;
      }
    });
  }};
}

}  // namespace glove::tokenizers
