// What the files of a static embedding model say about encoding texts, and how to open a neural encoder. The
// layers below text/ only store it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glove {

class Tokenizer;

// What a tokenizer.json says.
struct TokenizerContent {
  std::vector<std::string> tokens;  // in the order of their ids, from 0 and without a hole
  std::shared_ptr<const Tokenizer> tokenizer;
};

// Whose rules make a vector of a text's tokens (docs/text.md, "How a static model encodes").
enum class EncodingRules : uint8_t { kModel2Vec, kStaticEmbedding };

// The rows of a model with a tokenizer are the tokens in the order of their ids. Tokens may be equal, and the
// row of an empty one is zero.
struct StoredTokenizer {
  std::string_view json;            // the text of tokenizer.json; empty in all shards but the first
  std::span<const double> weights;  // [tokens]: factors of the rows; empty if there are none
  int64_t tokens = 0;               // rows of the whole model, of which a shard has fewer
  EncodingRules rules = EncodingRules::kModel2Vec;
  bool normalize = false;                   // the vector of a text gets the length 1
  std::shared_ptr<const void> owner;        // keeps the memory of `json` and `weights` alive
  std::shared_ptr<const Tokenizer> parsed;  // of `json`, if that was parsed to open the model
};

// Shared by the readers, writers and models of one tokenizer.
using StoredTokenizerPtr = std::shared_ptr<const StoredTokenizer>;

// How to open the folder of a neural encoder (text/neural/sentence_folder.h).
struct EncoderOptions {
  std::string network;  // its ONNX file below the folder; empty: onnx/model.onnx
  std::optional<std::string> query_prompt, document_prompt;  // before each text; nullopt: the model's
  int64_t dims = 0;          // of the vectors, which are cut and then get the length 1; 0: the model's
  bool accepts_old = false;  // a library whose checks of model files are weaker

  bool any() const { return !network.empty() || query_prompt || document_prompt || dims != 0 || accepts_old; }
};

}  // namespace glove
