// The words of a model, in both directions, and the n-grams of words.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace glove {

class MappedFile;

// The type of an application's keys before they became words. All keys of a model have the same type.
enum class KeyType : uint8_t {
  kText,
  kInteger,  // every word is the canonical decimal text of an int64_t: no sign except '-', no leading zero
};
constexpr size_t kKeyTypes = 2;

// The canonical decimal text of an integer key, and the key for such a text; nullopt for any other text.
std::string integer_word(int64_t key);
std::optional<int64_t> integer_key(std::string_view word);

// An immutable view of a model's words. Owns nothing: the bytes belong to the Model that contains it. May be
// used from many threads at once.
//
// The arrays may come directly from a mapped file that nothing has checked, so every offset and id is
// bounds-checked where it is used: a corrupt entry reads as an empty word or as "not found", never outside
// the arrays.
class Vocabulary {
 public:
  Vocabulary() = default;
  // word_bytes: all words one after another, without separators. word_offsets[n+1]: word i is bytes
  // [word_offsets[i], word_offsets[i+1]). sorted_ids[n]: the ids in the memcmp order of their words.
  Vocabulary(std::span<const char> word_bytes, std::span<const int64_t> word_offsets,
             std::span<const int32_t> sorted_ids, KeyType key_type = KeyType::kText)
      : word_bytes_(word_bytes), word_offsets_(word_offsets), sorted_ids_(sorted_ids), key_type_(key_type) {}

  KeyType key_type() const { return key_type_; }
  int64_t size() const { return static_cast<int64_t>(sorted_ids_.size()); }

  // Returns the word with this id (its 0-based position in the file); empty if there is none. Not
  // NUL-terminated; may contain any bytes.
  std::string_view word(int64_t id) const {
    if (id < 0 || id + 1 >= static_cast<int64_t>(word_offsets_.size())) return {};
    const int64_t begin = word_offsets_[static_cast<size_t>(id)];
    const int64_t end = word_offsets_[static_cast<size_t>(id) + 1];
    if (begin < 0 || end < begin || end > static_cast<int64_t>(word_bytes_.size())) return {};
    return {word_bytes_.data() + begin, static_cast<size_t>(end - begin)};
  }

  // Prefetches for a later word(id): first the word's position and then, some time later so that the position
  // has arrived, its bytes. Both may span a second cache line. Always inline, as every wrapper must be,
  // because GCC drops calls of functions that only prefetch.
  [[gnu::always_inline]] void prefetch_place(int64_t id) const {
    if (id < 0 || id + 1 >= static_cast<int64_t>(word_offsets_.size())) return;
    __builtin_prefetch(&word_offsets_[static_cast<size_t>(id)]);
    __builtin_prefetch(&word_offsets_[static_cast<size_t>(id) + 1]);
  }
  [[gnu::always_inline]] void prefetch_bytes(int64_t id) const {
    const std::string_view bytes = word(id);
    __builtin_prefetch(bytes.data());
    if (!bytes.empty()) __builtin_prefetch(&bytes.back());
  }

  // Returns the id of exactly these bytes, and the first one if several tokens are equal. Never finds an
  // empty word.
  std::optional<int32_t> find_exact(std::string_view word) const;

  // The lookup for SQL arguments: tries the exact bytes first, then the bytes with A-Z lower-cased (so "King"
  // finds "king" in a lower-cased model).
  std::optional<int32_t> find(std::string_view word) const;

  // The sorted order, for ranges and prefixes: the id at a position (-1 if there is none), and the first
  // position whose word is not below `word` in memcmp order (size() if there is none).
  int32_t sorted_id(int64_t position) const;
  int64_t lower_bound(std::string_view word) const;

  // Appends the ids of all words with exactly these bytes, in rising order. There can be several if the model
  // has a tokenizer.
  void find_all(std::string_view word, std::vector<int32_t>& ids) const;

  // The raw arrays, unchecked.
  std::span<const char> word_bytes() const { return word_bytes_; }
  std::span<const int64_t> word_offsets() const { return word_offsets_; }

 private:
  std::span<const char> word_bytes_;
  std::span<const int64_t> word_offsets_;
  std::span<const int32_t> sorted_ids_;
  KeyType key_type_ = KeyType::kText;
};

// The n-grams of a word are the runs of `minn` to `maxn` characters of it between '<' and '>'. Each has the
// row of its hash modulo the number of rows.
struct Subwords {
  static constexpr int64_t kMostCharacters = 255;  // of an n-gram, which bounds the time per word

  int64_t minn = 1;
  int64_t maxn = 0;                       // below minn: words have no n-grams
  int64_t buckets = 0;                    // the number of rows
  std::span<const char> rows;             // [buckets, dims] of float32, at any address
  std::shared_ptr<const MappedFile> map;  // the file that has them, whose health() tells of changes

  // An error, which `source` begins, if n-grams are shorter or longer than possible.
  Status check(const std::string& source) const;

  // Makes `vector`, [dims], the mean of the word's own row, [dims] of float32 at any address, unless that is
  // null, and of the rows of its n-grams: their sum in float32, in the order of their beginnings and then of
  // their lengths, times the nearest float32 to 1 / their number. These are the bits of fastText's
  // getWordVector(). Returns false, and zeros, if there is no row. REQUIRES: the float environment.
  bool make_vector(std::string_view word, const char* own_row, std::span<float> vector) const;
};
using SubwordsPtr = std::shared_ptr<const Subwords>;

}  // namespace glove
