#include "text/tokenizers/model.h"

#include "base/utf8.h"

namespace glove::tokenizers {

Result<std::unique_ptr<const TokenModel>> read_model(const JsonField& model) {
  if (!model.value().is_object()) return model.corrupt("must be an object");
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
  if (!vocabulary.value().is_object()) return vocabulary.corrupt("must be an object of tokens and ids");
  std::vector<std::pair<std::string, uint32_t>> tokens;
  tokens.reserve(vocabulary.value().size());
  static const std::string kPlace;
  for (const auto& [token, id] : vocabulary.value().items()) {
    const auto number = JsonField(id, "", kPlace).id();
    if (!number.ok())
      return vocabulary.corrupt("must have a whole number as the id of " + quoted_value(token));
    tokens.emplace_back(token, number.value());
  }
  return TokenVocabulary(std::move(tokens));
}

Error no_unknown_token() {
  return {ErrorCode::kInvalidArgument,
          "the text has a piece that is not in the vocabulary, and the tokenizer.json of the model names no "
          "token for "
          "unknown pieces"};
}

}  // namespace glove::tokenizers
