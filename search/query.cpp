#include "search/query.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/concat.h"
#include "base/float_environment.h"
#include "base/require.h"
#include "model/exact_dot.h"
#include "model/shifted_codes.h"
#include "search/expression.h"

namespace glove {
namespace {

// Doubles with a magnitude of at least this much round to an infinite float.
constexpr double kFloatOverflow = 0x1.ffffffp127;

// `text` is used in messages only.
Result<MaybeQuery> query_from_terms(const Model& model, std::span<const Term> terms, std::string_view text,
                                    const InterruptCheck& interrupted) {
  InterruptPoll poll(interrupted);
  std::vector<int32_t> ids;
  ids.reserve(terms.size());
  std::vector<double> sum(static_cast<size_t>(model.dims()), 0.0);
  std::vector<float> made;
  for (const Term& term : terms) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    const WordVector word = find_word(model, term.word, made);
    if (word.vector == nullptr) return MaybeQuery();
    if (word.id) ids.push_back(*word.id);
    if (!(word.norm_squared > 0)) continue;  // a zero vector has no direction and adds nothing
    const double factor = term.weight / std::sqrt(word.norm_squared);
    for (size_t j = 0; j < sum.size(); ++j) sum[j] += factor * static_cast<double>(word.vector[j]);
  }
  const bool known = ids.size() == terms.size();
  std::vector<float> vector(sum.size());
  for (size_t j = 0; j < sum.size(); ++j) {
    if (!(std::fabs(sum[j]) < kFloatOverflow))
      return invalid_argument("expression ", quote_expression(text), ": component ", j + 1,
                              " of its vector overflows float32; use smaller weights");
    vector[j] = static_cast<float>(sum[j]);
  }
  MaybeQuery query = make_query(std::move(vector), std::move(ids), model.metric());
  if (query) query->known = known;
  return query;
}

}  // namespace

QuantizedQuery query_codes(const Model& model, const Query& query, int32_t max_code) {
  const CodingPtr& coding = model.source().coding;
  if (metric_of(coding) == RowMetric::kHamming) {  // the bytes as they are
    QuantizedQuery bytes;
    for (const float byte : query.vector) bytes.codes.push_back(static_cast<int16_t>(byte));
    bytes.codes.resize(static_cast<size_t>(component_groups(model.dims()) * kTileComponents));
    return bytes;
  }
  return coding != nullptr ? quantize_shifted_query(coding->metric, coding->shift, query.vector, max_code)
                           : quantize_query(query.vector, query.norm_squared, max_code);
}

double bound_needed(const Model& model, const Query& query, double score) {
  const CodingPtr& coding = model.source().coding;
  return coding == nullptr || score == kNoScore
             ? score
             : bound_of_score(coding->metric, coding->shift, query.vector, score);
}

MaybeQuery make_query(std::vector<float> vector, std::vector<int32_t> excluded, RowMetric metric) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  const double norm_squared = exact_dot(vector.data(), vector.data(), static_cast<int64_t>(vector.size()));
  if (metric == RowMetric::kCosine && !(norm_squared > 0)) return std::nullopt;
  std::sort(excluded.begin(), excluded.end());
  excluded.erase(std::unique(excluded.begin(), excluded.end()), excluded.end());
  return Query{std::move(vector), norm_squared, std::move(excluded)};
}

Status check_finite(std::span<const float> vector, std::string_view what) {
  for (size_t j = 0; j < vector.size(); ++j)
    if (!std::isfinite(vector[j]))
      return invalid_argument("component ", j + 1, " of ", what, " is ",
                              std::isnan(vector[j]) ? "NaN" : "infinite", "; every component must be finite");
  return {};
}

MaybeQuery query_for_word(const Model& model, std::string_view word) {
  ScopedFloatEnvironment float_environment;
  std::vector<float> vector;
  const WordVector found = find_word(model, word, vector);
  if (found.vector == nullptr) return std::nullopt;
  std::vector<int32_t> excluded;
  if (found.id) {
    vector.assign(found.vector, found.vector + model.dims());
    excluded = {*found.id};
  }
  MaybeQuery query = make_query(std::move(vector), std::move(excluded), model.metric());
  if (query) query->known = found.id.has_value();
  return query;
}

std::string float64_remedy(int64_t components, int64_t dims) {
  if (dims == 0 || components != 2 * dims) return {};
  return "; if it is float64, convert it, as vector.astype('float32') does in NumPy";
}

Result<MaybeQuery> query_for_vector(const Model& model, std::span<const std::byte> blob) {
  const size_t dims = static_cast<size_t>(model.dims());
  if (blob.size() != dims * sizeof(float))
    return invalid_argument("the vector has ", counted(static_cast<int64_t>(blob.size()), "bytes"),
                            "; the model's ", dims, " dimensions need ", dims * sizeof(float),
                            " (float32, little-endian)",
                            float64_remedy(static_cast<int64_t>(blob.size() / sizeof(float)), model.dims()));
  std::vector<float> vector(dims);
  std::memcpy(vector.data(), blob.data(), blob.size());
  return query_for_vector(model, std::move(vector));
}

Result<MaybeQuery> query_for_vector(const Model& model, std::vector<float> vector) {
  ScopedFloatEnvironment float_environment;
  GLOVE_RETURN_IF_ERROR(check_finite(vector, "the vector"));
  if (static_cast<int64_t>(vector.size()) != model.dims())
    return invalid_argument("the vector has ", vector.size(),
                            vector.size() == 1 ? " component" : " components", ", but the model has ",
                            model.dims(), " dimensions");
  return make_query(std::move(vector), {}, model.metric());
}

Result<MaybeQuery> query_for_expression(const Model& model, std::string_view expression,
                                        const InterruptCheck& interrupted) {
  ScopedFloatEnvironment float_environment;
  GLOVE_ASSIGN_OR_RETURN(const std::vector<Term> terms, parse_expression(expression, interrupted));
  return query_from_terms(model, terms, expression, interrupted);
}

Result<MaybeQuery> query_for_word_and_expression(const Model& model, std::string_view word,
                                                 std::string_view expression,
                                                 const InterruptCheck& interrupted) {
  ScopedFloatEnvironment float_environment;
  GLOVE_ASSIGN_OR_RETURN(std::vector<Term> terms, parse_expression(expression, interrupted));
  if (!starts_with_operator(expression))
    return invalid_argument("expression ", quote_expression(expression),
                            " must start with '+' or '-' when word is given too; or leave word out");
  terms.insert(terms.begin(), Term{1.0, std::string(word)});
  return query_from_terms(model, terms, expression, interrupted);
}

}  // namespace glove
