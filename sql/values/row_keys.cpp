#include "sql/values/row_keys.h"

#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace glove::sql {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::string json_of(sqlite3_value* value) {
  const int type = sqlite3_value_type(value);
  if (type == SQLITE_INTEGER) return std::to_string(sqlite3_value_int64(value));
  if (type == SQLITE_FLOAT) return json_text(sqlite3_value_double(value));
  if (type == SQLITE_TEXT) return json_text(text_of(value));
  std::string text = "[\"";
  for (const unsigned char byte : text_or_blob(value)) (text += kDigits[byte / 16]) += kDigits[byte % 16];
  return text + "\"]";
}

// Receives a set. A value stands at the depth 1 or, of several columns, 2; deeper is the text of a BLOB.
class RowKeyHandler final : public JsonHandler {
 public:
  RowKeyHandler(size_t columns, const UseKey& use) : columns_(columns), use_(use) {}

  bool value(JsonValue& value) override {
    const bool opens = value.kind == JsonKind::kArray && depth_ <= depth_of_values();
    is_wrong = is_wrong || (!opens && depth_ < depth_of_values()) ||
               !(opens || value.is_number() || value.kind == JsonKind::kText);
    if (opens)
      ++depth_;
    else if (!is_wrong)
      add(value);
    return opens;
  }
  void end() override {
    if (depth_-- == depth_of_values() && columns_ > 1) finish_key();
  }

  bool is_wrong = false;
  Status used;

 private:
  int depth_of_values() const { return columns_ > 1 ? 2 : 1; }

  void add(JsonValue& value) {
    KeyPart& part = key_.emplace_back();
    part.type = value.kind == JsonKind::kInteger ? SQLITE_INTEGER
                : value.kind == JsonKind::kReal  ? SQLITE_FLOAT
                                                 : SQLITE_TEXT;
    part.integer = value.integer;
    part.real = value.number;
    part.bytes = std::move(value.text);
    if (depth_ > depth_of_values()) make_blob(part);
    if (columns_ == 1) finish_key();
  }
  void make_blob(KeyPart& part) {
    is_wrong = part.type != SQLITE_TEXT || part.bytes.size() % 2 != 0 ||
               part.bytes.find_first_not_of(kDigits) != std::string::npos;
    part.type = SQLITE_BLOB;
    const std::string text = std::exchange(part.bytes, {});
    for (size_t i = 0; i < text.size() && !is_wrong; i += 2)
      part.bytes += static_cast<char>(16 * kDigits.find(text[i]) + kDigits.find(text[i + 1]));
  }
  void finish_key() {
    is_wrong = is_wrong || key_.size() != columns_;
    if (!is_wrong && used.ok()) used = use_(key_);
    key_.clear();
  }

  const size_t columns_;
  const UseKey& use_;
  int depth_ = 0;
  std::vector<KeyPart> key_;
};

}  // namespace

std::string json_key(Arguments key) {
  std::string text;
  for (sqlite3_value* const value : key) text += (text.empty() ? "" : ",") + json_of(value);
  return key.size() == 1 ? text : "[" + text + "]";
}

Status read_keys(sqlite3_value* set, size_t columns, const UseKey& use, const InterruptCheck& interrupted) {
  if (is_blob(set) && columns == 1 && blob_of(set).size() % sizeof(int64_t) == 0) {
    KeyPart key;
    for (std::span<const std::byte> rest = blob_of(set); !rest.empty();
         rest = rest.subspan(sizeof(int64_t))) {
      std::memcpy(&key.integer, rest.data(), sizeof(int64_t));
      GLOVE_RETURN_IF_ERROR(use({&key, 1}));
    }
    return {};
  }
  RowKeyHandler handler(columns, use);
  if (sqlite3_value_type(set) == SQLITE_TEXT) {
    GLOVE_ASSIGN_OR_RETURN(const bool is_json, read_json(text_of(set), handler, interrupted));
    GLOVE_RETURN_IF_ERROR(handler.used);
    if (is_json && !handler.is_wrong) return {};
  }
  return invalid_argument(
      "among is no set of keys of ", counted(static_cast<int64_t>(columns), "columns"),
      "; write among = (SELECT glove_keys(", columns == 1 ? "key" : "a, b",
      ") FROM doc WHERE ...), or among = ", columns == 1 ? R"('["a", "b"]')" : R"('[["a", 1]]')");
}

}  // namespace glove::sql
