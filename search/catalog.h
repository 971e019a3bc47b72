// The loaded models, by name. Shared by all connections and threads.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
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

// A thread-safe map name -> model. A model that is in use when it is
// unloaded lives on until its last user lets go.
class Catalog {
 public:
  // The engine outlives the catalogue and every model that it held.
  explicit Catalog(Engine& engine) : engine_(engine) {}
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Opens `path` and adds it as `name` (empty: the file's name without directories, .gz and one
  // extension of letters), replacing a model of that name only once the new one is open. It becomes the
  // default when it is the first or is named "main". Returns the name. On error nothing changes.
  Result<std::string> load(const std::string& path, const std::string& name, const OpenOptions& options);

  // The same for a model that is open already.
  void add(const std::string& name, ModelPtr model);

  // kNotFound, with the names there are, if there is no such model. Frees it on every backend.
  // If it was the default, the default becomes the oldest model left.
  Status unload(std::string_view name);

  // The model of that name, or the default one if name is nullopt. If no model is loaded and
  // $GLOVE_MODEL is set, opens that file first (one thread does, others that need it wait; not again once it
  // was opened and then unloaded). `interrupted` ends the opening, or the waiting, in kInterrupted; the next
  // of those who wait then opens the file. No lock is held while it is asked. Errors say which names exist,
  // or how to load one; or that the model's file was cut or overwritten since it was loaded (Model::health).
  Result<ModelPtr> find(std::optional<std::string_view> name, const InterruptCheck& interrupted = {});

  struct Entry {
    std::string name;
    bool is_default;
    ModelPtr model;
    ModelSearchersPtr searchers;  // of the model
  };
  // The same with its name, for callers who ask for the model's health themselves before they believe a row.
  Result<Entry> find_entry(std::optional<std::string_view> name, const InterruptCheck& interrupted = {});
  std::vector<Entry> list() const;

  // Rises with every load and unload: what was cached before is stale.
  uint64_t generation() const { return generation_.load(); }

 private:
  const Entry* lookup(std::optional<std::string_view> name) const;
  std::string choices() const;
  Status load_from_environment(const InterruptCheck& interrupted);

  Engine& engine_;
  mutable ForkSafeMutex mutex_;  // guards entries_; never held while a file is opened
  std::vector<Entry> entries_;   // in the order of loading; at most one is the default
  std::atomic<uint64_t> generation_ = 1;
  EnvironmentLoad environment_;
};

}  // namespace glove
