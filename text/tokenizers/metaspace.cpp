// Metaspace: SentencePiece's way to keep spaces, as "▁" at the beginning of words.
#include "base/concat.h"
#include "text/tokenizers/pre_tokenizers.h"
#include "text/tokenizers/unicode.h"

namespace glove::tokenizers {

Result<PreTokenizer> read_metaspace(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const std::string replacement, field.string("replacement"));
  if (replacement.empty() || replacement.size() != length_of(replacement[0]))
    return field.corrupt("must have one character as its 'replacement'");
  GLOVE_ASSIGN_OR_RETURN(const std::string scheme, field.string("prepend_scheme", "always"));
  if (scheme != "always" && scheme != "first" && scheme != "never")
    return field.corrupt("has the prepend_scheme " + quoted_value(scheme) +
                         ": it must be 'always', 'first' or 'never'");
  GLOVE_ASSIGN_OR_RETURN(const bool adds_space, field.boolean("add_prefix_space", true));
  if (!adds_space && scheme != "never")
    return field.corrupt("has an add_prefix_space that contradicts its prepend_scheme");
  GLOVE_ASSIGN_OR_RETURN(const bool splits, field.boolean("split", true));
  const bool always = scheme == "always", first = scheme == "first";
  const auto apply = [=](PieceList& pieces, TextWork& work) {
    pieces.rewrite(work, [&](std::string_view piece, std::string& out, const PieceSink& sink) {
      size_t begin = out.size();
      const bool has_prefix = piece.starts_with(' ') || piece.starts_with(replacement);
      const bool prepends = always || (first && pieces.is_first(piece));
      if (prepends && !has_prefix) out += replacement;
      for (size_t at = 0; at < piece.size() && !work.stop();) {
        const size_t length = piece[at] == ' ' ? 1 : length_of(piece[at]);
        const std::string_view character = piece.substr(at, length);
        const bool is_mark = piece[at] == ' ' || character == replacement;
        if (is_mark && splits) {
          sink(begin, out.size());
          begin = out.size();
        }
        out += is_mark ? std::string_view(replacement) : character;
        at += length;
      }
      sink(begin, out.size());
    });
  };
  return PreTokenizer{apply, first};
}

}  // namespace glove::tokenizers
