// glove_atax(vector [, model]): the vector A^T (A x), where the rows of A are the vectors of the model and x
// is the argument. It is the multiplication that power iterations repeat.
//
//   SELECT glove_atax(glove_vec('king'));   -- a BLOB of float32
//
// Returns NULL if the vector is NULL. The sums are in double precision and in a fixed order
// (analysis/analysis.h); the result is rounded to float32.
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/analysis.h"
#include "sql/adapter/arguments.h"
#include "sql/register.h"
#include "sql/values/row_vector.h"
#include "sql/values/toolbox_inputs.h"

namespace glove::sql {
namespace {

constexpr std::string_view kAtax = "glove_atax";

Status glove_atax(sqlite3_context* context, Arguments arguments) {
  if (is_null(arguments[0])) return {};
  GLOVE_ASSIGN_OR_RETURN(const std::vector<float> x, vector_argument(context, arguments[0], kAtax));
  GLOVE_ASSIGN_OR_RETURN(const auto name, optional_text(arguments, 1, kAtax, "model"));
  GLOVE_ASSIGN_OR_RETURN(CatalogEntry entry, connection_of(context).find(name));
  GLOVE_ASSIGN_OR_RETURN(const ToolboxSubject subject,
                         subject_of(engine_of(context), kAtax, std::move(entry)));
  const Model& model = *subject.entry.model;
  if (static_cast<int64_t>(x.size()) != model.dims())
    return invalid_value(kAtax, "the vector has ", component_count(x.size()), ", but the model '",
                         subject.entry.name, "' has ", model.dims(), " dimensions");
  InterruptPoller interrupted(sqlite3_context_db_handle(context));
  GLOVE_ASSIGN_OR_RETURN(const PointSet set, subject.points(interrupted));
  std::vector<double> product(x.size());
  const auto work = [&](Analysis& analysis) {
    return analysis.gram_product(set.points(), x, product, interrupted);
  };
  std::string backend;
  GLOVE_RETURN_IF_ERROR(with_takeover(engine_of(context), subject.backends,
                                      "multiply the rows of the model " + model.path(), backend, work));
  GLOVE_RETURN_IF_ERROR(model.health());
  return return_vector(context, std::span<const double>(product), kAtax);
}

}  // namespace

// The same flags as cos_sim, for the same reasons.
constexpr SqlObject kGloveAtax = scalar_function<glove_atax>("glove_atax", 1, 2, SQLITE_DETERMINISTIC);

}  // namespace glove::sql
