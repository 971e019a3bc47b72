// Writes a loaded model as a model file, or as several that each have a part of its rows.
#pragma once

#include <string>

#include "base/status.h"
#include "model/model.h"

namespace glove {

// Which file at its path save_model() replaces. Any other is an error and stays as it is.
enum class Replaces { kAnyFile, kModelFile };

// Writes the words, vectors, type of keys, lists with their planes (if the model has one part), derivation,
// common components and frequencies of the model to `path`, which appears or changes in one step at the end
// (loader/model_writer.h), so it may be the file that the model is mapped from. Keeps the model's components,
// and derives none if it has none. Codes are computed on up to `threads` threads (0 = the cores that this
// process may use). Errors name the file. Sets its own float environment.
Status save_model(const Model& model, const std::string& path, int threads, const InterruptCheck& interrupted,
                  Replaces replaces = Replaces::kAnyFile);

// The files of save_shards().
struct ShardFiles {
  std::string index_path;
  int64_t bytes = 0;  // of all shards
};

// Writes PATH-0000i-of-0000N.safetensors for i = 1 ... N = `shards`, with consecutive rows each, and the
// index PATH.safetensors.index.json (docs/format.md). If `path` ends in .safetensors, PATH omits it. Each
// shard begins at a multiple of kTileRows and has the words, vectors and codes that a file of the whole model
// has. The files appear together at the end, the index last; if that fails or is interrupted before the first
// one appears, nothing has changed. Returns an error if the model has too few rows. Otherwise as
// save_model().
Result<ShardFiles> save_shards(const Model& model, const std::string& path, int64_t shards, int threads,
                               const InterruptCheck& interrupted);

}  // namespace glove
