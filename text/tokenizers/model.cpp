#include "text/tokenizers/model.h"

#include "base/concat.h"
#include "text/tokenizers/unicode.h"

namespace glove::tokenizers {
namespace {

// WordPiece: the longest token that begins a word, then the longest that continues it, and so on. WordLevel:
// the whole word.
class WordPiece : public TokenModel {
 public:
  friend Result<std::unique_ptr<const TokenModel>> tokenizers::read_word_piece(const JsonField& model);

  Status encode(std::string_view piece, ModelBuffers&, TextWork& work,
                std::vector<uint32_t>& ids) const override {
    const size_t first = ids.size();
    bool known = !is_too_long(piece, work);
    for (size_t begin = 0; known && begin < piece.size() && !work.stop();)
      known = take_longest(piece, begin, work, ids);
    if (known) return {};
    ids.resize(first);
    ids.push_back(*unknown_id_);
    return {};
  }

 private:
  bool is_too_long(std::string_view piece, TextWork& work) const {
    if (piece.size() <= most_characters_) return false;
    if (piece.size() / 4 > most_characters_) return true;
    uint64_t count = 0;
    for (size_t at = 0; at < piece.size() && !work.stop(); at += length_of(piece[at])) ++count;
    return count > most_characters_;
  }

  // Appends the longest token at `begin`, and moves behind it. Returns false if there is none.
  bool take_longest(std::string_view piece, size_t& begin, TextWork& work, std::vector<uint32_t>& ids) const {
    const Trie& trie = vocabulary_.trie();
    if (begin > 0 && !continues_) return false;
    uint32_t node = begin > 0 ? continuation_ : Trie::kRoot;
    uint32_t best = Trie::kNone;
    size_t end = begin;
    for (size_t at = begin; at < piece.size() && trie.step(node, static_cast<unsigned char>(piece[at]));) {
      ++at;
      if (work.stop()) break;
      if (trie.value(node) == Trie::kNone) continue;
      best = trie.value(node);
      end = at;
    }
    if (best == Trie::kNone) return false;
    ids.push_back(best);
    begin = end;
    return true;
  }

  uint32_t continuation_ = Trie::kRoot;  // the node of the prefix of continuing tokens
  bool continues_ = false;               // whether there are any
  uint64_t most_characters_ = 0;
};

class WordLevel : public TokenModel {
 public:
  friend Result<std::unique_ptr<const TokenModel>> tokenizers::read_word_level(const JsonField& model);

  Status encode(std::string_view piece, ModelBuffers&, TextWork&, std::vector<uint32_t>& ids) const override {
    const auto found = vocabulary_.find(piece);
    ids.push_back(found ? *found : *unknown_id_);
    return {};
  }
};

}  // namespace

Result<std::unique_ptr<const TokenModel>> read_model(const JsonField& model) {
  if (model.value().as<JsonObject>() == nullptr) return model.must_be("an object");
  std::string type;
  if (model.has("type")) {
    GLOVE_ASSIGN_OR_RETURN(type, model.string("type"));
  } else {  // files of old versions
    type = model.has("merges") ? "BPE" : model.has("continuing_subword_prefix") ? "WordPiece" : "Unigram";
  }
  if (type == "WordPiece") return read_word_piece(model);
  if (type == "WordLevel") return read_word_level(model);
  if (type == "Unigram") return read_unigram(model);
  if (type == "BPE") return read_byte_pair(model);
  return model.unsupported("has the type " + quoted_value(type) +
                           ", which is not supported: WordPiece, WordLevel, Unigram and BPE are");
}

Result<TokenVocabulary> read_vocabulary(const JsonField& vocabulary) {
  const auto* ids = vocabulary.value().as<JsonObject>();
  if (ids == nullptr) return vocabulary.must_be("an object of tokens and ids");
  std::vector<std::pair<std::string, uint32_t>> tokens;
  tokens.reserve(ids->size());
  for (const auto& [token, id] : *ids) {
    GLOVE_RETURN_IF_ERROR(vocabulary.poll().check());
    const auto number = vocabulary.member("", id).id();
    if (!number.ok()) return vocabulary.member(quoted_value(token), id).id().error();
    tokens.emplace_back(token, number.value());
  }
  TokenVocabulary made(std::move(tokens), vocabulary.poll());
  GLOVE_RETURN_IF_ERROR(vocabulary.poll().check());
  return made;
}

Result<uint32_t> read_unknown(const JsonField& model, const TokenVocabulary& vocabulary) {
  GLOVE_ASSIGN_OR_RETURN(const std::string token, model.string("unk_token"));
  if (const auto id = vocabulary.find(token)) return *id;
  return model.corrupt("has the unk_token " + quoted_value(token) +
                       ", which its 'vocab' lacks, so no text with an unknown word could be encoded");
}

Error no_unknown_token() {
  return {ErrorCode::kInvalidArgument,
          "the text has a piece that is not in the vocabulary, and the tokenizer.json of the model names no "
          "token of the vocabulary for unknown pieces"};
}

Result<std::unique_ptr<const TokenModel>> read_word_piece(const JsonField& model) {
  auto made = std::make_unique<WordPiece>();
  GLOVE_ASSIGN_OR_RETURN(const JsonField vocabulary, model.at("vocab"));
  GLOVE_ASSIGN_OR_RETURN(made->vocabulary_, read_vocabulary(vocabulary));
  GLOVE_ASSIGN_OR_RETURN(made->unknown_id_, read_unknown(model, made->vocabulary_));
  GLOVE_ASSIGN_OR_RETURN(const std::string prefix, model.string("continuing_subword_prefix"));
  made->continues_ = made->vocabulary_.trie().walk(made->continuation_, prefix);
  GLOVE_ASSIGN_OR_RETURN(made->most_characters_, model.number("max_input_chars_per_word"));
  return std::unique_ptr<const TokenModel>(std::move(made));
}

Result<std::unique_ptr<const TokenModel>> read_word_level(const JsonField& model) {
  auto made = std::make_unique<WordLevel>();
  GLOVE_ASSIGN_OR_RETURN(const JsonField vocabulary, model.at("vocab"));
  GLOVE_ASSIGN_OR_RETURN(made->vocabulary_, read_vocabulary(vocabulary));
  GLOVE_ASSIGN_OR_RETURN(made->unknown_id_, read_unknown(model, made->vocabulary_));
  return std::unique_ptr<const TokenModel>(std::move(made));
}

}  // namespace glove::tokenizers
