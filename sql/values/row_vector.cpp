#include "sql/values/row_vector.h"

#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "sql/adapter/arguments.h"
#include "sql/values/json_options.h"

namespace glove::sql {
namespace {

Status floats_of_blob(std::span<const std::byte> bytes, std::vector<float>& vector) {
  if (bytes.size() % sizeof(float) != 0)
    return invalid_argument("has a vector of ", counted(static_cast<int64_t>(bytes.size()), "bytes"),
                            "; a float32 vector has 4 bytes per component");
  vector.resize(bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(vector.data(), bytes.data(), bytes.size());
  return Status();
}

class VectorHandler final : public JsonHandler {
 public:
  explicit VectorHandler(std::vector<float>& vector) : vector_(vector) {}

  bool value(JsonValue& value) override {
    if (!inside_) return inside_ = is_array = value.kind == JsonKind::kArray;
    if (!value.is_number() && fault.empty())
      fault = concat("has a vector whose component ", vector_.size() + 1, " is ", shown_json(value),
                     ", which is not a number");
    vector_.push_back(static_cast<float>(value.number));
    return false;
  }
  void malformed(size_t, bool too_large) override {
    if (!inside_ || !too_large) return;
    vector_.push_back(std::numeric_limits<float>::infinity());
    ends_too_large = true;
  }

  bool is_array = false;
  bool ends_too_large = false;  // the text is not JSON, only because its last number does not fit a double
  std::string fault;            // the first one: the end of a message

 private:
  std::vector<float>& vector_;
  bool inside_ = false;
};

}  // namespace

const char* type_name_of(int type) {
  switch (type) {
    case SQLITE_INTEGER:
      return "INTEGER";
    case SQLITE_FLOAT:
      return "REAL";
    case SQLITE_TEXT:
      return "TEXT";
    case SQLITE_BLOB:
      return "BLOB";
    default:
      return "NULL";
  }
}

std::string component_count(size_t components) {
  return concat(components, components == 1 ? " component" : " components");
}

Status read_json_vector(std::string_view text, std::vector<float>& vector,
                        const InterruptCheck& interrupted) {
  vector.clear();
  VectorHandler handler(vector);
  GLOVE_ASSIGN_OR_RETURN(const bool is_json, read_json(text, handler, interrupted));
  if (handler.ends_too_large)
    return invalid_argument("has a vector whose component ", vector.size(), " is too large for a number");
  if (!is_json || !handler.is_array) return invalid_argument("has a TEXT vector that is not a JSON array");
  return handler.fault.empty() ? Status() : invalid_argument(handler.fault);
}

bool begins_like_array(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());  // as read_json() does
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && text[begin] == '[';
}

Result<bool> read_vector_text(std::string_view text, std::vector<float>& vector,
                              const InterruptCheck& interrupted) {
  vector.clear();
  if (!begins_like_array(text)) return false;
  VectorHandler handler(vector);
  GLOVE_ASSIGN_OR_RETURN(const bool is_json, read_json(text, handler, interrupted));
  return (is_json || handler.ends_too_large) && handler.fault.empty();
}

Status read_row_vector(sqlite3_value* value, std::vector<float>& vector, const InterruptCheck& interrupted) {
  const int type = sqlite3_value_type(value);
  if (type == SQLITE_BLOB) return floats_of_blob(blob_of(value), vector);
  if (type == SQLITE_TEXT) return read_json_vector(text_of(value), vector, interrupted);
  return invalid_argument("has a vector of type ", type_name_of(type),
                          "; a vector must be a BLOB of float32 or a JSON array");
}

}  // namespace glove::sql
