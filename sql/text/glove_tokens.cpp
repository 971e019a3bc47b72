// glove_tokens(text, model, options): the words or tokens of a text as glove_text_vec sees them.
//
//   SELECT position, token, id, weight FROM glove_tokens('The cat isn''t here');
//   SELECT token FROM doc JOIN glove_tokens(doc.body) t WHERE t.id IS NULL;   -- words that the model lacks
//
// `position` counts from 1. `id` and `weight` are NULL for a word that the model lacks, and for an unknown
// token that its rules drop; glove_text_vec skips it. A word that is made of n-grams has the weight 1.
#include <cstdint>
#include <memory>

#include "sql/adapter/input_numbers.h"
#include "sql/adapter/inputs.h"
#include "sql/adapter/table.h"
#include "sql/register.h"
#include "sql/text/text_encoder.h"
#include "text/text_encoder.h"

namespace glove::sql {
namespace {

enum TokenColumn : int { kPosition, kToken, kTokenId, kWeight, kText, kTokenModel, kTokenOptions };

constexpr const char* kInputNames[] = {"text", "model", "options"};
const vtab::InputColumns kTokenInputs = {"glove_tokens", kText, kInputNames, "text = 'some words'"};

constexpr double kTokensPerText = 100;  // assumed

class GloveTokens {
 public:
  static constexpr const char* kName = "glove_tokens";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_tokens(position INTEGER, token TEXT, id INTEGER, weight REAL, "
      "text TEXT HIDDEN, model TEXT HIDDEN, options TEXT HIDDEN)";

  explicit GloveTokens(Connection&) {}

  Status plan(sqlite3_index_info* info) {
    return vtab::plan_inputs(info, kTokenInputs, vtab::bit_of(kText), kTokensPerText, kTokensPerText);
  }

  class Cursor;

 private:
  vtab::InputNumbers numbers_;
};

class GloveTokens::Cursor {
 public:
  Cursor(GloveTokens& table, Connection::Pin& models)
      : models_(models), inputs_(kTokenInputs), rowids_(table.numbers_, kName) {}

  Status start(int plan, const char* plan_text, Arguments values) {
    position_ = 0;
    at_end_ = true;
    GLOVE_RETURN_IF_ERROR(inputs_.read(plan, plan_text, values));
    GLOVE_ASSIGN_OR_RETURN(const auto text, optional_text(inputs_[kText], kName, "text"));
    GLOVE_ASSIGN_OR_RETURN(const auto options, optional_text(inputs_[kTokenOptions], kName, "options"));
    if (!text) return {};
    rowids_.start(inputs_.key());
    GLOVE_ASSIGN_OR_RETURN(model_,
                           model_input(models_, inputs_[kTokenModel], kName, Connection::For::kTexts));
    GLOVE_ASSIGN_OR_RETURN(encoder_, kept_.find(models_.connection(), model_, options, kName,
                                                /*for_words_only=*/true));
    InterruptPoller poller(models_.connection().db());
    GLOVE_ASSIGN_OR_RETURN(tokens_, encoder_->tokens(*model_, *text, poller));
    return next();
  }

  Status next() {
    InterruptPoller poller(models_.connection().db());
    GLOVE_ASSIGN_OR_RETURN(const bool found, tokens_->next(token_, poller));
    at_end_ = !found;
    if (at_end_) return model_->health();  // of the words that were read
    ++position_;
    return {};
  }

  bool at_end() const noexcept { return at_end_; }

  Status column(sqlite3_context* context, int column) {
    if (kTokenInputs.contains(column)) return inputs_.return_input(context, column);
    if (column == kPosition) sqlite3_result_int64(context, position_);
    if (column == kToken) return_text(context, token_.text);
    if (column == kTokenId && token_.id) sqlite3_result_int64(context, *token_.id);
    if (column == kWeight && token_.weight) sqlite3_result_double(context, *token_.weight);
    return {};
  }

  Result<int64_t> rowid() { return rowids_.rowid(position_); }

 private:
  Connection::Pin& models_;
  vtab::InputValues inputs_;
  KeptEncoder kept_;
  ModelPtr model_;
  const TextEncoder* encoder_ = nullptr;
  std::unique_ptr<TextEncoder::Tokens> tokens_;
  EncodedToken token_;
  int64_t position_ = 0;
  vtab::ScanRowids rowids_;
  bool at_end_ = true;
};

}  // namespace

// No security flag, as glove_nn: it depends on the models, and changes nothing.
constexpr SqlObject kGloveTokens = vtab::table_object<GloveTokens>();

}  // namespace glove::sql
