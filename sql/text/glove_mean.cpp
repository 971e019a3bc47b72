// glove_mean(x [, weight [, model]]): the weighted mean of vectors as a BLOB of little-endian float32; an
// aggregate and a window function. x is a vector or a word, whose unit vector it then is.
//
//   SELECT author, glove_mean(glove_text_vec(body)) FROM doc GROUP BY author;
//   SELECT glove_mean(word, score) FROM (SELECT 'king' AS word, 2 AS score UNION ALL SELECT 'queen', 1);
//   SELECT glove_mean(v) OVER (ORDER BY day ROWS 6 PRECEDING) FROM reading;
//
// Rows whose x or weight is NULL are skipped, and so are words that the model lacks. Returns NULL if the
// total weight is 0. Sums are exact (analysis/exact_sum.h), so the result does not depend on the order of the
// rows, and a window frame has the bits of the aggregate over the same rows.
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/exact_sum.h"
#include "sql/adapter/aggregate.h"
#include "sql/register.h"
#include "sql/values/row_vector.h"

namespace glove::sql {
namespace {

constexpr std::string_view kMean = "glove_mean";

// The state of one aggregation. Keeps the models that it has used, so that a row leaves a window frame with
// the vector that it entered with.
class MeanState {
 public:
  Status step(sqlite3_context* context, Arguments row) { return change(context, row, true); }
  Status inverse(sqlite3_context* context, Arguments row) { return change(context, row, false); }
  Status result(sqlite3_context* context);

 private:
  Status change(sqlite3_context* context, Arguments arguments, bool enter);
  Result<bool> read_x(sqlite3_context* context, Arguments arguments);
  Result<bool> read_word(std::string_view word, const Model& model);
  Result<ModelPtr> find_model(sqlite3_context* context, Arguments arguments);

  int64_t rows_ = 0;
  std::optional<ExactSums> sums_;  // of the weighted vectors; empty while there are no rows
  ExactSums weight_{1};
  std::vector<float> vector_;
  std::vector<std::pair<std::optional<std::string>, ModelPtr>> models_;  // by name
};

// Returns the weight of a row; nullopt: it is NULL.
Result<std::optional<double>> weight_argument(Arguments arguments) {
  if (arguments.size() < 2) return std::optional<double>(1);
  if (is_null(arguments[1])) return std::optional<double>();
  const std::optional<double> weight = number_of(arguments[1]);
  if (!weight) return invalid_value(kMean, "the weight must be a number, but is ", shown_value(arguments[1]));
  if (!std::isfinite(*weight) || *weight < 0)
    return invalid_value(kMean, "the weight must be finite and not negative, but is ",
                         shown_value(arguments[1]));
  return weight;
}

// False: the word has no vector, or a zero vector.
Result<bool> MeanState::read_word(std::string_view word, const Model& model) {
  vector_.resize(static_cast<size_t>(model.dims()));
  const WordVector found = find_word(model, word, vector_);
  const bool usable = found.norm_squared > 0;
  if (usable) {
    const double factor = 1 / std::sqrt(found.norm_squared);
    for (size_t j = 0; j < vector_.size(); ++j)
      vector_[j] = static_cast<float>(factor * static_cast<double>(found.vector[j]));
  }
  GLOVE_RETURN_IF_ERROR(model.health());  // a file that was cut has neither the word nor its norm
  return usable;
}

Result<ModelPtr> MeanState::find_model(sqlite3_context* context, Arguments arguments) {
  GLOVE_ASSIGN_OR_RETURN(const auto name, optional_text(arguments, 2, kMean, "model"));
  for (const auto& [known, model] : models_)
    if (known == name) return model;
  GLOVE_ASSIGN_OR_RETURN(CatalogEntry entry, connection_of(context).find(name));
  std::optional<std::string> kept;
  if (name) kept.emplace(*name);
  models_.emplace_back(std::move(kept), entry.model);
  return entry.model;
}

// Reads x into vector_. False: the row is skipped.
Result<bool> MeanState::read_x(sqlite3_context* context, Arguments arguments) {
  if (is_null(arguments[0])) return false;
  InterruptPoller poller(sqlite3_context_db_handle(context));
  GLOVE_ASSIGN_OR_RETURN(const bool is_vector, read_vector(arguments[0], kMean, "x", vector_, poller));
  if (is_vector && vector_.empty())
    return invalid_value(kMean, "x is an empty ", is_blob(arguments[0]) ? "BLOB" : "JSON array",
                         "; a vector has at least one component");
  if (is_vector) return true;
  GLOVE_ASSIGN_OR_RETURN(const ModelPtr model, find_model(context, arguments));
  return read_word(text_of(arguments[0]), *model);
}

Status MeanState::change(sqlite3_context* context, Arguments arguments, bool enter) {
  GLOVE_ASSIGN_OR_RETURN(const std::optional<double> weight, weight_argument(arguments));
  if (!weight) return {};
  GLOVE_ASSIGN_OR_RETURN(const bool known, read_x(context, arguments));
  if (!known) return {};
  if (!sums_) sums_.emplace(vector_.size());
  if (sums_->dims() != vector_.size())
    return invalid_value(kMean, "the vectors must have the same number of components, but have ",
                         sums_->dims(), " and ", vector_.size());
  const float one[1] = {1};
  if (enter) {
    sums_->add(*weight, vector_);
    weight_.add(*weight, one);
    ++rows_;
  } else {
    sums_->subtract(*weight, vector_);
    weight_.subtract(*weight, one);
    if (--rows_ == 0) sums_.reset();
  }
  return {};
}

Status MeanState::result(sqlite3_context* context) {
  const ScaledNumber total = weight_.rounded(0);
  if (!sums_ || total.m == 0) return {};
  vector_.resize(sums_->dims());
  for (size_t j = 0; j < vector_.size(); ++j) vector_[j] = quotient(sums_->rounded(j), total);
  sqlite3_result_blob64(context, vector_.data(), vector_.size() * sizeof(float), SQLITE_TRANSIENT);
  return {};
}

}  // namespace

// The flags of cos_sim, for the same reasons.
constexpr SqlObject kGloveMean = Aggregate<MeanState>::object("glove_mean", 1, 3, SQLITE_DETERMINISTIC);

}  // namespace glove::sql
