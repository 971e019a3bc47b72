// The second step of a tokenizer: the text is cut into pieces, and no token will contain parts of two.
#pragma once

#include <memory>
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
class PieceSink {
 public:
  explicit PieceSink(std::vector<Span>& spans) : spans_(spans) {}
  void operator()(size_t begin, size_t end) const {
    if (begin < end) spans_.push_back({begin, end});
  }

 private:
  std::vector<Span>& spans_;
};

// A text and its pieces. An object is reused for many texts.
class Pieces {
 public:
  // Begins with the whole text as one piece. `is_first`: whether it begins with the first character of the
  // source.
  void start(std::string_view text, bool is_first) {
    text_ = text;
    is_first_ = is_first;
    spans_.clear();
    PieceSink{spans_}(0, text.size());
  }

  const std::vector<Span>& spans() const { return spans_; }
  std::string_view text(Span span) const { return text_.substr(span.begin, span.end - span.begin); }

  // Whether a piece begins with the first character of the source.
  bool is_first(std::string_view piece) const { return is_first_ && piece.data() == text_.data(); }

  // Replaces each piece by its parts. Calls cut(piece, sink) for each, with positions in the piece.
  template <class Cut>
  void split(const Cut& cut) {
    next_.clear();
    for (const Span span : spans_) {
      cut(text(span), [&, sink = PieceSink(next_)](size_t begin, size_t end) {
        sink(span.begin + begin, span.begin + end);
      });
    }
    spans_.swap(next_);
  }

  // Replaces each piece by pieces of a new text. Calls rewrite(piece, out, sink) for each, with positions in
  // `out`.
  template <class Rewrite>
  void rewrite(const Rewrite& rewrite) {
    std::string& out = text_.data() == texts_[0].data() ? texts_[1] : texts_[0];
    out.clear();
    next_.clear();
    const PieceSink sink(next_);
    for (const Span span : spans_) rewrite(text(span), out, sink);
    spans_.swap(next_);
    text_ = out;
  }

  std::string scratch;  // for one piece

 private:
  std::string_view text_;
  bool is_first_ = true;
  std::vector<Span> spans_, next_;
  std::string texts_[2];
};

// One step. Immutable.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces, Work& work) const = 0;
};

// All steps, in order.
class PreTokenizers {
 public:
  // Reads "pre_tokenizer" of a tokenizer.json.
  static Result<PreTokenizers> read(const JsonField& field);

  void apply(Pieces& pieces, Work& work) const {
    for (const auto& step : steps_) step->apply(pieces, work);
  }

 private:
  std::vector<std::unique_ptr<const PreTokenizer>> steps_;
};

// Makes a step of a type other than Sequence.
Result<std::unique_ptr<const PreTokenizer>> read_pre_tokenizer(const JsonField& field,
                                                               const std::string& type);

Result<std::unique_ptr<const PreTokenizer>> read_byte_level(const JsonField& field);
Result<std::unique_ptr<const PreTokenizer>> read_metaspace(const JsonField& field);

}  // namespace glove::tokenizers
