// The loaded models, by name. Shared by all connections and threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/turnstile.h"
#include "loader/open.h"
#include "model/model.h"
#include "search/model_searchers.h"

namespace glove {

class Engine;

// A loaded model under its name.
struct CatalogEntry {
  std::string name;
  bool is_default;
  ModelPtr model;
  ModelSearchersPtr searchers;  // of this model
};

class CatalogSnapshot;
// Snapshots are shared: the last holder frees it.
using CatalogSnapshotPtr = std::shared_ptr<const CatalogSnapshot>;

// The models at one moment. Immutable; keeps them alive.
class CatalogSnapshot {
 public:
  CatalogSnapshot(std::vector<CatalogEntry> entries, uint64_t generation)
      : entries_(std::move(entries)), generation_(generation) {}

  // In the order of loading. Exactly one is the default, unless there are none.
  const std::vector<CatalogEntry>& entries() const { return entries_; }
  uint64_t generation() const { return generation_; }  // Catalog::generation() at that moment

  // Returns the model of that name, or the default model if name is nullopt. Returns nullptr if there is
  // none.
  const CatalogEntry* find(std::optional<std::string_view> name) const;

  bool has_model(uint64_t model_id) const;

  // Which models there are, or how to load one; and the error that says so of a name that is not there.
  std::string choices() const;
  Error missing(std::optional<std::string_view> name) const;

  // Returns the same models with this one added, or in place of the one of that name. It becomes the default
  // if it is the first model or is named "main".
  CatalogSnapshotPtr with(const std::string& name, ModelSearchersPtr searchers, uint64_t generation) const;
  // Returns the same models without this one. If it was the default, the oldest model left becomes the
  // default.
  CatalogSnapshotPtr without(std::string_view name, uint64_t generation) const;

 private:
  std::vector<CatalogEntry> entries_;
  uint64_t generation_;
};

// A thread-safe map from names to models. A model that is in use when it is unloaded lives on, with its
// searchers, until its last user releases it.
class Catalog {
 public:
  // The engine must outlive the catalogue and every model that it has held.
  explicit Catalog(Engine& engine);

  // Sets what reads the tokenizers of static embedding models, for every later opening. REQUIRES: no other
  // call at the same time.
  void set_tokenizer_reader(TokenizerReader reader) { read_tokenizer_ = std::move(reader); }

  // Sets what opens the folders of neural encoders, as open_model() does for others; it returns null for a
  // path that is none. REQUIRES: no other call at the same time.
  using FolderReader = std::function<Result<ModelPtr>(const std::string& path, const OpenOptions& options)>;
  void set_folder_reader(FolderReader reader) { read_folder_ = std::move(reader); }

  // Opens `path` and adds it as `name` (if empty: the file's name without directories, .gz and one alphabetic
  // extension). Replaces a model of that name only once the new one is open. On error nothing changes.
  Result<CatalogEntry> load(const std::string& path, const std::string& name, const OpenOptions& options);

  // The same for a model that is already open.
  CatalogEntry add(const std::string& name, ModelPtr model);

  // Returns kNotFound, with the existing names in the message, if there is no such model.
  Status unload(std::string_view name);

  // Returns the model of that name, or the default model if name is nullopt. If no model is loaded and
  // $GLOVE_MODEL is set, opens that file first (but not again after it was opened and then unloaded). While
  // one thread opens it, the others wait, each polling its own `interrupted`. Errors say which names exist,
  // or how to load a model. find() also fails if the model's file was truncated or overwritten since it was
  // loaded (Model::health).
  Result<ModelPtr> find(std::optional<std::string_view> name, const InterruptCheck& interrupted = {});
  Result<CatalogEntry> find_entry(std::optional<std::string_view> name,
                                  const InterruptCheck& interrupted = {});

  // Opens $GLOVE_MODEL as find() does. Returns ok if it is not set or was opened before.
  Status load_from_environment(const InterruptCheck& interrupted);

  CatalogSnapshotPtr snapshot() const;
  std::vector<CatalogEntry> list() const { return snapshot()->entries(); }

  // Increases with every load and unload. Takes no lock.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  Engine& engine_;
  std::atomic<uint64_t> generation_ = 1;
  mutable ForkSafeMutex mutex_;
  CatalogSnapshotPtr current_ GLOVE_GUARDED_BY(mutex_);  // never null
  TokenizerReader read_tokenizer_;
  FolderReader read_folder_;
  Turnstile environment_;  // of the threads that want to open $GLOVE_MODEL
  std::atomic<bool> environment_is_open_ = false;
};

}  // namespace glove
