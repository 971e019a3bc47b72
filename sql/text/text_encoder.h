// The encoders of glove_text_vec and glove_tokens: their options, and the cache that all connections share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/model.h"
#include "sql/adapter/connection.h"
#include "text/text_encoder.h"
#include "text/tokenizer.h"
#include "text/word_weights.h"

namespace glove::sql {

// How a text becomes a vector.
struct TextOptions : TokenizerOptions {
  // kTokenizer: by the rules of a static embedding model. The other options are for kWords.
  enum class Method { kWords, kTokenizer };
  std::optional<Method> method;  // by default the one that the model is made for
  bool for_words = false;        // one of the options below is given
  double a = kDefaultSifParameter;
  int64_t components = 5;
  WeightSource weights = WeightSource::kZipf;
};

// option      value                     meaning
// method      "words", "tokenizer"      how texts are encoded (default: by the tokenizer if the model has
// one);
//                                       the options below are for "words"
// a           a number above 0          of the weight a / (a + p) of a word of frequency p (default 0.0001)
// components  0 to 10                   common components that are removed (default 5)
// weights     "zipf", "none", "model"   where the frequencies come from (default "zipf")
// lower_case  true, false               whether words are looked up in lower case (default true)
// longest_match  true, false            whether several words become one that the model has (default true)
//
// Without a text all have their defaults. It is an error if `json` is not a JSON object, an option is
// unknown, or a value is invalid; the message begins with `function`, names the offender, and lists what is
// allowed.
Result<TextOptions> parse_text_options(std::optional<std::string_view> json, std::string_view function);

// Returns the version of the vectors that a model makes of texts with these options, which must be valid.
int text_vector_version(const Model& model, std::string_view options);
// Adds to the options, which may be empty and must have another version, what makes vectors of version 1.
std::string options_of_version_1(std::string_view options);

// Keeps the encoder that a function or a cursor used last, so that the next call with the same arguments
// finds it without a lock. Other encoders come from the engine's ResultCache, which has one per model and
// options that were used recently. One thread at a time may use it.
class KeptEncoder {
 public:
  // Returns the encoder for this model and these options, which lives until the next call. If the process
  // does not have it yet, this derives the common components, unless the model's file contains them or
  // `for_words_only` is true, in which case only words and weights can be asked for. An interrupt of the
  // connection ends that, except while the eigenvectors are computed (analysis/eigen.h).
  Result<const TextEncoder*> find(Connection& connection, const ModelPtr& model,
                                  std::optional<std::string_view> options, std::string_view function,
                                  bool for_words_only = false);

 private:
  uint64_t model_id_ = 0;
  std::optional<std::string> options_;
  std::shared_ptr<const TextEncoder> encoder_;
};

}  // namespace glove::sql
