// Options that a function or table takes as a JSON object, such as those of glove_kmeans.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/cancel.h"
#include "base/status.h"
#include "sql/adapter/boundary.h"
#include "sql/values/json_reader.h"

namespace glove::sql {

// One of the options that Options has.
template <class Options>
struct JsonOption {
  const char* name;
  const char* expects;                                     // what the value must be, for messages
  bool (*take)(const JsonValue& value, Options& options);  // stores the value; false: it is invalid
};

// Each stores the value and returns true, or returns false if it is not of this kind.
bool take_flag(const JsonValue& value, bool& flag);
bool take_whole(const JsonValue& value, int64_t least, int64_t& number);
bool take_number(const JsonValue& value, double least, double most, double& number);
template <class Choice, size_t kCount>
bool take_choice(const JsonValue& value, const std::array<std::pair<const char*, Choice>, kCount>& choices,
                 Choice& choice) {
  if (value.kind != JsonKind::kText) return false;
  for (const auto& [name, meaning] : choices)
    if (value.text == name) {
      choice = meaning;
      return true;
    }
  return false;
}

// Returns a value as messages show it: only the kind of an array or object, and the beginning of long text.
std::string shown_json(const JsonValue& value);

// Returns the text of an options input; "{}" if it is NULL or absent (nullptr). `object`, the name of the
// function or table, begins the messages.
Result<std::string_view> options_text(sqlite3_value* value, std::string_view object);

// The members of an object. If a name occurs twice, its last value counts. Arrays have their elements, but of
// arrays and objects inside them only the kind is kept.
using JsonMembers = std::map<std::string, JsonValue>;

// Reads a JSON object. `example` is one, for the message.
Result<JsonMembers> read_json_object(std::string_view json, std::string_view object, std::string_view example,
                                     const InterruptCheck& interrupted);

// "<object>: unknown option ..." and "<object>: option ... is ..., but must be ...".
Error unknown_option(std::string_view object, const std::string& name, const std::string& names);
Error wrong_option(std::string_view object, const std::string& name, const JsonValue& value,
                   const char* expects);

// Sets the members of `options` that the JSON object names and does not change the others. An unknown option
// or an invalid value is an error that lists what is allowed.
template <class Options, size_t kCount>
Status parse_options(std::string_view json, std::string_view object, std::string_view example,
                     const std::array<JsonOption<Options>, kCount>& known, Options& options,
                     const InterruptCheck& interrupted = {}) {
  GLOVE_ASSIGN_OR_RETURN(const JsonMembers members, read_json_object(json, object, example, interrupted));
  for (const auto& [name, value] : members) {
    const JsonOption<Options>* option = nullptr;
    std::string names;
    for (const JsonOption<Options>& each : known) {
      if (name == each.name) option = &each;
      names += (names.empty() ? "" : ", ") + std::string(each.name);
    }
    if (option == nullptr) return unknown_option(object, name, names);
    if (!option->take(value, options)) return wrong_option(object, name, value, option->expects);
  }
  return {};
}

}  // namespace glove::sql
