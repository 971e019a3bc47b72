// From texts to vectors, by the words of a model (SentenceEncoder), by its tokenizer (StaticEncoder) or by a
// neural network (NeuralEncoder).
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/metric.h"
#include "model/model.h"
#include "text/tokenizers/tokenizer.h"

namespace glove {

// A word or token of a text, as an encoder sees it.
struct EncodedToken {
  std::string_view text;         // valid until the next one is read
  std::optional<int32_t> id;     // the row, if there is one
  std::optional<double> weight;  // nullopt: the text's vector does not depend on this token
};

// A text that is encoded together with others.
struct TextToEncode {
  std::string text;
  std::vector<float> vector;  // the result; empty: the text has none
  Status fault;               // why it could not be encoded
  bool was_cut = false;       // only its first tokens count
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

  // The same as encode() for a text that is searched for, which may have another prompt.
  virtual Result<bool> encode_query(const Model& model, std::string_view text, Scratch& scratch,
                                    const InterruptCheck& interrupted) const {
    return encode(model, text, scratch, interrupted);
  }

  // How many texts encode_all() should get, because they are encoded by several threads; 0: encode() is as
  // fast. The error of encode_all() is an interrupt.
  virtual int texts_at_once() const { return 0; }
  virtual Status encode_all(std::span<TextToEncode> /*texts*/, const InterruptCheck& /*interrupted*/) const {
    return {};
  }

  // By which metric the vectors are meant to be compared; nullopt: by one that no index has.
  virtual std::optional<RowMetric> metric() const { return RowMetric::kCosine; }
  // Of all that determines the vectors, if it is not the model's rows and words.
  virtual std::string fingerprint() const { return {}; }

 protected:
  // Rounds scratch.sum to scratch.vector. Returns false if that is zero.
  static Result<bool> round_sum(Scratch& scratch) {
    constexpr double kFloatLimit = 0x1.ffffffp127;  // a larger magnitude rounds to an infinite float
    bool zero = true;
    for (size_t j = 0; j < scratch.sum.size(); ++j) {
      if (!(std::fabs(scratch.sum[j]) < kFloatLimit))
        return Error{
            ErrorCode::kInvalidArgument,
            "component " + std::to_string(j + 1) +
                " of the vector of the text overflows float32, because the model's vectors are too long"};
      scratch.vector[j] = static_cast<float>(scratch.sum[j]);
      zero = zero && scratch.vector[j] == 0;
    }
    return !zero;
  }
};

}  // namespace glove
