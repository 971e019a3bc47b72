// Metaspace: SentencePiece's way to keep spaces, as "▁" at the beginning of words.
#include "base/concat.h"
#include "text/tokenizers/pre_tokenizers.h"
#include "text/tokenizers/unicode.h"

namespace glove::tokenizers {
namespace {

enum class PrependScheme { kAlways, kFirst, kNever };

class Metaspace : public PreTokenizer {
 public:
  friend Result<std::unique_ptr<const PreTokenizer>> tokenizers::read_metaspace(const JsonField& field);

  bool needs_origin() const override { return scheme_ == PrependScheme::kFirst; }

  void apply(PieceList& pieces, TextWork& work) const override {
    pieces.rewrite(work, [&](std::string_view piece, std::string& out, const PieceSink& sink) {
      size_t begin = out.size();
      const bool has_prefix = piece.starts_with(' ') || piece.starts_with(replacement_);
      const bool prepends =
          scheme_ == PrependScheme::kAlways || (scheme_ == PrependScheme::kFirst && pieces.is_first(piece));
      if (prepends && !has_prefix) out += replacement_;
      for (size_t at = 0; at < piece.size() && !work.stop();) {
        const size_t length = piece[at] == ' ' ? 1 : length_of(piece[at]);
        const std::string_view character = piece.substr(at, length);
        const bool is_mark = piece[at] == ' ' || character == replacement_;
        if (is_mark && splits_) {
          sink(begin, out.size());
          begin = out.size();
        }
        out += is_mark ? std::string_view(replacement_) : character;
        at += length;
      }
      sink(begin, out.size());
    });
  }

 private:
  std::string replacement_;
  PrependScheme scheme_ = PrependScheme::kAlways;
  bool splits_ = true;
};

}  // namespace

Result<std::unique_ptr<const PreTokenizer>> read_metaspace(const JsonField& field) {
  auto made = std::make_unique<Metaspace>();
  GLOVE_ASSIGN_OR_RETURN(made->replacement_, field.string("replacement"));
  if (made->replacement_.empty() || made->replacement_.size() != length_of(made->replacement_[0]))
    return field.corrupt("must have one character as its 'replacement'");
  GLOVE_ASSIGN_OR_RETURN(const std::string scheme, field.string("prepend_scheme", "always"));
  if (scheme != "always" && scheme != "first" && scheme != "never")
    return field.corrupt("has the prepend_scheme " + quoted_value(scheme) +
                         ": it must be 'always', 'first' or 'never'");
  GLOVE_ASSIGN_OR_RETURN(const bool adds_space, field.boolean("add_prefix_space", true));
  if (!adds_space && scheme != "never")
    return field.corrupt("has an add_prefix_space that contradicts its prepend_scheme");
  made->scheme_ = scheme == "always"  ? PrependScheme::kAlways
                  : scheme == "first" ? PrependScheme::kFirst
                                      : PrependScheme::kNever;
  GLOVE_ASSIGN_OR_RETURN(made->splits_, field.boolean("split", true));
  return std::unique_ptr<const PreTokenizer>(std::move(made));
}

}  // namespace glove::tokenizers
