// Vectors as BLOBs of smaller numbers, as a column of a glove_index with `type` has them, and back.
//
//   glove_f16(v), glove_bf16(v)    float16 or bfloat16: the nearest numbers, of two the even one
//   glove_i8(v [, scale])          int8: the integers nearest to scale * component; scale is 127 by default
//   glove_f32(v, type)             the float32 of a BLOB of 'float32', 'float16', 'bfloat16' or 'int8'
//
// v is a BLOB of float32 or a JSON array, but that of glove_f32 a BLOB of the type or a JSON array. Each
// returns NULL if v is NULL. It is an error if a component is beyond the type's range.
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "base/json.h"
#include "loader/formats/elements.h"
#include "search/query.h"
#include "sql/adapter/arguments.h"
#include "sql/register.h"
#include "sql/values/row_vector.h"

namespace glove::sql {
namespace {

Status narrow(sqlite3_context* context, Arguments arguments, ElementType type) {
  const std::string_view function = function_name_of(context);
  if (is_null(arguments[0])) return {};
  const bool is_int8 = type == ElementType::kInt8;
  double scale = is_int8 ? 127 : 1;
  if (arguments.size() > 1) {
    scale = number_of(arguments[1]).value_or(0);
    if (!(scale > 0 && std::isfinite(scale)))
      return invalid_value(function, "scale must be a number above 0, but is ", shown_value(arguments[1]));
  }
  GLOVE_ASSIGN_OR_RETURN(const std::vector<float> vector, vector_argument(context, arguments[0], function));
  const auto size = static_cast<size_t>(element_bytes(type));
  std::string bytes(vector.size() * size, '\0');
  for (size_t i = 0; i < vector.size(); ++i)
    if (!round_element(type, vector[i] * scale, bytes.data() + i * size))
      return invalid_value(
          function, "component ", i + 1, " is ", number_text(vector[i]), ", which ", vector_type_name(type),
          " cannot hold",
          is_int8 ? concat(" with the scale ", number_text(scale), "; give a lower scale") : std::string());
  sqlite3_result_blob64(context, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return {};
}

template <ElementType kType>
Status glove_narrow(sqlite3_context* context, Arguments arguments) {
  return narrow(context, arguments, kType);
}

Status glove_f32(sqlite3_context* context, Arguments arguments) {
  constexpr std::string_view kFunction = "glove_f32";
  if (is_null(arguments[0])) return {};
  GLOVE_ASSIGN_OR_RETURN(const std::string_view name, required_text(arguments, 1, kFunction, "type"));
  const std::optional<ElementType> type = vector_type_named(name);
  if (!type)
    return invalid_value(kFunction, "type must be ", kVectorTypes, ", but is ", shown_value(arguments[1]));
  std::vector<float> vector;
  const Status read = read_row_vector(arguments[0], vector, {}, *type);
  if (!read.ok()) return invalid_value(kFunction, "the argument ", read.error().message);
  if (const Status finite = check_finite(vector, "the vector"); !finite.ok())
    return named_error(kFunction, finite.error());
  return return_vector(context, std::span<const float>(vector), kFunction);
}

// INNOCUOUS, because the results depend on the arguments alone.
constexpr int kTypesFlags = SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;

}  // namespace

constexpr SqlObject kGloveF16 =
    scalar_function<glove_narrow<ElementType::kFloat16>>("glove_f16", 1, 1, kTypesFlags);
constexpr SqlObject kGloveBf16 =
    scalar_function<glove_narrow<ElementType::kBFloat16>>("glove_bf16", 1, 1, kTypesFlags);
constexpr SqlObject kGloveI8 =
    scalar_function<glove_narrow<ElementType::kInt8>>("glove_i8", 1, 2, kTypesFlags);
constexpr SqlObject kGloveF32 = scalar_function<glove_f32>("glove_f32", 2, 2, kTypesFlags);

}  // namespace glove::sql
