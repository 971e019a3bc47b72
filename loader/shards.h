// Opens the shards of a model as one model (docs/format.md).
#pragma once

#include "base/status.h"
#include "loader/input.h"
#include "loader/open.h"
#include "model/model.h"

namespace glove {

// Opens all shards that an index names as one model: each shard is mapped and becomes a part, and the words
// of all shards are copied to the heap and sorted. Messages and the model use the path of the index. It is an
// error if a shard is missing, belongs to another set or is in the wrong place. Uses the options threads,
// verify, progress and interrupted; verify also checks that no word is in two shards.
Result<ModelPtr> open_shards(const Input& index, const OpenOptions& options);

}  // namespace glove
