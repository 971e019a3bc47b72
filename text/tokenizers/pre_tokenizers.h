// The second step of a tokenizer: the text is cut into pieces, and no token will contain parts of two.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/tokenizers/json.h"
#include "text/tokenizers/work.h"

namespace glove::tokenizers {

struct Span {
  size_t begin, end;
};

// Receives the pieces of one piece, in order. Drops empty ones.
struct PieceSink {
  std::vector<Span>& spans;

  void operator()(size_t begin, size_t end) const {
    if (begin < end) spans.push_back({begin, end});
  }
};

// A text and its pieces. An object is reused for many texts.
class PieceList {
 public:
  // Begins with the whole text as one piece. Its first `origin` bytes come from the first character of the
  // source.
  void start(std::string_view text, size_t origin) {
    text_ = text;
    origin_ = origin;
    spans_.clear();
    PieceSink{spans_}(0, text.size());
  }

  const std::vector<Span>& spans() const { return spans_; }
  std::string_view text(Span span) const { return text_.substr(span.begin, span.end - span.begin); }

  // Whether a piece begins with what comes from the first character of the source.
  bool is_first(std::string_view piece) const {
    return static_cast<size_t>(piece.data() - text_.data()) < origin_;
  }

  // Replaces each piece by its parts. Calls cut(piece, sink) for each, with positions in the piece.
  template <class Cut>
  void split(TextWork& work, const Cut& cut) {
    next_.clear();
    for (const Span span : spans_) {
      if (work.stopped()) break;
      cut(text(span), [&, sink = PieceSink{next_}](size_t begin, size_t end) {
        sink(span.begin + begin, span.begin + end);
      });
    }
    spans_.swap(next_);
  }

  // Replaces each piece by pieces of a new text. Calls rewrite(piece, out, sink) for each, with positions in
  // `out`.
  template <class Rewrite>
  void rewrite(TextWork& work, const Rewrite& rewrite) {
    std::string& out = text_.data() == texts_[0].data() ? texts_[1] : texts_[0];
    out.clear();
    next_.clear();
    const PieceSink sink{next_};
    size_t origin = 0;
    for (const Span span : spans_) {
      if (span.begin < origin_) {  // what its part from the first character becomes is the part again
        const size_t size = out.size(), count = next_.size();
        rewrite(text({span.begin, std::min(span.end, origin_)}), out, sink);
        origin = out.size();
        out.resize(size);
        next_.resize(count);
      }
      rewrite(text(span), out, sink);
      if (work.is_too_large(out.size())) break;
    }
    origin_ = origin;
    spans_.swap(next_);
    text_ = out;
  }

  std::string scratch;  // for one piece

 private:
  std::string_view text_;
  size_t origin_ = 0;
  std::vector<Span> spans_, next_;
  std::string texts_[2];
};

// One step. Immutable.
struct PreTokenizer {
  std::function<void(PieceList& pieces, TextWork& work)> apply;
  bool needs_origin = false;  // whether it asks is_first()
};

// All steps, in order.
class PreTokenizers {
 public:
  // Reads "pre_tokenizer" of a tokenizer.json.
  [[gnu::cold]] static Result<PreTokenizers> read(const JsonField& field);

  void apply(PieceList& pieces, TextWork& work) const {
    for (const auto& step : steps_) {
      if (work.stop()) return;
      step.apply(pieces, work);
    }
  }
  bool needs_origin() const { return std::ranges::any_of(steps_, &PreTokenizer::needs_origin); }

 private:
  std::vector<PreTokenizer> steps_;
};

}  // namespace glove::tokenizers
