// cos_sim(a, b [, model]): returns the cosine of two words or vectors, with the same bits as
// glove_nn.similarity.
//
//   SELECT cos_sim('king', 'queen');                      -- 0.750769...
//   SELECT cos_sim('king', glove_vec('queen'));           -- a vector is a BLOB of float32
//   SELECT cos_sim(x'0000803f00000000', '[1, 1]');     -- or a JSON array; two vectors need no model
//
// Returns NULL if a or b is NULL, a word that the model lacks, or a zero vector.
//
// dot_product(a, b [, model]) and l2_distance(a, b [, model]) take the same arguments, and a zero vector,
// too.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/float_environment.h"
#include "model/exact_dot.h"
#include "model/metric.h"
#include "model/model.h"
#include "sql/adapter/arguments.h"
#include "sql/register.h"
#include "sql/values/blob_type.h"
#include "sql/values/row_vector.h"

namespace glove::sql {
namespace {

constexpr std::string_view name_of(RowMetric metric) {
  return metric == RowMetric::kCosine ? "cos_sim" : metric == RowMetric::kDot ? "dot_product" : "l2_distance";
}

// An argument as a vector. If the argument is a constant, SQLite keeps the operand between the rows of a
// statement (sqlite3_set_auxdata).
struct Operand {
  ModelPtr model;                 // whose row a word's vector is; null for a vector
  uint64_t own_changes = 0;       // Connection::own_changes() when the model was found
  std::vector<float> given;       // a vector's components, or those of a word that are made of n-grams
  std::span<const float> vector;  // empty for a word without one, and for x''
  double norm_squared = 0;        // 0: unknown word or zero vector, which has no cosine
  bool unknown_word = false;
};

// D(a, b) of vectors of any length, of the same length. The error is an interrupt.
Result<double> dot(std::span<const float> a, std::span<const float> b, const InterruptCheck& interrupted) {
  constexpr size_t kPiece = size_t{1} << 16;
  if (a.size() <= kPiece) return exact_dot(a.data(), b.data(), static_cast<int64_t>(a.size()));
  InterruptPoll poll(interrupted);
  PiecewiseDot sum;
  for (size_t first = 0; first < a.size(); first += kPiece) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    const size_t count = std::min(kPiece, a.size() - first);
    sum.add(a.data() + first, b.data() + first, static_cast<int64_t>(count));
  }
  return sum.value();
}

// Returns nullptr if the value is a word.
Result<std::unique_ptr<Operand>> operand_of_vector(sqlite3_value* value, std::string_view function,
                                                   std::string_view name, const InterruptCheck& interrupted) {
  if (!is_blob(value) && !begins_like_array(text_of(value))) return std::unique_ptr<Operand>();
  auto operand = std::make_unique<Operand>();
  GLOVE_ASSIGN_OR_RETURN(const bool is_vector,
                         read_vector(value, function, name, operand->given, interrupted));
  if (!is_vector) return std::unique_ptr<Operand>();
  if (is_blob(value) && has_widened_floats(operand->given))
    return invalid_value(function, name, " looks like a BLOB of float64; convert it to float32");
  operand->vector = operand->given;
  GLOVE_ASSIGN_OR_RETURN(operand->norm_squared, dot(operand->vector, operand->vector, interrupted));
  return operand;
}

std::unique_ptr<Operand> operand_of_word(sqlite3_value* value, const ModelPtr& model) {
  auto operand = std::make_unique<Operand>();
  operand->model = model;
  const WordVector word = find_word(*model, text_of(value), operand->given);
  operand->unknown_word = word.vector == nullptr;
  if (!operand->unknown_word) operand->vector = {word.vector, static_cast<size_t>(model->dims())};
  operand->norm_squared = word.norm_squared;
  return operand;
}

// Returns what the function returns of two operands; nullopt means NULL.
Result<std::optional<double>> compare(RowMetric metric, const Operand& a, const Operand& b,
                                      const InterruptCheck& interrupted) {
  if (a.unknown_word || b.unknown_word) return std::optional<double>();
  if (a.vector.size() != b.vector.size())
    return invalid_argument(name_of(metric),
                            ": the arguments must have the same number of components, but have ",
                            a.vector.size(), " and ", b.vector.size());
  const ScopedFloatEnvironment float_environment;
  if (metric == RowMetric::kL2)
    return std::optional<double>(
        exact_distance(a.vector.data(), b.vector.data(), static_cast<int64_t>(a.vector.size())));
  const bool has_cosine = a.norm_squared > 0 && b.norm_squared > 0;
  if (metric == RowMetric::kCosine && !has_cosine) return std::optional<double>();
  GLOVE_ASSIGN_OR_RETURN(const double product, dot(a.vector, b.vector, interrupted));
  return std::optional<double>(
      metric == RowMetric::kDot ? product : cosine_from_dots(product, a.norm_squared, b.norm_squared));
}

void destroy_operand(void* operand) {
  delete static_cast<Operand*>(operand);
}

// Returns the model of a kept constant word, which is the default model for the whole statement unless the
// connection itself changes the models; nullptr if there is none.
ModelPtr kept_model(sqlite3_context* context) {
  for (const int argument : {0, 1}) {
    const auto* kept = static_cast<const Operand*>(sqlite3_get_auxdata(context, argument));
    if (kept != nullptr && kept->model != nullptr &&
        kept->own_changes == connection_of(context).own_changes())
      return kept->model;
  }
  return nullptr;
}

// The two operands of a call: those that SQLite kept, and those that the call has made.
struct Operands {
  std::array<std::unique_ptr<Operand>, 2> fresh;
  std::array<const Operand*, 2> used{};

  // Makes the operands that are vectors and were not kept. Returns true if that leaves a word.
  Result<bool> find_vectors(sqlite3_context* context, Arguments arguments, std::string_view function,
                            const InterruptCheck& interrupted) {
    constexpr const char* kNames[] = {"the first argument", "the second argument"};
    bool has_word = false;
    for (size_t i = 0; i < 2; ++i) {
      const auto* kept = static_cast<const Operand*>(sqlite3_get_auxdata(context, static_cast<int>(i)));
      if (kept == nullptr) {
        GLOVE_ASSIGN_OR_RETURN(fresh[i], operand_of_vector(arguments[i], function, kNames[i], interrupted));
        used[i] = fresh[i].get();
      } else if (kept->model == nullptr) {
        used[i] = kept;
      }
      has_word = has_word || used[i] == nullptr;
    }
    return has_word;
  }

  // Looks up the words, unless they were kept. A kept word is stale if the model argument of this row names
  // another model.
  void find_words(sqlite3_context* context, Arguments arguments, const ModelPtr& model) {
    for (size_t i = 0; i < 2; ++i) {
      if (used[i] != nullptr) continue;
      const auto* kept = static_cast<const Operand*>(sqlite3_get_auxdata(context, static_cast<int>(i)));
      if (kept == nullptr || kept->model != model) {
        fresh[i] = operand_of_word(arguments[i], model);
        fresh[i]->own_changes = connection_of(context).own_changes();
        kept = fresh[i].get();
      }
      used[i] = kept;
    }
  }

  // Lets SQLite keep the fresh operands; it may destroy them immediately.
  void keep(sqlite3_context* context) {
    for (size_t i = 0; i < 2; ++i)
      if (fresh[i] != nullptr)
        sqlite3_set_auxdata(context, static_cast<int>(i), fresh[i].release(), destroy_operand);
  }
};

template <RowMetric kMetric>
Status compare_values(sqlite3_context* context, Arguments arguments) {
  if (is_null(arguments[0]) || is_null(arguments[1])) return Status();  // the result is NULL by default

  InterruptPoller poller(sqlite3_context_db_handle(context));
  const InterruptCheck interrupted = poller;
  Operands operands;
  GLOVE_ASSIGN_OR_RETURN(const bool has_word,
                         operands.find_vectors(context, arguments, name_of(kMetric), interrupted));
  const bool names_model = arguments.size() > 2 && !is_null(arguments[2]);
  ModelPtr model;
  if (has_word && !names_model) model = kept_model(context);
  if (model != nullptr) {
    GLOVE_RETURN_IF_ERROR(check_health(*model, connection_of(context).db()));
  } else if (has_word || names_model) {
    GLOVE_ASSIGN_OR_RETURN(model, model_argument(context, arguments, 2, name_of(kMetric)));
  }
  operands.find_words(context, arguments, model);

  GLOVE_ASSIGN_OR_RETURN(const std::optional<double> found,
                         compare(kMetric, *operands.used[0], *operands.used[1], interrupted));
  if (found) sqlite3_result_double(context, *found);
  operands.keep(context);
  return Status();
}

// DETERMINISTIC, because within a statement equal arguments return equal bits unless a model is loaded
// meanwhile. Generated columns and indexes on expressions require the flag; the values that they store do
// not change when another model is loaded (see docs/sql.md). Not INNOCUOUS, because the result depends on
// the models of the process and the first use may open $GLOVE_MODEL. An untrusted schema must not call it,
// which trusted_schema=OFF enforces. Not DIRECTONLY, because it writes nothing and opens only the file that
// the user named, so views and triggers of a trusted schema may use it.
template <RowMetric kMetric>
constexpr SqlObject comparison() {
  return scalar_function<compare_values<kMetric>>(name_of(kMetric).data(), 2, 3, SQLITE_DETERMINISTIC);
}

}  // namespace

constexpr SqlObject kCosSim = comparison<RowMetric::kCosine>();
constexpr SqlObject kDotProduct = comparison<RowMetric::kDot>();
constexpr SqlObject kL2Distance = comparison<RowMetric::kL2>();

}  // namespace glove::sql
