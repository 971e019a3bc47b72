// From texts to vectors, by the words of a model (SentenceEncoder) or by its tokenizer (StaticEncoder).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/status.h"
#include "model/model.h"
#include "text/tokenizers/tokenizer.h"

namespace glove {

// Increase this when a change alters the vector of some text, because indexes of texts must then be rebuilt.
constexpr int kTextVectorVersion = 1;

// A word or token of a text, as an encoder sees it.
struct EncodedToken {
  std::string_view text;      // valid until the next one is read
  std::optional<int32_t> id;  // the row; nullopt: the text's vector does not depend on this token
  double weight = 0;          // of the row, if there is one
};

// Immutable; any thread may use it, with a Scratch of its own. Does not keep the model alive: every call
// takes the model that the encoder was made for.
class TextEncoder {
 public:
  // The memory of a call, which callers keep so that a call allocates nothing.
  struct Scratch {
    std::vector<double> sum;    // [dims]
    std::vector<float> vector;  // [dims]: the result
    std::vector<uint32_t> ids;
    Tokenizer::Scratch tokenizer;
  };

  // The tokens of one text, in its order. Uses the encoder, the model and the text.
  class Tokens {
   public:
    virtual ~Tokens() = default;
    // Moves to the next one. Returns false at the end. The error is an interrupt. REQUIRES: the float
    // environment.
    virtual Result<bool> next(EncodedToken& token, const InterruptCheck& interrupted) = 0;
  };

  virtual ~TextEncoder() = default;

  // Leaves the vector of the text in scratch.vector, which is specified to the last bit. Returns false if no
  // token of the text has a row, or the vector is zero. It is an error if a component overflows float32.
  // Another error is an interrupt. REQUIRES: the float environment.
  virtual Result<bool> encode(const Model& model, std::string_view text, Scratch& scratch,
                              const InterruptCheck& interrupted = {}) const = 0;

  virtual Result<std::unique_ptr<Tokens>> tokens(const Model& model, std::string_view text,
                                                 const InterruptCheck& interrupted) const = 0;

 protected:
  // Rounds scratch.sum to scratch.vector. Returns false if that is zero.
  static Result<bool> round_sum(Scratch& scratch);
};

}  // namespace glove
