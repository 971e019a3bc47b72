#include "sql/models/load_options.h"

#include <array>
#include <string>

#include "sql/values/json_options.h"

namespace glove::sql {
namespace {

constexpr int64_t kMostThreads = 1024;

bool take_text(const JsonValue& value, std::string& text) {
  if (value.kind != JsonKind::kText || value.text.empty()) return false;
  text = value.text;
  return true;
}

bool take_threads(const JsonValue& value, OpenOptions& options) {
  int64_t threads = 0;
  if (!take_whole(value, 0, threads) || threads > kMostThreads) return false;
  options.threads = static_cast<int>(threads);
  return true;
}

using LoadOption = JsonOption<OpenOptions>;
constexpr LoadOption kThreads = {"threads", "an integer from 0 (all cores) to 1024", take_threads};
constexpr std::array kFileOptions = {
    LoadOption{
        "format", "the name of a format",
        [](const JsonValue& value, OpenOptions& options) { return take_text(value, options.read.format); }},
    LoadOption{
        "frequencies", "the path of a file of words and counts",
        [](const JsonValue& value, OpenOptions& options) { return take_text(value, options.counts_path); }},
    LoadOption{
        "tensor", "the name of a tensor",
        [](const JsonValue& value, OpenOptions& options) { return take_text(value, options.read.tensor); }},
    kThreads,
    LoadOption{"verify", "true or false",
               [](const JsonValue& value, OpenOptions& options) { return take_flag(value, options.verify); }},
    LoadOption{"vocabulary", "the path of a word list",
               [](const JsonValue& value, OpenOptions& options) {
                 return take_text(value, options.read.words_path);
               }},
};
constexpr std::array kTableOptions = {kThreads};

}  // namespace

Result<OpenOptions> parse_load_options(std::string_view json, LoadSource source, std::string_view function) {
  constexpr std::string_view kExample = "{\"threads\":2}";
  OpenOptions options;
  if (source == LoadSource::kTable)
    GLOVE_RETURN_IF_ERROR(parse_options(json, function, kExample, kTableOptions, options));
  else
    GLOVE_RETURN_IF_ERROR(parse_options(json, function, kExample, kFileOptions, options));
  return options;
}

}  // namespace glove::sql
