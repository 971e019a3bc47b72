// The tokenizers of embedding models: turns a text into the ids of the rows that the model has vectors for. A
// model's tokenizer.json decides how. docs/text.md lists what is supported.
//
// The ids are those of Hugging Face's `tokenizers`. ICU, utf8proc, RE2 and SentencePiece were considered: an
// extension that travels as one file would have to contain them, and their Unicode versions and rules differ
// from those of the reference. tokenizers-cpp wraps the reference, which is written in Rust.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace glove {

// A tokenizer. Immutable: any number of threads may use one at the same time, each with a Scratch of its own.
class Tokenizer {
 public:
  // The buffers of encode(). A thread keeps one for all its texts, so that encoding allocates nothing once
  // they have grown. It may be used with different tokenizers, one after the other.
  class Scratch {
   public:
    // Whether the text that was encoded last was longer than the limit.
    bool was_cut() const { return was_cut_; }

   private:
    friend class Tokenizer;
    struct Buffers;
    std::unique_ptr<Buffers, void (*)(Buffers*)> buffers_{nullptr, nullptr};  // since the first text
    bool was_cut_ = false;
  };

  // Parses the text of a tokenizer.json. `file` is its name, for messages. Fails with kCorrupt if the text
  // violates the format, and with kInvalidArgument if it needs a part that is not supported; the message
  // names the part ("normalizer.type 'Foo'") and those that are supported. `most_ids`: of a text, with
  // special tokens, in place of the file's truncation.
  [[gnu::cold]] static Result<std::shared_ptr<const Tokenizer>> parse(std::string_view json,
                                                                      const std::string& file,
                                                                      const InterruptCheck& interrupted = {},
                                                                      std::optional<size_t> most_ids = {});

  // The largest id + 1, added tokens included. Ids may be missing below it.
  size_t vocabulary_size() const;

  // The token of an id, as the vocabulary spells it ("##ing", "▁the"). If there is none, it has no data; a
  // token may also be empty. Valid as long as this.
  std::string_view token(uint32_t id) const;

  // The id of a token of the vocabulary or of an added token, if there is one.
  std::optional<uint32_t> id_of(std::string_view token) const;

  // The id of pieces that the vocabulary does not have, if the model names one.
  std::optional<uint32_t> unknown_id() const;

  // Whether the model names that token ("unk_token"), and not only its id, as Unigram does ("unk_id").
  bool names_unknown() const;

  // Appends the ids of a text to `ids`. Bytes that are not well-formed UTF-8 become U+FFFD as in Python's
  // bytes.decode(errors='replace'): one for each maximal part of a character. With `add_special_tokens`, the
  // ids of the post-processor's tokens are around those of the text. The file's truncation or the
  // limit applies, its padding does not. Fails if the normalizer makes the text much longer. If the call
  // fails, `ids` may have any number of additional ids.
  Status encode(std::string_view text, bool add_special_tokens, Scratch& scratch,
                const InterruptCheck& interrupted, std::vector<uint32_t>& ids) const;

 private:
  struct Parts;
  explicit Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<const Parts> parts_;
};

}  // namespace glove
