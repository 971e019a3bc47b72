// glove_tokens(text, model, options): the words or tokens of a text as glove_text_vec sees them.
//
//   SELECT position, token, id, weight FROM glove_tokens('The cat isn''t here');
//   SELECT token FROM doc JOIN glove_tokens(doc.body) t WHERE t.id IS NULL;   -- words that the model lacks
//
// `position` counts from 1. `id` and `weight` are NULL for a word that the model lacks, and for an unknown
// token that its rules drop; glove_text_vec skips it. A word that is made of n-grams has the weight 1.
#include <cstdint>
#include <memory>

#include "sql/adapter/fit_table.h"
#include "sql/register.h"
#include "sql/text/text_encoder.h"
#include "text/text_encoder.h"

namespace glove::sql {
namespace {

enum TokenColumn : int { kPosition, kToken, kTokenId, kWeight, kText, kTokenModel, kTokenOptions };

constexpr double kTokensPerText = 100;  // assumed

class TokenRows {
 public:
  static constexpr const char* kName = "glove_tokens";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_tokens(position INTEGER, token TEXT, id INTEGER, weight REAL, "
      "text TEXT HIDDEN, model TEXT HIDDEN, options TEXT HIDDEN)";
  static constexpr const char* kInputNames[] = {"text", "model", "options"};
  static constexpr vtab::InputColumns kInputs = {kName, kText, kInputNames, "text = 'some words'"};

  static Status plan(sqlite3_index_info* info) {
    return vtab::plan_inputs(info, kInputs, vtab::bit_of(kText), kTokensPerText, kTokensPerText);
  }

  Result<FitRange> start(Connection::Pin& models, const vtab::InputValues& inputs, int, Arguments) {
    GLOVE_ASSIGN_OR_RETURN(const auto text, optional_text(inputs[kText], kName, "text"));
    GLOVE_ASSIGN_OR_RETURN(const auto options, optional_text(inputs[kTokenOptions], kName, "options"));
    if (!text) return FitRange();
    GLOVE_ASSIGN_OR_RETURN(model_, model_input(models, inputs[kTokenModel], kName, Connection::For::kTexts));
    GLOVE_ASSIGN_OR_RETURN(const TextEncoder* const encoder,
                           kept_.find(models.connection(), model_, options, kName, /*for_words_only=*/true));
    InterruptPoller poller(models.connection().db());
    GLOVE_ASSIGN_OR_RETURN(tokens_, encoder->tokens(*model_, *text, poller));
    return FitRange{inputs.key(), model_, 0, FitRange::kUnknownEnd};
  }
  Result<bool> find(Connection::Pin& models) {
    InterruptPoller poller(models.connection().db());
    return tokens_->next(token_, poller);
  }
  void column(sqlite3_context* context, int64_t row, int column) {
    if (column == kPosition) sqlite3_result_int64(context, id(row));
    if (column == kToken) return_text(context, token_.text);
    if (column == kTokenId && token_.id) sqlite3_result_int64(context, *token_.id);
    if (column == kWeight && token_.weight) sqlite3_result_double(context, *token_.weight);
  }
  static int64_t id(int64_t row) { return row + 1; }

 private:
  KeptEncoder kept_;
  ModelPtr model_;
  std::unique_ptr<TextEncoder::Tokens> tokens_;
  EncodedToken token_;
};

}  // namespace

// No security flag, as glove_nn: it depends on the models, and changes nothing.
constexpr SqlObject kGloveTokens = vtab::table_object<FitTable<TokenRows>>();

}  // namespace glove::sql
