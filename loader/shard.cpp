#include "loader/shard.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "loader/model_format.h"
#include "model/limits.h"

namespace glove {
namespace {

using nlohmann::json;

constexpr std::string_view kMetadata = "metadata";
constexpr std::string_view kWeightMap = "weight_map";
constexpr std::string_view kTotalSize = "total_size";

// Returns a count from 0 to kMaxRows, or nullopt for any other text.
std::optional<int64_t> parse_count(std::string_view text) {
  int64_t count = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || stop != text.data() + text.size() || count < 0 || count > kMaxRows)
    return std::nullopt;
  return count;
}

std::string quoted(std::string_view text) {
  return "'" + escaped(text) + "'";
}

// The key of a shard in the weight map: the names sort in the order of the rows.
std::string weight_name(size_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, 5 - std::min<size_t>(5, digits.size()), '0');
  return "vectors." + digits;
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

const json* member(const json& object, std::string_view key) {
  const auto place = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && place != object.end() ? &*place : nullptr;
}

std::string_view text_of(const json& object, std::string_view key) {
  const json* const value = member(object, key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_ref<const std::string&>())
                                                : std::string_view();
}

}  // namespace

Result<std::optional<ShardPlace>> read_shard_place(const std::string& source,
                                                   const SafetensorsHeader& header) {
  const std::string_view set = header.metadata_value(kSetKey);
  if (set.empty()) return std::optional<ShardPlace>();
  const auto first_row = parse_count(header.metadata_value(kFirstRowKey));
  const auto rows_total = parse_count(header.metadata_value(kRowsTotalKey));
  if (!first_row || !rows_total)
    return Error{ErrorCode::kCorrupt, source + ": the metadata of a shard must have the row counts '" +
                                          std::string(kFirstRowKey) + "' and '" + std::string(kRowsTotalKey) +
                                          "', but they are missing or impossible"};
  return std::optional(ShardPlace{*first_row, *rows_total, std::string(set)});
}

bool looks_like_shard_index(std::string_view head) {
  return head.substr(0, head.find_first_not_of(" \t\r\n")).size() < head.size() &&
         head[head.find_first_not_of(" \t\r\n")] == '{' &&
         head.find("\"" + std::string(kWeightMap) + "\"") != std::string_view::npos;
}

Result<ShardIndex> parse_shard_index(const std::string& source, std::string_view text) {
  const auto corrupt = [&](const std::string& what) {
    return Error{ErrorCode::kCorrupt, source + ": " + what};
  };
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return corrupt("the index of shards is not valid JSON; the file is damaged");
  const json* const metadata = member(document, kMetadata);
  const json* const weights = member(document, kWeightMap);
  if (metadata == nullptr || text_of(*metadata, kSetKey).empty())
    return corrupt("this index is not one of glove-convert: its metadata has no '" + std::string(kSetKey) +
                   "'");
  ShardIndex index;
  index.set = text_of(*metadata, kSetKey);
  const auto rows_total = parse_count(text_of(*metadata, kRowsTotalKey));
  if (!rows_total)
    return corrupt("the metadata key '" + std::string(kRowsTotalKey) + "' must be a count of rows");
  index.rows_total = *rows_total;
  const json* const bytes = member(*metadata, kTotalSize);
  if (bytes != nullptr && bytes->is_number_unsigned()) index.total_bytes = bytes->get<int64_t>();
  if (weights == nullptr || !weights->is_object() || weights->empty() ||
      weights->size() > static_cast<size_t>(kMaxShards))
    return corrupt("the '" + std::string(kWeightMap) + "' must name 1 to " + std::to_string(kMaxShards) +
                   " shards");
  for (size_t number = 1; number <= weights->size(); ++number) {
    const std::string key = weight_name(number);
    const std::string_view name = text_of(*weights, key);
    if (name.empty())
      return corrupt("the '" + std::string(kWeightMap) + "' has " + std::to_string(weights->size()) +
                     " entries, but none of them is '" + key + "' with the name of a file");
    if (!is_plain_name(name))
      return corrupt("the file " + quoted(name) + " of '" + key +
                     "' is not a name in the directory of the index; shards must be beside it");
    index.files.emplace_back(name);
  }
  return index;
}

std::string shard_index_text(const ShardIndex& index) {
  nlohmann::ordered_json weights;
  for (size_t i = 0; i < index.files.size(); ++i) weights[weight_name(i + 1)] = index.files[i];
  const nlohmann::ordered_json document = {
      {kMetadata,
       {{kVersionKey, std::to_string(kFormatMajor) + "." + std::to_string(kFormatMinor)},
        {kSetKey, index.set},
        {kRowsTotalKey, std::to_string(index.rows_total)},
        {kTotalSize, index.total_bytes}}},
      {kWeightMap, weights}};
  // A name of a file may be any bytes; JSON cannot say those that are not UTF-8 (save_shards() refuses them).
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace glove
