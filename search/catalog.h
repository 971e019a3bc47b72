// The loaded models, by name. Shared by all connections and threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/fork_safe_mutex.h"
#include "base/status.h"
#include "loader/open.h"
#include "model/model.h"
#include "search/environment_load.h"
#include "search/model_searchers.h"

namespace glove {

class Engine;

struct CatalogEntry {
  std::string name;
  bool is_default;
  ModelPtr model;
  ModelSearchersPtr searchers;  // of the model
};

class CatalogSnapshot;
using CatalogSnapshotPtr = std::shared_ptr<const CatalogSnapshot>;

// The models at one moment. Immutable; keeps them alive.
class CatalogSnapshot {
 public:
  CatalogSnapshot(std::vector<CatalogEntry> entries, uint64_t generation)
      : entries_(std::move(entries)), generation_(generation) {}

  // In the order of loading; exactly one is the default, unless there are none.
  const std::vector<CatalogEntry>& entries() const { return entries_; }
  uint64_t generation() const { return generation_; }  // Catalog::generation() at that moment

  // The model of that name, or the default one if name is nullopt. nullptr if there is none.
  const CatalogEntry* find(std::optional<std::string_view> name) const;

  bool has_model(uint64_t model_id) const;

  // Which models there are, or how to load one; and the error that says so of a name that is not there.
  std::string choices() const;
  Error missing(std::optional<std::string_view> name) const;

  // The same models but for this one: added, or in place of the one of that name. It becomes the default when
  // it is the first or is named "main".
  CatalogSnapshotPtr with(const std::string& name, ModelSearchersPtr searchers, uint64_t generation) const;
  // The same without this one. If it was the default, the default becomes the oldest model left.
  CatalogSnapshotPtr without(std::string_view name, uint64_t generation) const;

 private:
  std::vector<CatalogEntry> entries_;
  uint64_t generation_;
};

// A thread-safe map name -> model. A model that is in use when it is unloaded lives on, with its searchers,
// until its last user lets go.
class Catalog {
 public:
  using Entry = CatalogEntry;

  // The engine outlives the catalogue and every model that it held.
  explicit Catalog(Engine& engine);
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Opens `path` and adds it as `name` (empty: the file's name without directories, .gz and one
  // extension of letters), replacing a model of that name only once the new one is open. On error nothing
  // changes. Returns the name, or the entry.
  Result<std::string> load(const std::string& path, const std::string& name, const OpenOptions& options);
  Result<CatalogEntry> load_entry(const std::string& path, const std::string& name,
                                  const OpenOptions& options);

  // The same for a model that is open already.
  CatalogEntry add(const std::string& name, ModelPtr model);

  // kNotFound, with the names there are, if there is no such model.
  Status unload(std::string_view name);

  // The model of that name, or the default one if name is nullopt. If no model is loaded and $GLOVE_MODEL is
  // set, opens that file first (not again once it was opened and then unloaded). Several threads wait for
  // one; each heeds its own `interrupted`. Errors say which names exist, or how to load one; find() also
  // fails if the model's file was cut or overwritten since it was loaded (Model::health).
  Result<ModelPtr> find(std::optional<std::string_view> name, const InterruptCheck& interrupted = {});
  Result<CatalogEntry> find_entry(std::optional<std::string_view> name,
                                  const InterruptCheck& interrupted = {});

  // Opens $GLOVE_MODEL as find() does; ok if it is not set, or was opened before.
  Status load_from_environment(const InterruptCheck& interrupted);

  CatalogSnapshotPtr snapshot() const;
  std::vector<CatalogEntry> list() const { return snapshot()->entries(); }

  // Increases with every load and unload. Takes no lock.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  Engine& engine_;
  std::atomic<uint64_t> generation_ = 1;
  mutable ForkSafeMutex mutex_;  // held while current_ is read or replaced
  CatalogSnapshotPtr current_;   // never null
  EnvironmentLoad environment_;
};

}  // namespace glove
