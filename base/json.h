// Reads the JSON of users (options, arrays of words, vectors and matrices) and of files. Writes numbers and
// text as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace glove {

// What a value in JSON text is. Numbers without a fraction and an exponent that int64_t holds are kInteger.
enum class JsonKind { kNull, kBoolean, kInteger, kReal, kText, kArray, kObject };

// The name of its type in JSON: "null", "boolean", "number", "string", "array" or "object".
const char* json_type_name(JsonKind kind);

// A value in JSON text. Freeing it allocates no memory, so it may be freed when there is none left.
struct JsonValue {
  JsonKind kind = JsonKind::kNull;
  bool flag = false;    // kBoolean
  int64_t integer = 0;  // kInteger
  double number = 0;    // kInteger and kReal; finite
  // kText: the string. kReal: the digits of an integer that int64_t does not hold, or nothing.
  std::string text = {};
  std::vector<JsonValue> elements = {};  // kArray: filled in by the reader of options only, one level deep

  bool is_number() const { return kind == JsonKind::kInteger || kind == JsonKind::kReal; }
};

// Receives the values of a JSON text in their order.
class JsonHandler {
 public:
  virtual ~JsonHandler() = default;
  // A value, from which the handler may move. Of an array or object, which only begins here: true means that
  // the handler receives its contents and then end(); false means that it is skipped.
  virtual bool value(JsonValue& value) = 0;
  // The name of the member of an object whose value comes next.
  virtual void key(std::string& /*name*/) {}
  // The innermost array or object that the handler receives has ended.
  virtual void end() {}
  // The text is not JSON at this byte, from 1. `too_large`: because of a number that the handler would
  // receive, but whose magnitude no double can hold. The reading ends there.
  virtual void malformed(size_t /*position*/, bool /*too_large*/) {}
};

// Passes the values to the handler. Returns false if the text is not JSON; the handler may then have received
// a part of it. Errors: an interrupt. Throws nothing but what the handler throws, and std::bad_alloc. Nesting
// takes a bit of memory per level and no stack.
Result<bool> read_json(std::string_view json, JsonHandler& handler, const InterruptCheck& interrupted = {});

// A finite number as JSON: the fewest digits that read as the same number.
std::string json_text(double number);
// The same, without a fraction that is zero: "0.95", "1".
std::string number_text(double number);
// A string as JSON, with quotes. Bytes that are not valid UTF-8 become U+FFFD, because JSON has none.
std::string json_text(std::string_view text);

}  // namespace glove
