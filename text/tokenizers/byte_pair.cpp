// Byte-pair encoding (BPE): the characters of a piece are merged pair by pair, in the order in which training
// found the pairs.
#include <algorithm>
#include <bit>

#include "base/concat.h"
#include "text/tokenizers/byte_tokens.h"
#include "text/tokenizers/model.h"
#include "text/tokenizers/unicode.h"

namespace glove::tokenizers {

namespace {

// The merges: which pairs of tokens become one, and in which order. A hash table with open addressing.
// Immutable after the last add().
class Merges {
 public:
  struct Merge {
    uint32_t rank = Trie::kNone;  // kNone: the pair is not merged
    uint32_t id = 0;              // of the merged token
  };

  Merges() : slots_(2) {}
  explicit Merges(size_t count) : slots_(std::bit_ceil(2 * count + 2)) {}

  // A later rank of the same pair replaces the earlier one. REQUIRES: at most as many merges as the
  // constructor was told.
  void add(uint32_t left, uint32_t right, Merge merge) {
    const uint64_t key = uint64_t{left} << 32 | right;
    size_t slot = hash(key);
    while (slots_[slot].merge.rank != Trie::kNone && slots_[slot].key != key)
      slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = {key, merge};
  }

  Merge find(uint32_t left, uint32_t right) const {
    const uint64_t key = uint64_t{left} << 32 | right;
    for (size_t slot = hash(key);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].merge.rank == Trie::kNone || slots_[slot].key == key) return slots_[slot].merge;
    }
  }

 private:
  struct Slot {
    uint64_t key = 0;
    Merge merge;
  };
  size_t hash(uint64_t key) const { return (key * 0x9e3779b97f4a7c15u >> 20) & (slots_.size() - 1); }

  std::vector<Slot> slots_;  // a power of two of them, at least half of them empty
};

constexpr uint32_t kNoSymbol = UINT32_MAX;
constexpr size_t kMostAffix = 256;            // each character of a text is copied with it
constexpr uint32_t kMerged = UINT32_MAX - 1;  // the `next` of a symbol that its left neighbour has taken in

// The symbols of one piece while they are merged.
class Word {
 public:
  Word(ModelBuffers& buffers, size_t most)
      : symbols_(make_room(buffers.symbols, most)), candidates_(buffers.candidates) {
    candidates_.clear();
  }

  void add(uint32_t id) {
    if (count_ > 0) symbols_[count_ - 1].next = count_;
    symbols_[count_] = {id, count_ > 0 ? count_ - 1 : kNoSymbol, kNoSymbol};
    ++count_;
  }

  // Merges the pair of the lowest rank, of those the leftmost, until no pair is left. `results` has the
  // merged token by rank.
  void merge(const Merges& merges, const std::vector<uint32_t>& results, TextWork& work) {
    candidates_.reserve(count_);
    for (uint32_t i = 0; i + 1 < count_ && !work.stop(); ++i) push(merges, i);
    while (!candidates_.empty() && !work.stop()) {
      std::pop_heap(candidates_.begin(), candidates_.end(), later);
      const MergeCandidate top = candidates_.back();
      candidates_.pop_back();
      Symbol& left = symbols_[top.position];
      if (left.next >= kMerged) continue;
      // The symbols may have changed since the candidate was pushed.
      const Merges::Merge merge = merges.find(left.id, symbols_[left.next].id);
      if (merge.rank == Trie::kNone || merge.id != results[top.rank]) continue;
      take_in_next(left, top.position, merge.id);
      if (left.previous != kNoSymbol) push(merges, left.previous);
      if (left.next != kNoSymbol) push(merges, top.position);
    }
  }

  void append(std::vector<uint32_t>& ids, TextWork& work) const {
    for (uint32_t i = count_ == 0 ? kNoSymbol : 0; i != kNoSymbol && !work.stop(); i = symbols_[i].next)
      ids.push_back(symbols_[i].id);
  }

 private:
  static bool later(const MergeCandidate& left, const MergeCandidate& right) {
    return left.rank != right.rank ? left.rank > right.rank : left.position > right.position;
  }

  void push(const Merges& merges, uint32_t position) {
    const Merges::Merge merge = merges.find(symbols_[position].id, symbols_[symbols_[position].next].id);
    if (merge.rank == Trie::kNone) return;
    candidates_.push_back({merge.rank, position});
    std::push_heap(candidates_.begin(), candidates_.end(), later);
  }

  void take_in_next(Symbol& left, uint32_t position, uint32_t id) {
    const uint32_t taken = left.next;
    left.id = id;
    left.next = symbols_[taken].next;
    symbols_[taken].next = kMerged;
    if (left.next != kNoSymbol) symbols_[left.next].previous = position;
  }

  Symbol* symbols_;
  std::vector<MergeCandidate>& candidates_;
  uint32_t count_ = 0;
};

class BytePair : public TokenModel {
 public:
  friend Result<std::unique_ptr<const TokenModel>> tokenizers::read_byte_pair(const JsonField& model);

  bool is_slow() const override { return true; }

  Status encode(std::string_view piece, ModelBuffers& buffers, TextWork& work,
                std::vector<uint32_t>& ids) const override {
    // A symbol per character, or per byte of what the vocabulary would spell.
    const size_t most = has_bytes_ ? piece.size() * (1 + prefix_.size()) + suffix_.size() : piece.size();
    if (most >= kMerged) return Error{ErrorCode::kOutOfMemory, "the text is too long for a tokenizer"};
    if (whole_words_) {
      if (const auto found = vocabulary_.find(piece)) {
        ids.push_back(*found);
        return {};
      }
    }
    Word word(buffers, most);
    if (!add_characters(piece, buffers, word, work)) return no_unknown_token();
    word.merge(merges_, results_, work);
    word.append(ids, work);
    return {};
  }

 private:
  [[gnu::cold]] Status read_options(const JsonField& model) {
    GLOVE_ASSIGN_OR_RETURN(const JsonField vocabulary, model.at("vocab"));
    GLOVE_ASSIGN_OR_RETURN(vocabulary_, read_vocabulary(vocabulary));
    GLOVE_ASSIGN_OR_RETURN(prefix_, model.string("continuing_subword_prefix", ""));
    GLOVE_ASSIGN_OR_RETURN(suffix_, model.string("end_of_word_suffix", ""));
    if (std::max(prefix_.size(), suffix_.size()) > kMostAffix)
      return model.unsupported("has a continuing_subword_prefix or end_of_word_suffix of more than " +
                               std::to_string(kMostAffix) + " bytes, which is not supported");
    GLOVE_ASSIGN_OR_RETURN(fuses_unknown_, model.boolean("fuse_unk", false));
    GLOVE_ASSIGN_OR_RETURN(has_bytes_, model.boolean("byte_fallback", false));
    GLOVE_ASSIGN_OR_RETURN(whole_words_, model.boolean("ignore_merges", false));
    has_unknown_ = model.has("unk_token");
    if (has_unknown_) {
      GLOVE_ASSIGN_OR_RETURN(const std::string unknown, model.string("unk_token"));
      unknown_id_ = vocabulary_.find(unknown);
    }
    if (has_bytes_) bytes_ = ByteTokens(vocabulary_);
    const auto dropout = model.find("dropout");
    if (dropout && dropout->value().number() != 0.0)
      return dropout->unsupported("makes tokens random, which is not supported: set it to null");
    return {};
  }

  [[gnu::cold]] Status read_merges(const JsonField& model) {
    GLOVE_ASSIGN_OR_RETURN(const JsonField merges, model.at("merges"));
    const auto* pairs = merges.value().as<JsonArray>();
    if (pairs == nullptr) return merges.must_be("an array of pairs of tokens");
    merges_ = Merges(pairs->size());
    results_.reserve(pairs->size());
    for (const Json& entry : *pairs) {
      GLOVE_RETURN_IF_ERROR(merges.poll().check());
      std::string left, right;
      const Json* pair = entry.pair();
      if (const auto* line = entry.as<std::string>()) {
        if (line->starts_with("#version")) continue;
        const size_t space = line->find(' ');
        if (space == std::string::npos || line->find(' ', space + 1) != std::string::npos)
          return bad_merge(merges);
        left = line->substr(0, space);
        right = line->substr(space + 1);
      } else if (pair != nullptr && pair[0].as<std::string>() != nullptr &&
                 pair[1].as<std::string>() != nullptr) {
        left = *pair[0].as<std::string>();
        right = *pair[1].as<std::string>();
      } else {
        return bad_merge(merges);
      }
      GLOVE_RETURN_IF_ERROR(add_merge(merges, left, right));
    }
    return {};
  }

  [[gnu::cold]] Error bad_merge(const JsonField& merges) const {
    return merges.corrupt("must have a pair of tokens at place " + std::to_string(results_.size()));
  }

  [[gnu::cold]] Status add_merge(const JsonField& merges, const std::string& left, const std::string& right) {
    const auto rank = static_cast<uint32_t>(results_.size());
    if (right.size() < prefix_.size()) return bad_merge(merges);
    const std::string merged = left + right.substr(prefix_.size());
    const auto left_id = vocabulary_.find(left), right_id = vocabulary_.find(right),
               id = vocabulary_.find(merged);
    if (!left_id || !right_id || !id) {
      const std::string& missing = !left_id ? left : !right_id ? right : merged;
      return merges.corrupt("needs the token " + quoted_value(missing) + " at place " + std::to_string(rank) +
                            ", which 'vocab' lacks");
    }
    merges_.add(*left_id, *right_id, {rank, *id});
    results_.push_back(*id);
    return {};
  }

  // Adds the characters of a piece as symbols. Returns false if there must be a token for unknown pieces and
  // there is none.
  bool add_characters(std::string_view piece, ModelBuffers& buffers, Word& word, TextWork& work) const {
    bool has_pending = false;  // an unknown character, which is added before the next known one
    for (size_t at = 0; at < piece.size() && !work.stop();) {
      const size_t length = length_of(piece[at]);
      const std::string_view text = spelled(piece, at, length, buffers.token);
      at += length;
      if (const auto id = vocabulary_.find(text)) {
        if (has_pending) word.add(*unknown_id_);
        has_pending = false;
        word.add(*id);
      } else if (has_bytes_ && bytes_.have(text)) {
        for (const char byte : text) word.add(bytes_.id(byte));
      } else if (has_unknown_) {
        if (!unknown_id_) return false;
        if (has_pending && !fuses_unknown_) word.add(*unknown_id_);
        has_pending = true;
      }
    }
    if (has_pending) word.add(*unknown_id_);
    return true;
  }

  // A character as the vocabulary spells it at its place in the piece.
  std::string_view spelled(std::string_view piece, size_t at, size_t length, std::string& buffer) const {
    const bool is_last = at + length == piece.size();
    if ((at == 0 || prefix_.empty()) && (!is_last || suffix_.empty())) return piece.substr(at, length);
    buffer.clear();
    if (at != 0) buffer += prefix_;
    buffer += piece.substr(at, length);
    if (is_last) buffer += suffix_;
    return buffer;
  }

  Merges merges_;
  std::vector<uint32_t> results_;  // the merged token by rank
  std::string prefix_, suffix_;    // of characters that continue a word, and of its last one
  bool fuses_unknown_ = false;
  bool whole_words_ = false;  // a piece that is a token stays whole
  bool has_unknown_ = false;
  bool has_bytes_ = false;
  ByteTokens bytes_;
};

}  // namespace

Result<std::unique_ptr<const TokenModel>> read_byte_pair(const JsonField& model) {
  auto made = std::make_unique<BytePair>();
  GLOVE_RETURN_IF_ERROR(made->read_options(model));
  GLOVE_RETURN_IF_ERROR(made->read_merges(model));
  return std::unique_ptr<const TokenModel>(std::move(made));
}

}  // namespace glove::tokenizers
