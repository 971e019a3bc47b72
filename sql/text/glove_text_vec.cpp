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
//
// glove_encode(text [, model [, options]]): the same for any model, also a neural encoder, whose vectors may
// differ in their last bits between processors, so that SQLite lets no index or generated column use the
// function.
#include <memory>
#include <string_view>

#include "sql/adapter/arguments.h"
#include "sql/register.h"
#include "sql/text/text_encoder.h"
#include "text/text_encoder.h"

namespace glove::sql {
namespace {

constexpr std::string_view kTextVec = "glove_text_vec", kEncode = "glove_encode";

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

Status encode(sqlite3_context* context, Arguments arguments, std::string_view name, Connection::For use) {
  GLOVE_ASSIGN_OR_RETURN(const auto text, optional_text(arguments, 0, name, "text"));
  GLOVE_ASSIGN_OR_RETURN(const auto options, optional_text(arguments, 2, name, "options"));
  if (!text) return Status();
  GLOVE_ASSIGN_OR_RETURN(const ModelPtr model, model_argument(context, arguments, 1, name, use));
  TextVecState& state = text_vec_state(context);
  GLOVE_ASSIGN_OR_RETURN(const TextEncoder* const encoder,
                         state.encoder.find(connection_of(context), model, options, name));
  InterruptPoller poller(sqlite3_context_db_handle(context));
  auto encoded = encoder->encode(*model, *text, state.scratch, poller);
  if (!encoded.ok() && encoded.error().code == ErrorCode::kInterrupted) return encoded.error();
  if (!encoded.ok()) return named_error(name, encoded.error());
  if (encoded.value())
    sqlite3_result_blob64(context, state.scratch.vector.data(), state.scratch.vector.size() * sizeof(float),
                          SQLITE_TRANSIENT);
  return Status();
}

Status glove_text_vec(sqlite3_context* context, Arguments arguments) {
  return encode(context, arguments, kTextVec, Connection::For::kRows);
}

Status glove_encode(sqlite3_context* context, Arguments arguments) {
  return encode(context, arguments, kEncode, Connection::For::kTexts);
}

}  // namespace

// The flags of cos_sim, for the same reasons.
constexpr SqlObject kGloveTextVec =
    scalar_function<glove_text_vec>("glove_text_vec", 1, 3, SQLITE_DETERMINISTIC);
constexpr SqlObject kGloveEncode = scalar_function<glove_encode>("glove_encode", 1, 3, 0);

}  // namespace glove::sql
