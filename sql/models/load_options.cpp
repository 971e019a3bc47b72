#include "sql/models/load_options.h"

#include <optional>
#include <string>
#include <utility>

#include "model/limits.h"
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

constexpr JsonOption<OpenOptions> kThreads = {"threads", "an integer from 0 (all cores) to 1024",
                                              take_threads};
constexpr std::pair<const char*, RowMetric> kRowMetrics[] = {
    {"cosine", RowMetric::kCosine}, {"dot", RowMetric::kDot}, {"l2", RowMetric::kL2}};
constexpr JsonOption<OpenOptions> kTableOptions[] = {
    {"metric", "cosine, dot or l2", store_choice<&OpenOptions::metric, kRowMetrics>}, kThreads};
constexpr std::pair<const char*, bool> kInvalid[] = {{"skip", true}, {"error", false}};
constexpr std::pair<const char*, InvalidUtf8> kInvalidUtf8[] = {
    {"replace", InvalidUtf8::kReplace}, {"skip", InvalidUtf8::kSkip}, {"keep", InvalidUtf8::kKeep}};

bool take_prompt(const JsonValue& value, std::optional<std::string>& prompt) {
  if (value.kind == JsonKind::kText) prompt = value.text;
  return value.kind == JsonKind::kText;
}

constexpr JsonOption<OpenOptions> kFileOptions[] = {
    {"dims", &OpenOptions::dims, 1, kMaxDims},
    {"document_prompt", "a text",
     [](const JsonValue& value, OpenOptions& options) {
       return take_prompt(value, options.document_prompt);
     }},
    {"encoding", "the name of an encoding",
     [](const JsonValue& value, OpenOptions& options) { return take_text(value, options.read.encoding); }},
    {"file", "a path below the folder",
     [](const JsonValue& value, OpenOptions& options) { return take_text(value, options.network); }},
    {"format", "the name of a format",
     [](const JsonValue& value, OpenOptions& options) { return take_text(value, options.read.format); }},
    {"frequencies", "the path of a file of words and counts",
     [](const JsonValue& value, OpenOptions& options) { return take_text(value, options.counts_path); }},
    {"invalid", "skip or error",
     [](const JsonValue& value, OpenOptions& options) {
       return take_choice(value, kInvalid, options.read.skip_invalid);
     }},
    {"invalid_utf8", "replace, skip or keep",
     [](const JsonValue& value, OpenOptions& options) {
       return take_choice(value, kInvalidUtf8, options.read.invalid_utf8);
     }},
    {"old", &OpenOptions::accepts_old},
    {"prompt", "a text",
     [](const JsonValue& value, OpenOptions& options) {
       return take_prompt(value, options.query_prompt) && take_prompt(value, options.document_prompt);
     }},
    {"query_prompt", "a text",
     [](const JsonValue& value, OpenOptions& options) { return take_prompt(value, options.query_prompt); }},
    {"tensor", "the name of a tensor",
     [](const JsonValue& value, OpenOptions& options) { return take_text(value, options.read.tensor); }},
    kThreads,
    {"top", &OpenOptions::top, 1},
    {"verify", &OpenOptions::verify},
    {"vocabulary", "the path of a word list",
     [](const JsonValue& value, OpenOptions& options) { return take_text(value, options.read.words_path); }}};

}  // namespace

Result<OpenOptions> parse_load_options(std::optional<std::string_view> json, LoadSource source,
                                       std::string_view function) {
  const std::span<const JsonOption<OpenOptions>> known =
      source == LoadSource::kTable ? std::span<const JsonOption<OpenOptions>>(kTableOptions) : kFileOptions;
  return parse_options<OpenOptions>(json, function, "{\"threads\":2}", known);
}

}  // namespace glove::sql
