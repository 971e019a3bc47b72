// The last step of a tokenizer: truncation, and special tokens around the ids of a text (at most 65,536).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "text/tokenizers/json.h"

namespace glove::tokenizers {

// Immutable.
class PostProcessor {
 public:
  // Reads "post_processor" and "truncation" of a tokenizer.json, of which each may be missing.
  [[gnu::cold]] static Result<PostProcessor> read(const JsonField& root);

  // Replaces the limit of "truncation" by this many ids, with the special tokens. An error if these are more.
  Status limit(size_t most_ids);

  // Changes the ids from `first` on, which are those of one text. Returns whether it was too long.
  bool apply(bool add_special_tokens, size_t first, std::vector<uint32_t>& ids) const;

 private:
  [[gnu::cold]] Status read_processor(const JsonField& field, const std::string& type);
  [[gnu::cold]] Status read_around(const JsonField& field);
  [[gnu::cold]] Status read_template(const JsonField& field);
  [[gnu::cold]] Status read_truncation(const JsonField& field);
  [[gnu::cold]] Status check_room(const JsonField& field, size_t more) const;

  std::vector<uint32_t> before_, after_;
  std::optional<size_t> most_ids_;
  bool drops_left_ = false;  // truncation keeps the end of a text
};

}  // namespace glove::tokenizers
