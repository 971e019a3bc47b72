#include "base/json.h"

#include <cstddef>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace glove {
namespace {

using Json = nlohmann::json;

// A place in a text, for the parser. Moving to the next one throws Interrupted if the poll says so: a string
// or a number may be as long as the text. (If the bytes only ended early, the parser would make a message of
// that string.) The text and the poll outlive it.
class PolledBytes {
 public:
  struct Interrupted {};

  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  PolledBytes(const char* at, InterruptPoll& poll) : at_(at), poll_(&poll) {}

  reference operator*() const { return *at_; }
  PolledBytes& operator++() {
    ++at_;
    if (reinterpret_cast<uintptr_t>(at_) % kBytesPerPoll == 0 && poll_->stop()) throw Interrupted();
    return *this;
  }
  bool operator==(const PolledBytes& other) const { return at_ == other.at_; }

 private:
  static constexpr uintptr_t kBytesPerPoll = 4096;

  const char* at_;
  InterruptPoll* poll_;
};

// Receives the events of nlohmann's parser. The library's own values are not used for arrays and objects,
// because freeing these allocates memory in a destructor, where a failure ends the process.
class JsonEvents {
 public:
  explicit JsonEvents(JsonHandler& handler) : handler_(handler) {}

  // NOLINTBEGIN(readability-identifier-naming): the parser's interface
  bool null() { return pass({}); }
  bool boolean(bool flag) { return pass({.kind = JsonKind::kBoolean, .flag = flag}); }
  bool number_integer(Json::number_integer_t integer) {
    return pass({.kind = JsonKind::kInteger, .integer = integer, .number = static_cast<double>(integer)});
  }
  bool number_unsigned(Json::number_unsigned_t integer) {
    if (integer <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return number_integer(static_cast<int64_t>(integer));
    return pass(
        {.kind = JsonKind::kReal, .number = static_cast<double>(integer), .text = std::to_string(integer)});
  }
  bool number_float(Json::number_float_t number, const std::string&) {
    return pass({.kind = JsonKind::kReal, .number = number});
  }
  bool string(std::string& text) { return pass({.kind = JsonKind::kText, .text = std::move(text)}); }
  bool binary(Json::binary_t&) { return false; }  // not in JSON text
  bool key(std::string& name) {
    if (skipped_ == 0) handler_.key(name);
    return true;
  }
  bool start_object(std::size_t) { return begin(JsonKind::kObject); }
  bool end_object() { return end(); }
  bool start_array(std::size_t) { return begin(JsonKind::kArray); }
  bool end_array() { return end(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& problem) {
    constexpr int kNumberOverflow = 406;
    handler_.malformed(position, problem.id == kNumberOverflow && skipped_ == 0);
    return false;
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  bool pass(JsonValue value) {
    if (skipped_ == 0) handler_.value(value);
    return true;
  }
  bool begin(JsonKind kind) {
    JsonValue value{.kind = kind};
    if (skipped_ > 0 || !handler_.value(value)) ++skipped_;
    return true;
  }
  bool end() {
    if (skipped_ > 0)
      --skipped_;
    else
      handler_.end();
    return true;
  }

  JsonHandler& handler_;
  int64_t skipped_ = 0;  // arrays and objects that have begun since the handler skipped one
};

}  // namespace

const char* json_type_name(JsonKind kind) {
  constexpr const char* kNames[] = {"null", "boolean", "number", "number", "string", "array", "object"};
  return kNames[static_cast<size_t>(kind)];
}

Result<bool> read_json(std::string_view json, JsonHandler& handler, const InterruptCheck& interrupted) {
  // The parser takes a NUL for the end of the text.
  if (json.find('\0') != std::string_view::npos) return false;
  InterruptPoll poll(interrupted);
  JsonEvents events(handler);
  try {
    const PolledBytes begin(json.data(), poll);
    return Json::sax_parse(begin, PolledBytes(json.data() + json.size(), poll), &events);
  } catch (const PolledBytes::Interrupted&) {
    return interrupted_error();
  }
}

std::string json_text(double number) {
  return Json(number).dump();
}

std::string number_text(double number) {
  std::string text = json_text(number);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string json_text(std::string_view text) {
  return Json(text).dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace glove
