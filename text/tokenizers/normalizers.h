// The first step of a tokenizer: the text that follows looks the same however it was written.
#pragma once

#include <memory>
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
class Normalizer {
 public:
  virtual ~Normalizer() = default;

  // Appends the normalized text, which is well-formed UTF-8 as `text` is. Returns whether its first character
  // comes from the first one of `text`, as the reference keeps account.
  virtual bool append(std::string_view text, NormalizerBuffers& buffers, std::string& out,
                      Work& work) const = 0;
};

// All steps, in order.
class Normalizers {
 public:
  // Reads "normalizer" of a tokenizer.json.
  static Result<Normalizers> read(const JsonField& field);

  // Returns the normalized text, in a buffer or `text` itself. `from_first` becomes false if its first
  // character does not come from the first one of `text`.
  std::string_view apply(std::string_view text, NormalizerBuffers& buffers, bool& from_first,
                         Work& work) const;

 private:
  std::vector<std::unique_ptr<const Normalizer>> steps_;
};

// Makes a step of a type other than Sequence.
Result<std::unique_ptr<const Normalizer>> read_normalizer(const JsonField& field, const std::string& type);

// The normalizer of BERT.
Result<std::unique_ptr<const Normalizer>> read_bert_normalizer(const JsonField& field);

}  // namespace glove::tokenizers
