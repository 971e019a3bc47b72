// glove_project(vector, model): maps a vector as glove_derive has mapped the vectors of `model`.
//
//   SELECT glove_derive('clean', '{"whiten":true}');
//   SELECT n.neighbor FROM doc d JOIN glove_nn n ON n.expr = glove_project(d.embedding, 'clean')
//     AND n.model = 'clean' AND n.k = 5;
//
// The vector belongs to the model that `model` was derived from; the result belongs to `model`. A row of the
// first becomes the row of the second, bit for bit. Returns NULL if the vector is NULL.
#include <span>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "model/row_map.h"
#include "sql/adapter/arguments.h"
#include "sql/register.h"
#include "sql/values/row_vector.h"

namespace glove::sql {
namespace {

constexpr std::string_view kProject = "glove_project";

Status glove_project(sqlite3_context* context, Arguments arguments) {
  if (is_null(arguments[0])) return {};
  GLOVE_ASSIGN_OR_RETURN(const std::vector<float> x, vector_argument(context, arguments[0], kProject));
  GLOVE_ASSIGN_OR_RETURN(const ModelPtr model, model_argument(context, arguments, 1, kProject));
  const RowMap* const map = model->derivation();
  if (map == nullptr)
    return invalid_value(kProject, "the model ",
                         quoted_value(is_null(arguments[1]) ? model->path() : text_of(arguments[1])),
                         " has no derivation; name a model that glove_derive has made");
  if (static_cast<int64_t>(x.size()) != map->dims_in)
    return invalid_value(kProject, "the vector has ", component_count(x.size()),
                         ", but the model was derived from vectors of ", map->dims_in);
  std::vector<float> z(static_cast<size_t>(map->dims_out));
  map->apply(x.data(), z.data());
  return return_vector(context, std::span<const float>(z), kProject);
}

}  // namespace

// The same flags as cos_sim, for the same reasons.
constexpr SqlObject kGloveProject =
    scalar_function<glove_project>("glove_project", 2, 2, SQLITE_DETERMINISTIC);

}  // namespace glove::sql
