// The inputs of one search as the query that they ask for.
#include <bit>
#include <cmath>
#include <utility>

#include "base/float_from_chars.h"
#include "base/json.h"
#include "base/require.h"
#include "search/expression.h"
#include "sql/nn/glove_nn_inputs.h"
#include "sql/values/row_vector.h"

namespace glove::sql::nn {
namespace {

// True for text such as '3' and '3.0', but not for 'inf'.
bool is_whole_number(std::string_view text) {
  const std::optional<double> number = number_from<double>(text);
  return number && std::isfinite(*number) && *number == std::floor(*number);
}

// Returns why word and expr cannot be combined. REQUIRES: expr does not start with an operator.
Error two_queries(const ExprValue& expr, bool is_vector, bool has_k) {
  GLOVE_REQUIRE(is_vector || expr.bytes.empty() || !starts_with_operator(expr.bytes));
  if (is_vector)
    return invalid_argument(std::string("word and expr are both given, but expr is a ") +
                            (expr.blob ? "BLOB" : "JSON array") +
                            ", which is a complete query; omit word: WHERE expr = ? AND k = 10");
  if (!has_k && is_whole_number(expr.bytes))
    return invalid_argument("the second argument, expr, is the number ", expr.bytes,
                            ", but k is the third argument; write glove_nn('king', NULL, ", expr.bytes, ")");
  return invalid_argument("word and expr are both given, but expr " + quote_expression(expr.bytes) +
                          " does not start with an operator; write glove_nn('king', '- man + woman')");
}

}  // namespace

std::string Inputs::key() const {
  std::string key;
  for (const Given state : given) key += static_cast<char>('0' + static_cast<int>(state));
  key += expr.blob ? 'b' : 't';
  for (const std::string* text : {&word, &expr.bytes, &model, &backend})
    key += std::to_string(text->size()) + ':' + *text;
  return key + std::to_string(k) + ' ' + std::to_string(std::bit_cast<uint64_t>(recall));
}

Result<MaybeQuery> Inputs::resolve(const Model& model_to_ask, const InterruptCheck& interrupted) const {
  bool is_vector = expr.blob;
  std::vector<float> vector;  // unless it is a BLOB
  if (has(kExpr) && !expr.blob) {
    GLOVE_ASSIGN_OR_RETURN(is_vector, read_vector_text(expr.bytes, vector, interrupted));
  }
  const bool stands_alone = is_vector || !starts_with_operator(expr.bytes);
  if (has(kWord)) {
    if (!has(kExpr)) return query_for_word(model_to_ask, word);
    if (stands_alone) return named_error("glove_nn", two_queries(expr, is_vector, has(kK)));
    return query_for_word_and_expression(model_to_ask, word, expr.bytes, interrupted);
  }
  if (state(kWord) == Given::kNull && (!has(kExpr) || !stands_alone)) return MaybeQuery();
  if (!has(kExpr))
    return named_error(
        "glove_nn", invalid_argument("expr is NULL, which counts as not given, and word is not given either; "
                                     "write WHERE word = 'king' AND k = 10"));
  if (expr.blob) return query_for_vector(model_to_ask, std::as_bytes(std::span(expr.bytes)));
  if (is_vector) return query_for_vector(model_to_ask, std::move(vector));
  return query_for_expression(model_to_ask, expr.bytes, interrupted);
}

bool Inputs::word_reads_as_expression() const {
  constexpr size_t kMostBytes = 1000;  // nobody writes a longer one by hand, and parsing it would take long
  if (!has(kWord) || has(kExpr) || word.size() > kMostBytes || word.find(' ') == std::string::npos)
    return false;
  const Result<std::vector<Term>> terms = parse_expression(word);
  return terms.ok() && terms.value().size() > 1;
}

}  // namespace glove::sql::nn
