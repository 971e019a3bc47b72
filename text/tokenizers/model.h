// The last step of a tokenizer: a piece of text, which pre-tokenizers leave whole, becomes ids.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "text/tokenizers/json.h"
#include "text/tokenizers/vocabulary.h"
#include "text/tokenizers/work.h"

namespace glove::tokenizers {

// A symbol of a word during byte-pair merges, in a list.
struct Symbol {
  uint32_t id, previous, next;
};
// A pair that may be merged: the rank of the merge, and the position of the left symbol.
struct MergeCandidate {
  uint32_t rank, position;
};
// The best segmentation of a text that ends at a byte: its score, and its last piece.
struct PathNode {
  double score;
  uint32_t begin, id;
};

// Buffers of all models.
struct ModelBuffers {
  Buffer<Symbol> symbols;
  std::vector<MergeCandidate> candidates;
  Buffer<PathNode> path;
  std::string token;
};

// Makes room for `count` elements with unspecified values. Growing copies and touches nothing, so it takes no
// time.
template <class T>
T* make_room(Buffer<T>& buffer, size_t count) {
  buffer.clear();
  buffer.resize(count);
  return buffer.data();
}

// Immutable.
class TokenModel {
 public:
  virtual ~TokenModel() = default;

  // Appends the ids of a piece, which is well-formed UTF-8 and not empty. If the work is stopped, the ids are
  // meaningless.
  virtual Status encode(std::string_view piece, ModelBuffers& buffers, TextWork& work,
                        std::vector<uint32_t>& ids) const = 0;

  // Whether finding the ids of a piece in a cache is faster than encode().
  virtual bool is_slow() const { return false; }

  const TokenVocabulary& vocabulary() const { return vocabulary_; }
  std::optional<uint32_t> unknown_id() const { return unknown_id_; }

 protected:
  TokenVocabulary vocabulary_;
  std::optional<uint32_t> unknown_id_;
};

// Reads "model" of a tokenizer.json.
[[gnu::cold]] Result<std::unique_ptr<const TokenModel>> read_model(const JsonField& model);

// Reads a model of the longest tokens that begin and continue a word ("type" has its name).
[[gnu::cold]] Result<std::unique_ptr<const TokenModel>> read_word_piece(const JsonField& model);
// Reads a model whose tokens are whole words ("type" has its name).
[[gnu::cold]] Result<std::unique_ptr<const TokenModel>> read_word_level(const JsonField& model);
// Reads a model of scored tokens ("type" has its name).
[[gnu::cold]] Result<std::unique_ptr<const TokenModel>> read_unigram(const JsonField& model);
// Reads a model of merges ("type" has its name).
[[gnu::cold]] Result<std::unique_ptr<const TokenModel>> read_byte_pair(const JsonField& model);

// Reads {"token": id, ...}. Of equal tokens the last one counts.
[[gnu::cold]] Result<TokenVocabulary> read_vocabulary(const JsonField& vocabulary);
// Reads "unk_token", and returns its id. Fails if there is none.
[[gnu::cold]] Result<uint32_t> read_unknown(const JsonField& model, const TokenVocabulary& vocabulary);

// The error of a text that needs the token for unknown pieces, when there is none.
Error no_unknown_token();

}  // namespace glove::tokenizers
