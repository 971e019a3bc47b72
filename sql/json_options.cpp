#include "sql/json_options.h"

#include <limits>

#include "sql/arguments.h"

namespace glove::sql {

bool take_flag(const Json& value, bool& flag) {
  if (!value.is_boolean()) return false;
  flag = value.get<bool>();
  return true;
}

bool take_whole(const Json& value, int64_t least, int64_t& number) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return false;
  number = value.get<int64_t>();
  return number >= least;
}

std::string shown_json(const Json& value) {
  if (value.is_structured()) return std::string("an ") + value.type_name();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::string_view> options_text(sqlite3_value* value, std::string_view object) {
  if (value == nullptr || is_null(value)) return std::string_view("{}");
  if (is_blob(value))
    return Error{ErrorCode::kInvalidArgument,
                 std::string(object) + ": the options must be JSON text, not a BLOB"};
  return text_of(value);
}

Result<Json> parse_json_object(std::string_view json, std::string_view object, std::string_view example) {
  Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object())
    return Error{ErrorCode::kInvalidArgument, std::string(object) +
                                                  ": the options must be a JSON object such as " +
                                                  std::string(example) + ", but are: " + std::string(json)};
  return parsed;
}

}  // namespace glove::sql
