// glove_oov(expr [, model]): returns the words of an expression that have no vector ("out of vocabulary") as
// a JSON array, each once, in the order of the text.
//
//   SELECT glove_oov('king - kingg + "qeen"');            -- ["kingg","qeen"]
//   SELECT value FROM json_each(glove_oov('kingg'));      -- kingg
//
// Returns '[]' if all have one, and NULL if expr is NULL.
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "model/word_set.h"
#include "search/expression.h"
#include "search/query.h"
#include "sql/adapter/arguments.h"
#include "sql/register.h"
#include "sql/values/row_vector.h"

namespace glove::sql {
namespace {

Status glove_oov(sqlite3_context* context, Arguments arguments) {
  if (is_null(arguments[0])) return Status();
  GLOVE_ASSIGN_OR_RETURN(const std::string_view expression,
                         required_text(arguments, 0, "glove_oov", "expression"));
  GLOVE_ASSIGN_OR_RETURN(const ModelPtr model, model_argument(context, arguments, 1, "glove_oov"));
  InterruptPoller poller(sqlite3_context_db_handle(context));
  const InterruptCheck interrupted = poller;
  std::vector<float> vector;
  GLOVE_ASSIGN_OR_RETURN(const bool is_vector, read_vector_text(expression, vector, interrupted));
  std::vector<Term> terms;  // of a vector: none
  if (is_vector) {
    GLOVE_RETURN_IF_ERROR(query_for_vector(*model, std::move(vector)));
  } else {
    GLOVE_ASSIGN_OR_RETURN(terms, parse_expression(expression, interrupted));
  }
  std::string json = "[";
  InterruptPoll poll(interrupted);
  WordSet seen;  // whose memory is freed at once, also of millions of words
  seen.reserve(std::ssize(terms));
  for (const Term& term : terms) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    if (find_word(*model, term.word, vector).vector == nullptr && seen.insert(term.word))
      json += (json.size() > 1 ? "," : "") + json_text(term.word);
  }
  return_json(context, json + "]");
  return Status();
}

}  // namespace

// The same flags as cos_sim, for the same reasons, and RESULT_SUBTYPE because the result is marked as JSON
// (SQLite before 3.45 ignores the flag).
constexpr SqlObject kGloveOov =
    scalar_function<glove_oov>("glove_oov", 1, 2, SQLITE_DETERMINISTIC | SQLITE_RESULT_SUBTYPE);

}  // namespace glove::sql
