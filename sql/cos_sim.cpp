// cos_sim(a, b [, model]): returns the cosine of two words or vectors, with the same bits as
// glove_nn.similarity.
//
//   SELECT cos_sim('king', 'queen');                      -- 0.750769...
//   SELECT cos_sim('king', glove_vec('queen'));           -- a vector is a BLOB of float32
//   SELECT cos_sim(x'0000803f00000000', x'0000803f0000803f');  -- two BLOBs need no model
//
// Returns NULL if a or b is NULL, a word that the model lacks, or a zero vector.
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/exact_dot.h"
#include "model/model.h"
#include "sql/arguments.h"
#include "sql/boundary.h"
#include "sql/register.h"
#include "sql/scalar_function.h"
#include "sql/vector_argument.h"

namespace glove::sql {
namespace {

// An argument as a vector. If the argument is a constant, SQLite keeps the operand between the rows of a
// statement (sqlite3_set_auxdata).
struct Operand {
  ModelPtr model;                 // whose row a word's vector is; null for a BLOB
  uint64_t own_changes = 0;       // Connection::own_changes() when the model was found
  std::vector<float> blob;        // a BLOB's components
  std::span<const float> vector;  // empty for a word that the model lacks, and for x''
  double norm_squared = 0;        // 0: unknown word or zero vector, so the cosine is NULL
  bool unknown_word = false;
};

Result<std::unique_ptr<Operand>> operand_of_blob(sqlite3_value* value, std::string_view name) {
  auto operand = std::make_unique<Operand>();
  GLOVE_RETURN_IF_ERROR(read_vector_blob(value, "cos_sim", name, operand->blob));
  operand->vector = operand->blob;
  operand->norm_squared =
      exact_dot(operand->vector.data(), operand->vector.data(), static_cast<int64_t>(operand->vector.size()));
  return operand;
}

std::unique_ptr<Operand> operand_of_word(sqlite3_value* value, const ModelPtr& model) {
  auto operand = std::make_unique<Operand>();
  operand->model = model;
  const std::optional<int32_t> id = model->vocabulary().find(text_of(value));
  operand->unknown_word = !id.has_value();
  if (id) {
    operand->vector = {model->vector(*id), static_cast<size_t>(model->dims())};
    operand->norm_squared = model->norm_squared(*id);
  }
  return operand;
}

// Returns the cosine of two operands; nullopt means NULL.
Result<std::optional<double>> cosine(const Operand& a, const Operand& b) {
  if (a.unknown_word || b.unknown_word) return std::optional<double>();
  if (a.vector.size() != b.vector.size())
    return Error{ErrorCode::kInvalidArgument,
                 "cos_sim: the arguments must have the same number of components, but have " +
                     std::to_string(a.vector.size()) + " and " + std::to_string(b.vector.size())};
  if (!(a.norm_squared > 0) || !(b.norm_squared > 0)) return std::optional<double>();
  const double dot = exact_dot(a.vector.data(), b.vector.data(), static_cast<int64_t>(a.vector.size()));
  return std::optional<double>(cosine_from_dots(dot, a.norm_squared, b.norm_squared));
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

Status cos_sim(sqlite3_context* context, Arguments arguments) {
  if (is_null(arguments[0]) || is_null(arguments[1])) return Status();  // the result is NULL by default

  const bool names_model = arguments.size() > 2 && !is_null(arguments[2]);
  ModelPtr model;
  if (!names_model && (!is_blob(arguments[0]) || !is_blob(arguments[1]))) model = kept_model(context);
  if (model != nullptr) {
    GLOVE_RETURN_IF_ERROR(check_health(*model, connection_of(context).db()));
  } else if (names_model || !is_blob(arguments[0]) || !is_blob(arguments[1])) {
    GLOVE_ASSIGN_OR_RETURN(model, model_argument(context, arguments, 2, "cos_sim"));
  }

  std::array<std::unique_ptr<Operand>, 2> fresh;
  std::array<const Operand*, 2> operands{};
  for (size_t i = 0; i < 2; ++i) {
    const bool blob = is_blob(arguments[i]);
    const auto* kept = static_cast<const Operand*>(sqlite3_get_auxdata(context, static_cast<int>(i)));
    // A kept word is stale if the model argument of this row names another model.
    if (kept != nullptr && (blob || kept->model == model)) {
      operands[i] = kept;
      continue;
    }
    if (blob) {
      GLOVE_ASSIGN_OR_RETURN(
          fresh[i], operand_of_blob(arguments[i], i == 0 ? "the first argument" : "the second argument"));
    } else {
      fresh[i] = operand_of_word(arguments[i], model);
      fresh[i]->own_changes = connection_of(context).own_changes();
    }
    operands[i] = fresh[i].get();
  }

  GLOVE_ASSIGN_OR_RETURN(const std::optional<double> similarity, cosine(*operands[0], *operands[1]));
  if (similarity) sqlite3_result_double(context, *similarity);
  // This must come last, because SQLite may destroy the operand immediately.
  for (size_t i = 0; i < 2; ++i)
    if (fresh[i] != nullptr)
      sqlite3_set_auxdata(context, static_cast<int>(i), fresh[i].release(), destroy_operand);
  return Status();
}

}  // namespace

int register_cos_sim(sqlite3* db, Engine& engine) {
  // DETERMINISTIC, because within a statement equal arguments return equal bits unless a model is loaded
  // meanwhile. Generated columns and indexes on expressions require the flag; the values that they store do
  // not change when another model is loaded (see docs/sql.md). Not INNOCUOUS, because the result depends on
  // the models of the process and the first use may open $GLOVE_MODEL. An untrusted schema must not call it,
  // which trusted_schema=OFF enforces. Not DIRECTONLY, because it writes nothing and opens only the file that
  // the user named, so views and triggers of a trusted schema may use it.
  return register_scalar_function<cos_sim>(db, engine, "cos_sim", 2, 3, SQLITE_DETERMINISTIC);
}

}  // namespace glove::sql
