#include "sql/values/json_options.h"

#include "sql/adapter/arguments.h"

namespace glove::sql {
namespace {

constexpr size_t kMostShownBytes = 60;

std::string cut(std::string_view text) {
  return std::string(text.substr(0, kMostShownBytes)) + (text.size() > kMostShownBytes ? "..." : "");
}

class MembersHandler final : public JsonHandler {
 public:
  bool value(JsonValue& value) override {
    const bool is_array = value.kind == JsonKind::kArray;
    if (depth_ == 2) {
      member_->elements.push_back(std::move(value));
      return false;
    }
    const bool enters = depth_ == 0 ? value.kind == JsonKind::kObject : is_array;
    if (depth_ == 1) *member_ = std::move(value);
    if (enters) ++depth_;
    is_object = is_object || (depth_ > 0);
    return enters;
  }
  void key(std::string& name) override { member_ = &members[name]; }
  void end() override { --depth_; }

  bool is_object = false;
  JsonMembers members;

 private:
  int depth_ = 0;  // 1: in the object, 2: in an array that is a value of it
  JsonValue* member_ = nullptr;
};

}  // namespace

bool take_flag(const JsonValue& value, bool& flag) {
  if (value.kind != JsonKind::kBoolean) return false;
  flag = value.flag;
  return true;
}

bool take_whole(const JsonValue& value, int64_t least, int64_t& number, int64_t most) {
  if (value.kind != JsonKind::kInteger || value.integer < least || value.integer > most) return false;
  number = value.integer;
  return true;
}

bool take_number(const JsonValue& value, double least, double most, double& number) {
  if (!value.is_number() || !(value.number >= least && value.number <= most)) return false;
  number = value.number;
  return true;
}

std::string expected_whole(int64_t least, int64_t most) {
  if (most == kAnyWhole) return least == 0 ? "a non-negative integer" : "a positive integer";
  return concat("an integer from ", least, " to ", most);
}

std::string shown_json(const JsonValue& value) {
  if (value.kind == JsonKind::kText) return json_text(cut(value.text));
  if (value.kind == JsonKind::kBoolean) return value.flag ? "true" : "false";
  if (value.kind == JsonKind::kInteger) return std::to_string(value.integer);
  if (value.kind == JsonKind::kReal) return value.text.empty() ? json_text(value.number) : value.text;
  return value.kind == JsonKind::kNull ? "null" : std::string("an ") + json_type_name(value.kind);
}

Result<std::string_view> options_text(sqlite3_value* value, std::string_view object) {
  if (value == nullptr || is_null(value)) return std::string_view("{}");
  if (is_blob(value)) return invalid_argument(object, ": the options must be JSON text, not a BLOB");
  return text_of(value);
}

Result<JsonMembers> read_json_object(std::string_view json, std::string_view object, std::string_view example,
                                     const InterruptCheck& interrupted) {
  MembersHandler handler;
  GLOVE_ASSIGN_OR_RETURN(const bool is_json, read_json(json, handler, interrupted));
  if (!is_json || !handler.is_object)
    return invalid_argument(object, ": the options must be a JSON object such as ", example,
                            ", but are: ", cut(json));
  return std::move(handler.members);
}

Error unknown_option(std::string_view object, const std::string& name, const std::string& names) {
  return invalid_argument(object, ": unknown option ", json_text(cut(name)), "; the options are: ", names);
}

Error wrong_option(std::string_view object, const std::string& name, const JsonValue& value,
                   const std::string& expects) {
  return invalid_argument(object, ": option \"", name, "\" is ", shown_json(value), ", but must be ",
                          expects);
}

}  // namespace glove::sql
