// The first step of a tokenizer: the text that follows looks the same however it was written.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/tokenizers/json.h"
#include "text/tokenizers/unicode.h"
#include "text/tokenizers/work.h"

namespace glove::tokenizers {

struct NormalizerBuffers {
  MarkBuffers marks;
  std::string first, second;      // texts between two normalizers
  std::string clean, decomposed;  // texts between the steps of one
};

// One step. Immutable.
struct Normalizer {
  // Appends the normalized text, which is well-formed UTF-8 as `text` is.
  std::function<void(std::string_view text, NormalizerBuffers& buffers, std::string& out, TextWork& work)>
      append;
  // Of a text whose first `origin` bytes come from the first character of the source, returns the number of
  // bytes of the normalized text that do. Overwrites `out`. Null: as many as these bytes alone become.
  std::function<size_t(std::string_view text, size_t origin, std::string& out, TextWork& work)> origin_after =
      nullptr;
};

// All steps, in order.
class Normalizers {
 public:
  // Reads "normalizer" of a tokenizer.json.
  [[gnu::cold]] static Result<Normalizers> read(const JsonField& field);

  // Returns the normalized text, in a buffer or `text` itself. The first `origin` bytes of `text`, and then
  // of the result, come from the first character of the source; 0 if nobody asks.
  std::string_view apply(std::string_view text, NormalizerBuffers& buffers, size_t& origin,
                         TextWork& work) const;

 private:
  std::vector<Normalizer> steps_;
};

// The normalizer of BERT, and that of SentencePiece ("Precompiled").
[[gnu::cold]] Result<Normalizer> read_bert_normalizer(const JsonField& field);
[[gnu::cold]] Result<Normalizer> read_precompiled(const JsonField& field);

}  // namespace glove::tokenizers
