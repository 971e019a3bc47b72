#include "sql/values/row_vector.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/json.h"
#include "base/require.h"
#include "search/query.h"
#include "sql/adapter/arguments.h"
#include "sql/values/blob_type.h"
#include "sql/values/json_options.h"

namespace glove::sql {
namespace {

// Returns the function of SQL that makes this type of float32.
const char* converter_to(ElementType type) {
  return type == ElementType::kFloat16    ? "glove_f16"
         : type == ElementType::kBFloat16 ? "glove_bf16"
                                          : "glove_i8";
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

static_assert(std::endian::native == std::endian::little, "vectors are BLOBs of little-endian float32");

// Rounds to float32. Infinite if that cannot hold the value, whose conversion would be undefined.
float to_float(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  if (std::fabs(value) <= kMost) return static_cast<float>(value);
  return std::numeric_limits<float>::infinity();
}

// Reads the components of a BLOB. REQUIRES: its size is a multiple of element_bytes(type).
void read_components(std::span<const std::byte> bytes, ElementType type, std::vector<float>& vector) {
  const int64_t count = static_cast<int64_t>(bytes.size()) / element_bytes(type);
  vector.resize(static_cast<size_t>(count));
  if (count > 0) convert_elements(type, reinterpret_cast<const char*>(bytes.data()), count, vector.data());
}

// Returns the index of the first component that is not finite; the size if all are.
size_t first_unusable(std::span<const float> vector) {
  return static_cast<size_t>(std::ranges::find_if(vector, [](float value) { return !std::isfinite(value); }) -
                             vector.begin());
}

// Copies the components piece by piece, so that the poll can stop it.
Status copy_components(std::span<const std::byte> bytes, std::vector<float>& vector, InterruptPoll& poll) {
  constexpr size_t kPiece = size_t{1} << 16;
  const size_t size = bytes.size() / sizeof(float);
  vector.clear();
  vector.reserve(size);
  for (size_t first = 0; first < size; first += kPiece) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    const size_t count = std::min(kPiece, size - first);
    vector.resize(first + count);
    std::memcpy(vector.data() + first, bytes.data() + first * sizeof(float), count * sizeof(float));
  }
  return {};
}

// Returns an error that names the first component that is not finite, if there is one.
Status check_finite(std::span<const float> vector, std::string_view function, std::string_view name) {
  const size_t wrong = first_unusable(vector);
  if (wrong == vector.size()) return {};
  return invalid_value(function, "component ", wrong + 1, " of ", name, " is ",
                       std::isnan(vector[wrong]) ? "NaN" : "infinite", "; every component must be finite");
}

}  // namespace

const char* type_name_of(int type) {
  constexpr const char* kNames[] = {"INTEGER", "REAL", "TEXT", "BLOB", "NULL"};
  static_assert(SQLITE_INTEGER == 1 && SQLITE_NULL == 5);
  return kNames[type - SQLITE_INTEGER];
}

std::string component_count(size_t components) {
  return concat(components, components == 1 ? " component" : " components");
}

std::string length_text(ElementType type, size_t components) {
  return type == ElementType::kBits ? concat(8 * components, " bits") : component_count(components);
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

Status check_type(std::span<const float> vector, ElementType type, std::string_view what) {
  if (type == ElementType::kBits || !are_rather_float32(vector, type)) return {};
  const int64_t bytes = std::ssize(vector) * element_bytes(type);
  return invalid_argument(what, " BLOB of ", bytes, " bytes that look like ", bytes / 4,
                          " float32, not like ", vector_type_name(type), "; convert it by ",
                          converter_to(type));
}

std::string remedy_of_type(ElementType type, int64_t components, int64_t dims) {
  if (type == ElementType::kFloat32) return float64_remedy(components, dims);
  if (type == ElementType::kBits)
    return components == 8 * dims ? "; if it has a bit in each byte, pack it, as numpy.packbits does" : "";
  if (components * element_bytes(type) != dims * 4) return {};
  return concat("; if it is float32, convert it by ", converter_to(type));
}

Result<std::vector<float>> read_query_blob(std::span<const std::byte> bytes, ElementType type, int64_t dims) {
  const int64_t size = std::ssize(bytes), each = element_bytes(type);
  const bool is_float32 = type == ElementType::kFloat32;
  const bool is_own = !is_float32 && size > 0 && (dims == 0 ? size % each : size - dims * each) == 0;
  if (!is_own && type == ElementType::kBits)
    return invalid_argument(
        "the query is a BLOB of ", counted(size, "bytes"), ", but a vector of ",
        dims == 0 ? "bits has 1 or more" : concat(dims_of(type, dims), " bits has ", dims),
        remedy_of_type(type, size, dims));
  if (!is_own && (size % 4 != 0 || size == 0 || (dims != 0 && size != dims * 4)))
    return invalid_argument(
        "the query is a BLOB of ", counted(size, "bytes"), ", but a vector of ",
        dims == 0 ? "float32 has 4 bytes per component" : concat(dims, " float32 has ", dims * 4),
        is_float32 ? ""
                   : concat(", and one of ", vector_type_name(type), " ", dims == 0 ? each : dims * each),
        remedy_of_type(type, size / each, dims));
  std::vector<float> vector;
  read_components(bytes, is_own ? type : ElementType::kFloat32, vector);
  if (is_own) GLOVE_RETURN_IF_ERROR(check_type(vector, type, "the query is a"));
  return vector;
}

Status read_row_vector(sqlite3_value* value, std::vector<float>& vector, const InterruptCheck& interrupted,
                       ElementType type) {
  const int given = sqlite3_value_type(value);
  const bool is_bits = type == ElementType::kBits;
  if (given == SQLITE_TEXT && !is_bits) return read_json_vector(text_of(value), vector, interrupted);
  if (given != SQLITE_BLOB)
    return invalid_argument("has a vector of type ", type_name_of(given), "; a vector must be a BLOB of ",
                            vector_type_name(type), is_bits ? "" : " or a JSON array");
  const std::span<const std::byte> bytes = blob_of(value);
  const auto size = static_cast<int64_t>(bytes.size());
  if (size % element_bytes(type) != 0)
    return invalid_argument("has a vector of ", counted(size, "bytes"), "; a ", vector_type_name(type),
                            " vector has ", element_bytes(type), " bytes per component");
  read_components(bytes, type, vector);
  return {};
}

Result<bool> read_vector(sqlite3_value* value, std::string_view function, std::string_view name,
                         std::vector<float>& vector, const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(sqlite3_value_type(value) != SQLITE_NULL);
  if (!is_blob(value)) {
    GLOVE_ASSIGN_OR_RETURN(const bool is_vector, read_vector_text(text_of(value), vector, interrupted));
    if (is_vector) GLOVE_RETURN_IF_ERROR(check_finite(vector, function, name));
    return is_vector;
  }
  const std::span<const std::byte> bytes = blob_of(value);
  if (bytes.size() % sizeof(float) != 0)
    return invalid_value(function, name, " is a BLOB of ",
                         counted(static_cast<int64_t>(bytes.size()), "bytes"),
                         "; a float32 vector has 4 bytes per component");
  InterruptPoll poll(interrupted);
  GLOVE_RETURN_IF_ERROR(copy_components(bytes, vector, poll));
  GLOVE_RETURN_IF_ERROR(check_finite(vector, function, name));
  return true;
}

Result<std::vector<float>> vector_argument(sqlite3_context* context, sqlite3_value* value,
                                           std::string_view function) {
  GLOVE_REQUIRE(sqlite3_value_type(value) != SQLITE_NULL);
  InterruptPoller poller(sqlite3_context_db_handle(context));
  std::vector<float> vector;
  GLOVE_ASSIGN_OR_RETURN(const bool is_vector, read_vector(value, function, "the vector", vector, poller));
  if (!is_vector)
    return invalid_value(
        function,
        "the vector must be a BLOB of float32, such as glove_vec returns, or a JSON array of "
        "numbers");
  return vector;
}

Status return_vector(sqlite3_context* context, std::span<const float> vector, std::string_view function) {
  if (const size_t wrong = first_unusable(vector); wrong < vector.size())
    return invalid_value(function, "component ", wrong + 1,
                         " of the result is too large for float32; use a shorter vector");
  sqlite3_result_blob64(context, vector.data(), vector.size_bytes(), SQLITE_TRANSIENT);
  return {};
}

Status return_vector(sqlite3_context* context, std::span<const double> vector, std::string_view function) {
  std::vector<float> rounded(vector.size());
  std::ranges::transform(vector, rounded.begin(), to_float);
  return return_vector(context, std::span<const float>(rounded), function);
}

}  // namespace glove::sql
