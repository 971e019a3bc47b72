// glove_text_vec(text [, model [, options]]): returns a vector for the meaning of a text as a BLOB of
// little-endian float32.
//
//   SELECT cos_sim(glove_text_vec('a man plays the violin'), glove_text_vec('someone performs music'));
//   SELECT glove_load_table('docs', 'SELECT id, glove_text_vec(body) FROM doc');   -- search rows by meaning
//   SELECT glove_text_vec(body, 'glove', '{"components":0}') FROM doc;
//
// The vector of a model with a tokenizer is the mean of its tokens' vectors by the rules of the model. That
// of a model of words is the mean of the raw vectors of the text's words, weighted by smooth inverse
// frequency, without the model's common components (docs/text.md). Returns NULL if the text is NULL, has no
// word or token of the model, or has a zero vector.
#include <memory>
#include <string_view>

#include "sql/adapter/arguments.h"
#include "sql/register.h"
#include "sql/text/text_encoder.h"
#include "text/text_encoder.h"

namespace glove::sql {
namespace {

constexpr std::string_view kTextVec = "glove_text_vec";

// What the function keeps between its calls on a connection.
struct TextVecState {
  KeptEncoder encoder;
  TextEncoder::Scratch scratch;
};

TextVecState& text_vec_state(sqlite3_context* context) {
  std::shared_ptr<void>& state = state_of(context);
  if (state == nullptr) state = std::make_shared<TextVecState>();
  return *static_cast<TextVecState*>(state.get());
}

Status glove_text_vec(sqlite3_context* context, Arguments arguments) {
  GLOVE_ASSIGN_OR_RETURN(const auto text, optional_text(arguments, 0, kTextVec, "text"));
  GLOVE_ASSIGN_OR_RETURN(const auto options, optional_text(arguments, 2, kTextVec, "options"));
  if (!text) return Status();
  GLOVE_ASSIGN_OR_RETURN(const ModelPtr model, model_argument(context, arguments, 1, kTextVec));
  TextVecState& state = text_vec_state(context);
  GLOVE_ASSIGN_OR_RETURN(const TextEncoder* const encoder,
                         state.encoder.find(connection_of(context), model, options, kTextVec));
  InterruptPoller poller(sqlite3_context_db_handle(context));
  auto encoded = encoder->encode(*model, *text, state.scratch, poller);
  if (!encoded.ok() && encoded.error().code == ErrorCode::kInterrupted) return encoded.error();
  if (!encoded.ok()) return named_error(kTextVec, encoded.error());
  if (encoded.value())
    sqlite3_result_blob64(context, state.scratch.vector.data(), state.scratch.vector.size() * sizeof(float),
                          SQLITE_TRANSIENT);
  return Status();
}

}  // namespace

int register_glove_text_vec(sqlite3* db, Engine& engine) {
  // The flags of cos_sim, for the same reasons.
  return register_scalar_function<glove_text_vec>(db, engine, "glove_text_vec", 1, 3, SQLITE_DETERMINISTIC);
}

}  // namespace glove::sql
