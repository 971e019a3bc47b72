// Opens the shards of a model as one model (docs/format.md).
#pragma once

#include "base/status.h"
#include "loader/input.h"
#include "loader/open.h"
#include "model/model.h"

namespace glove {

// Opens all shards that an index names as one model: each shard is mapped and becomes a part, and the words
// of all shards are copied to the heap and sorted. Messages and the model call it by the path of the index. A
// shard that is missing, belongs to another set or is in another place than its own is an error. Of the
// options it uses threads, verify, progress and interrupted; verify also makes sure that no word is in two
// shards.
Result<ModelPtr> open_shards(const Input& index, const OpenOptions& options);

}  // namespace glove
