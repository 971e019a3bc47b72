#include "sql/values.h"

#include <cmath>

#include "base/utf8.h"
#include "sql/arguments.h"

namespace glove::sql {

std::optional<int64_t> whole_number(sqlite3_value* value) {
  switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER:
      return sqlite3_value_int64(value);
    case SQLITE_FLOAT: {
      const double number = sqlite3_value_double(value);
      if (number == std::floor(number) && std::fabs(number) < 0x1p63) return static_cast<int64_t>(number);
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::string shown_value(sqlite3_value* value) {
  constexpr size_t kMostShownBytes = 60;
  if (is_null(value)) return "NULL";
  if (is_blob(value)) return "a BLOB";
  const std::string_view text = text_of(value);
  if (sqlite3_value_type(value) != SQLITE_TEXT) return std::string(text);
  return quoted_value(text, kMostShownBytes);
}

void return_json(sqlite3_context* context, std::string_view json) {
  constexpr unsigned kJsonSubtype = 'J';
  return_text(context, json);
  sqlite3_result_subtype(context, kJsonSubtype);
}

Error invalid_value(std::string_view object, const std::string& rest) {
  return {ErrorCode::kInvalidArgument, std::string(object) + ": " + rest};
}

Error named_error(std::string_view object, const Error& error) {
  return {error.code, std::string(object) + ": " + error.message};
}

}  // namespace glove::sql
