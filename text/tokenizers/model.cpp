#include "text/tokenizers/model.h"

#include "base/concat.h"

namespace glove::tokenizers {

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

}  // namespace glove::tokenizers
