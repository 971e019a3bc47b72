#include "sql/load_options.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>

namespace glove::sql {
namespace {

using Json = nlohmann::json;

constexpr unsigned kMostThreads = 1024;

// One option: its name, whether it also applies to glove_load_table, what its value must be, and a function
// that stores the value or returns false if it is invalid.
struct LoadOption {
  const char* name;
  bool of_tables;
  const char* expects;
  bool (*take)(const Json& value, OpenOptions& options);
};

bool take_text(const Json& value, std::string& text) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) return false;
  text = value.get<std::string>();
  return true;
}

bool take_threads(const Json& value, OpenOptions& options) {
  if (!value.is_number_integer()) return false;
  // nlohmann-json stores integers above the range of int64 as unsigned.
  if (value.is_number_unsigned() && value.get<uint64_t>() > kMostThreads) return false;
  const auto threads = value.get<int64_t>();
  if (threads < 0 || threads > int64_t{kMostThreads}) return false;
  options.threads = static_cast<int>(threads);
  return true;
}

bool take_verify(const Json& value, OpenOptions& options) {
  if (!value.is_boolean()) return false;
  options.verify = value.get<bool>();
  return true;
}

constexpr std::array kLoadOptions = {
    LoadOption{"format", false, "the name of a format",
               [](const Json& value, OpenOptions& options) { return take_text(value, options.read.format); }},
    LoadOption{"frequencies", false, "the path of a file of words and counts",
               [](const Json& value, OpenOptions& options) { return take_text(value, options.counts_path); }},
    LoadOption{"tensor", false, "the name of a tensor",
               [](const Json& value, OpenOptions& options) { return take_text(value, options.read.tensor); }},
    LoadOption{"threads", true, "an integer from 0 (all cores) to 1024", take_threads},
    LoadOption{"verify", false, "true or false", take_verify},
    LoadOption{
        "vocabulary", false, "the path of a word list",
        [](const Json& value, OpenOptions& options) { return take_text(value, options.read.words_path); }},
};

// Returns the value as error messages show it. Arrays and objects are only named, because dump() recurses as
// deeply as they are nested.
std::string dump(const Json& value) {
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Error bad_options(std::string_view function, const std::string& rest) {
  return Error{ErrorCode::kInvalidArgument, std::string(function) + ": " + rest};
}

Status take_option(const std::string& name, const Json& value, LoadSource source, std::string_view function,
                   OpenOptions& options) {
  std::string names;
  for (const LoadOption& option : kLoadOptions) {
    if (source == LoadSource::kTable && !option.of_tables) continue;
    if (name == option.name) {
      if (option.take(value, options)) return Status();
      return bad_options(function,
                         "option " + dump(name) + " is " + dump(value) + ", but must be " + option.expects);
    }
    names += (names.empty() ? "" : ", ") + std::string(option.name);
  }
  return bad_options(function, "unknown option " + dump(name) + "; the options are: " + names);
}

}  // namespace

Result<OpenOptions> parse_load_options(std::string_view json, LoadSource source, std::string_view function) {
  OpenOptions options;
  const Json object = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object())
    return bad_options(
        function, "the options must be a JSON object such as {\"threads\":2}, but are: " + std::string(json));
  for (const auto& [name, value] : object.items())
    GLOVE_RETURN_IF_ERROR(take_option(name, value, source, function, options));
  return options;
}

}  // namespace glove::sql
