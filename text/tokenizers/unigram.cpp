// Unigram: the segmentation of a piece whose tokens have the largest sum of scores, by Viterbi's algorithm.
#include <algorithm>
#include <limits>

#include "text/tokenizers/byte_tokens.h"
#include "text/tokenizers/model.h"
#include "text/tokenizers/unicode.h"

namespace glove::tokenizers {
namespace {

constexpr double kUnknownPenalty = 10;
constexpr uint32_t kNowhere = UINT32_MAX;

class Unigram : public TokenModel {
 public:
  friend Result<std::unique_ptr<const TokenModel>> tokenizers::read_unigram(const JsonField& model);

  bool is_slow() const override { return true; }

  Status encode(std::string_view piece, ModelBuffers& buffers, TextWork& work,
                std::vector<uint32_t>& ids) const override {
    if (piece.size() >= kNowhere)
      return Error{ErrorCode::kOutOfMemory, "the text is too long for a tokenizer"};
    PathNode* const path = make_room(buffers.path, piece.size() + 1);
    path[0] = {0, 0, 0};
    size_t reached = 0;  // the path has nodes up to here
    for (size_t begin = 0; begin < piece.size() && !work.stop();) {
      const size_t end = begin + length_of(piece[begin]);
      const bool has_character = extend(piece, begin, end, path, reached, work);
      if (!has_character && (reached < end || path[end].begin == kNowhere ||
                             unknown_score_ + path[begin].score > path[end].score)) {
        if (!unknown_id_) return no_unknown_token();
        offer(path, reached, begin, end, unknown_score_, *unknown_id_);
      }
      begin = end;
    }
    if (!work.stopped()) append_path(piece, path, work, ids);
    return {};
  }

 private:
  [[gnu::cold]] Status read_scores(const JsonField& model) {
    GLOVE_ASSIGN_OR_RETURN(const JsonField vocabulary, model.at("vocab"));
    const auto* entries = vocabulary.value().as<JsonArray>();
    if (entries == nullptr) return vocabulary.must_be("an array of tokens with their scores");
    std::vector<std::pair<std::string, uint32_t>> tokens;
    double least = std::numeric_limits<double>::infinity();
    for (const Json& entry : *entries) {
      GLOVE_RETURN_IF_ERROR(model.poll().check());
      const auto id = static_cast<uint32_t>(scores_.size());
      const Json* pair = entry.pair();
      if (pair == nullptr || pair[0].as<std::string>() == nullptr || !pair[1].number())
        return vocabulary.member(std::to_string(id), entry).must_be("an array of a token and its score");
      tokens.emplace_back(*pair[0].as<std::string>(), id);
      scores_.push_back(*pair[1].number());
      least = std::min(least, scores_.back());
    }
    unknown_score_ = least - kUnknownPenalty;
    std::reverse(tokens.begin(), tokens.end());  // of equal tokens, the last counts
    vocabulary_ = TokenVocabulary(std::move(tokens), model.poll());
    return model.poll().check();
  }

  // Offers each token that begins at `begin`. Returns whether one of them is a single character, which ends
  // at `end`.
  bool extend(std::string_view piece, size_t begin, size_t end, PathNode* path, size_t& reached,
              TextWork& work) const {
    const Trie& trie = vocabulary_.trie();
    uint32_t node = Trie::kRoot;
    bool has_character = false;
    for (size_t at = begin;
         at < piece.size() && trie.step(node, static_cast<unsigned char>(piece[at])) && !work.stop();) {
      ++at;
      const uint32_t id = trie.value(node);
      if (id == Trie::kNone) continue;
      offer(path, reached, begin, at, scores_[id], id);
      has_character |= at == end;
    }
    return has_character;
  }

  // Makes a token the last of the path to `end` if that is the best one so far.
  static void offer(PathNode* path, size_t& reached, size_t begin, size_t end, double score, uint32_t id) {
    while (reached < end) path[++reached].begin = kNowhere;
    const double total = score + path[begin].score;
    if (path[end].begin == kNowhere || total > path[end].score)
      path[end] = {total, static_cast<uint32_t>(begin), id};
  }

  // Appends the ids of the best path, from its end to its beginning, and turns them around. Neighbouring
  // unknown characters are one piece.
  void append_path(std::string_view piece, const PathNode* path, TextWork& work,
                   std::vector<uint32_t>& ids) const {
    const size_t first = ids.size();
    const auto is_unknown = [&](size_t end) { return unknown_id_ && path[end].id == *unknown_id_; };
    for (size_t end = piece.size(); end > 0 && !work.stop();) {
      size_t begin = path[end].begin;
      if (is_unknown(end)) {
        while (begin > 0 && is_unknown(begin) && !work.stop()) begin = path[begin].begin;
        append_unknown(piece.substr(begin, end - begin), work, ids);
      } else {
        ids.push_back(path[end].id);
      }
      end = begin;
    }
    std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
  }

  // In reverse order.
  void append_unknown(std::string_view text, TextWork& work, std::vector<uint32_t>& ids) const {
    if (const auto found = vocabulary_.find(text)) {
      ids.push_back(*found);
    } else if (!bytes_.append_reversed(text, work, ids)) {
      ids.push_back(*unknown_id_);
    }
  }

  std::vector<double> scores_;  // by id
  double unknown_score_ = 0;
  ByteTokens bytes_;
};

}  // namespace

Result<std::unique_ptr<const TokenModel>> read_unigram(const JsonField& model) {
  auto made = std::make_unique<Unigram>();
  GLOVE_RETURN_IF_ERROR(made->read_scores(model));
  if (model.has("unk_id")) {
    GLOVE_ASSIGN_OR_RETURN(const uint32_t unknown, model.id("unk_id"));
    if (unknown >= made->scores_.size())
      return model.corrupt("has the unk_id " + std::to_string(unknown) + ", but only " +
                           std::to_string(made->scores_.size()) + " tokens in 'vocab'");
    made->unknown_id_ = unknown;
  }
  GLOVE_ASSIGN_OR_RETURN(const bool byte_fallback, model.boolean("byte_fallback", false));
  if (byte_fallback) made->bytes_ = ByteTokens(made->vocabulary_);
  return std::unique_ptr<const TokenModel>(std::move(made));
}

}  // namespace glove::tokenizers
