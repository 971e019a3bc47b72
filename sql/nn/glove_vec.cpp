// glove_vec(expr [, model]): returns the vector of an expression, or of text that is a JSON array of numbers,
// as a BLOB of little-endian float32, the layout of sqlite-vec and of numpy's tobytes().
//
//   SELECT length(glove_vec('king')) / 4;                           -- 100, the model's dimensions
//   SELECT cos_sim(glove_vec('king - man + woman'), 'queen');       -- 0.783441...
//
// Returns NULL if expr is NULL, contains a word that the model lacks (see glove_oov), or adds up to zero.
#include <bit>
#include <string_view>
#include <utility>
#include <vector>

#include "search/query.h"
#include "sql/adapter/arguments.h"
#include "sql/register.h"
#include "sql/values/row_vector.h"

namespace glove::sql {
namespace {

static_assert(std::endian::native == std::endian::little, "vectors are BLOBs of little-endian float32");

Status glove_vec(sqlite3_context* context, Arguments arguments) {
  if (is_null(arguments[0])) return Status();
  GLOVE_ASSIGN_OR_RETURN(const std::string_view expression,
                         required_text(arguments, 0, "glove_vec", "expression"));
  GLOVE_ASSIGN_OR_RETURN(const ModelPtr model, model_argument(context, arguments, 1, "glove_vec"));
  InterruptPoller poller(sqlite3_context_db_handle(context));
  std::vector<float> vector;
  GLOVE_ASSIGN_OR_RETURN(const bool is_vector, read_vector_text(expression, vector, poller));
  GLOVE_ASSIGN_OR_RETURN(const MaybeQuery query, is_vector
                                                     ? query_for_vector(*model, std::move(vector))
                                                     : query_for_expression(*model, expression, poller));
  if (query && query->norm_squared > 0)
    sqlite3_result_blob64(context, query->vector.data(), query->vector.size() * sizeof(float),
                          SQLITE_TRANSIENT);
  return Status();
}

}  // namespace

// The same flags as cos_sim, for the same reasons.
constexpr SqlObject kGloveVec = scalar_function<glove_vec>("glove_vec", 1, 2, SQLITE_DETERMINISTIC);

}  // namespace glove::sql
