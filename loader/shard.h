// What a model file says of its place among the shards of one model, and the index that names all of them
// (docs/format.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "loader/model_format.h"
#include "loader/safetensors.h"

namespace glove {

// The limit follows from the open files of a process, of which each shard takes one.
constexpr int64_t kMaxShards = 256;

// What the name of an index ends with.
constexpr std::string_view kShardIndexExtension = ".safetensors.index.json";

// The place of one shard: rows [first_row, first_row + its rows) of a model of rows_total words. The files of
// one conversion have the same `set`, which depends on the model's contents and the number of shards.
struct ShardPlace {
  int64_t first_row = 0;
  int64_t rows_total = 0;
  std::string set;  // printable ASCII without quotes and backslashes
};

// Returns what a model file's header says; nullopt if the file is a whole model. `source` begins the message
// about values that are impossible.
Result<std::optional<ShardPlace>> read_shard_place(const std::string& source,
                                                   const SafetensorsHeader& header);

// The content of an index file.
struct ShardIndex {
  std::string set;
  int64_t rows_total = 0;
  FormatKind kind = FormatKind::kWords;
  int64_t total_bytes = 0;         // of all shards
  std::vector<std::string> files;  // names in the directory of the index, in the order of their rows
};

// An index has at most this many bytes.
constexpr size_t kMaxIndexBytes = size_t{1} << 20;

// Whether a file with these first bytes can be an index. `head` has all bytes before the first shard's name.
bool looks_like_shard_index(std::string_view head);

// Both directions. `source` begins the messages. A name that leads out of the directory of the index is an
// error.
Result<ShardIndex> parse_shard_index(const std::string& source, std::string_view text);
std::string shard_index_text(const ShardIndex& index);

}  // namespace glove
