#include "loader/shard.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/concat.h"
#include "base/file.h"
#include "base/float_from_chars.h"
#include "base/json.h"
#include "loader/model_format.h"
#include "model/limits.h"

namespace glove {
namespace {

constexpr std::string_view kShardMetadata = "metadata";
constexpr std::string_view kWeightMap = "weight_map";
constexpr std::string_view kTotalSize = "total_size";

// Returns a count from 0 to kMaxRows, or nullopt for any other text.
std::optional<int64_t> parse_count(std::string_view text) {
  const std::optional<int64_t> count = number_from<int64_t>(text);
  return count && *count >= 0 && *count <= kMaxRows ? count : std::nullopt;
}

// The key of a shard in the weight map: the names sort in the order of the rows.
std::string weight_name(size_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, 5 - std::min<size_t>(5, digits.size()), '0');
  return "vectors." + digits;
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && file_name_at(name) == 0 &&
         name.find('\0') == std::string_view::npos;
}

// Receives { "metadata": { key: text or "total_size": number }, "weight_map": { key: text } }. Ignores
// everything else.
class IndexHandler final : public JsonHandler {
 public:
  std::map<std::string, std::string, std::less<>> metadata;
  std::map<std::string, std::string, std::less<>> weights;  // without a text: empty
  int64_t total_bytes = 0;
  bool is_object = false;

  bool value(JsonValue& value) override {
    const bool in_metadata = depth_ == 2 && section_ == kShardMetadata;
    const bool is_text = value.kind == JsonKind::kText;
    if (in_metadata && key_ == kTotalSize && value.kind == JsonKind::kInteger && value.integer >= 0)
      total_bytes = value.integer;
    if (in_metadata && is_text) metadata[key_] = value.text;
    if (depth_ == 2 && section_ == kWeightMap && is_text) weights[key_] = value.text;
    is_object = is_object || (depth_ == 0 && value.kind == JsonKind::kObject);
    const bool begins = value.kind == JsonKind::kObject || value.kind == JsonKind::kArray;
    if (begins) ++depth_;
    return begins;
  }
  void key(std::string& name) override {
    if (depth_ == 1) section_ = name;
    key_ = std::move(name);
    if (depth_ == 2 && section_ == kWeightMap) weights.emplace(key_, "");
  }
  void end() override { --depth_; }

 private:
  int depth_ = 0;
  std::string section_;
  std::string key_;
};

std::string_view text_of(const std::map<std::string, std::string, std::less<>>& texts, std::string_view key) {
  const auto place = texts.find(key);
  return place == texts.end() ? std::string_view() : std::string_view(place->second);
}

}  // namespace

Result<std::optional<ShardPlace>> read_shard_place(const std::string& source,
                                                   const SafetensorsHeader& header) {
  const std::string_view set = header.metadata_value(kSetKey);
  if (set.empty()) return std::optional<ShardPlace>();
  const auto first_row = parse_count(header.metadata_value(kFirstRowKey));
  const auto rows_total = parse_count(header.metadata_value(kRowsTotalKey));
  if (!first_row || !rows_total)
    return corrupt_file(source, "the metadata of a shard must have the row counts '", kFirstRowKey, "' and '",
                        kRowsTotalKey, "', but they are missing or impossible");
  return std::optional(ShardPlace{*first_row, *rows_total, std::string(set)});
}

bool looks_like_shard_index(std::string_view head) {
  return head.substr(0, head.find_first_not_of(" \t\r\n")).size() < head.size() &&
         head[head.find_first_not_of(" \t\r\n")] == '{' &&
         head.find("\"" + std::string(kWeightMap) + "\"") != std::string_view::npos;
}

Result<ShardIndex> parse_shard_index(const std::string& source, std::string_view text) {
  const auto corrupt = [&](const auto&... what) { return corrupt_file(source, what...); };
  IndexHandler document;
  if (!read_json(text.substr(0, text.find('\0')), document).value() || !document.is_object)
    return corrupt("the index of shards is not valid JSON; the file is damaged");
  if (text_of(document.metadata, kSetKey).empty())
    return corrupt("this index is not one of glove-convert: its metadata has no '", kSetKey, "'");
  ShardIndex index;
  GLOVE_ASSIGN_OR_RETURN(index.kind, kind_of_version(source, text_of(document.metadata, kVersionKey)));
  index.set = text_of(document.metadata, kSetKey);
  const auto rows_total = parse_count(text_of(document.metadata, kRowsTotalKey));
  if (!rows_total) return corrupt("the metadata key '", kRowsTotalKey, "' must be a count of rows");
  index.rows_total = *rows_total;
  index.total_bytes = document.total_bytes;
  const auto& weights = document.weights;
  if (weights.empty() || weights.size() > static_cast<size_t>(kMaxShards))
    return corrupt("the '", kWeightMap, "' must name 1 to ", kMaxShards, " shards");
  for (size_t number = 1; number <= weights.size(); ++number) {
    const std::string key = weight_name(number);
    const std::string_view name = text_of(weights, key);
    if (name.empty())
      return corrupt("the '", kWeightMap, "' has ", weights.size(), " entries, but none of them is '", key,
                     "' with the name of a file");
    if (!is_plain_name(name))
      return corrupt("the file '", escaped(name), "' of '", key,
                     "' is not a name in the directory of the index; shards must be beside it");
    index.files.emplace_back(name);
  }
  return index;
}

std::string shard_index_text(const ShardIndex& index) {
  const auto line = [](std::string_view key, const std::string& value) {
    return "    \"" + std::string(key) + "\": " + value;
  };
  std::string files;
  for (size_t i = 0; i < index.files.size(); ++i)
    files += (i > 0 ? ",\n" : "") + line(weight_name(i + 1), json_text(index.files[i]));
  return "{\n  \"" + std::string(kShardMetadata) + "\": {\n" +
         line(kVersionKey, json_text(format_version(index.kind))) + ",\n" +
         line(kSetKey, json_text(index.set)) + ",\n" +
         line(kRowsTotalKey, json_text(std::to_string(index.rows_total))) + ",\n" +
         line(kTotalSize, std::to_string(index.total_bytes)) + "\n  },\n  \"" + std::string(kWeightMap) +
         "\": {\n" + files + "\n  }\n}\n";
}

}  // namespace glove
