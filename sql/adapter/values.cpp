#include "sql/adapter/values.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "sql/adapter/arguments.h"

namespace glove::sql {
namespace {

size_t skip(std::string_view text, size_t from, std::string_view characters) {
  return std::min(text.find_first_not_of(characters, from), text.size());
}

// Returns SQLITE_INTEGER or SQLITE_FLOAT for text that is a number in SQL, otherwise SQLITE_TEXT.
// sqlite3_value_numeric_type() would do that, but since 3.53 it crashes for a copy of sqlite3_value_dup().
int numeric_type_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  constexpr std::string_view kDigits = "0123456789";
  const auto sign = [&](size_t at) { return at < text.size() && (text[at] == '+' || text[at] == '-'); };
  size_t at = skip(text, 0, kBlanks);
  at += sign(at);
  size_t end = skip(text, at, kDigits);
  size_t digits = end - at;
  int type = SQLITE_INTEGER;
  if (end < text.size() && text[end] == '.') {
    type = SQLITE_FLOAT;
    at = end + 1;
    end = skip(text, at, kDigits);
    digits += end - at;
  }
  if (digits == 0) return SQLITE_TEXT;
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    type = SQLITE_FLOAT;
    at = end + 1 + sign(end + 1);
    end = skip(text, at, kDigits);
    if (end == at) return SQLITE_TEXT;
  }
  return skip(text, end, kBlanks) == text.size() ? type : SQLITE_TEXT;
}

}  // namespace

std::optional<int64_t> whole_number(sqlite3_value* value) {
  int type = sqlite3_value_type(value);
  if (type == SQLITE_TEXT) {
    type = numeric_type_of(text_of(value));
    if (type == SQLITE_INTEGER && std::fabs(sqlite3_value_double(value)) > 0x1p63) type = SQLITE_FLOAT;
  }
  switch (type) {
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

Error named_error(std::string_view object, const Error& error) {
  return {error.code, std::string(object) + ": " + error.message};
}

Error named_argument_error(std::string_view object, const Error& error) {
  return error.code == ErrorCode::kInvalidArgument ? named_error(object, error) : error;
}

}  // namespace glove::sql
