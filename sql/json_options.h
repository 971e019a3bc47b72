// Options that a function or table takes as a JSON object, such as those of glove_kmeans.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "sql/boundary.h"

namespace glove::sql {

using Json = nlohmann::json;

// One of the options that Options has.
template <class Options>
struct JsonOption {
  const char* name;
  const char* expects;                                // what the value must be, for messages
  bool (*take)(const Json& value, Options& options);  // stores the value; false: it is a wrong one
};

// Each stores the value and returns true, or returns false if it is not of this kind.
bool take_flag(const Json& value, bool& flag);
bool take_whole(const Json& value, int64_t least, int64_t& number);
template <class Choice, size_t kCount>
bool take_choice(const Json& value, const std::array<std::pair<const char*, Choice>, kCount>& choices,
                 Choice& choice) {
  if (!value.is_string()) return false;
  for (const auto& [name, meaning] : choices)
    if (value.get_ref<const std::string&>() == name) {
      choice = meaning;
      return true;
    }
  return false;
}

// A value as it stands in a message; of a nested one only its kind.
std::string shown_json(const Json& value);

// Returns the text of an options input. nullptr stands for NULL and means no options. `object` is the name of
// the function or table, which begins the messages.
Result<std::string_view> options_text(sqlite3_value* value, std::string_view object);

// Parses a JSON object. `example` is one, for the message.
Result<Json> parse_json_object(std::string_view json, std::string_view object, std::string_view example);

// Sets the members of `options` that the JSON object names and leaves the others. An unknown option and a
// wrong value are errors that say which ones exist.
template <class Options, size_t kCount>
Status parse_options(std::string_view json, std::string_view object, std::string_view example,
                     const std::array<JsonOption<Options>, kCount>& known, Options& options) {
  GLOVE_ASSIGN_OR_RETURN(const Json parsed, parse_json_object(json, object, example));
  for (const auto& [name, value] : parsed.items()) {
    const JsonOption<Options>* option = nullptr;
    std::string names;
    for (const JsonOption<Options>& each : known) {
      if (name == each.name) option = &each;
      names += (names.empty() ? "" : ", ") + std::string(each.name);
    }
    if (option == nullptr)
      return {ErrorCode::kInvalidArgument, std::string(object) + ": unknown option " +
                                               shown_json(Json(name)) + "; the options are: " + names};
    if (!option->take(value, options))
      return {ErrorCode::kInvalidArgument, std::string(object) + ": option \"" + name + "\" is " +
                                               shown_json(value) + ", but must be " + option->expects};
  }
  return {};
}

}  // namespace glove::sql
