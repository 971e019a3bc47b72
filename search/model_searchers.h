// A loaded model and its searchers: one for each backend that it was opened on.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fork_safe_mutex.h"
#include "base/status.h"
#include "base/turnstile.h"
#include "model/model.h"
#include "search/backends.h"

namespace glove {

class Engine;

// Owns the searchers, which are freed with it. Thread-safe. The engine outlives it.
class ModelSearchers {
 public:
  ModelSearchers(Engine& engine, ModelPtr model) : engine_(engine), model_(std::move(model)) {}
  ModelSearchers(const ModelSearchers&) = delete;
  ModelSearchers& operator=(const ModelSearchers&) = delete;

  Engine& engine() const { return engine_; }
  const ModelPtr& model() const { return model_; }

  // The searcher of the backend at this position of Backends::all(); opens it unless it is open, and then one
  // thread opens while the others wait, each heeding its own `interrupted`. Takes no lock once it is open.
  // The searcher lives as long as this object, at least.
  Result<Searcher*> open(size_t backend, const InterruptCheck& interrupted);

  // Where the model stands with this backend.
  SearcherInfo info(size_t backend) const;

  // Remembers that a backend failed, so that 'auto' passes it over until a setting changes or a model is
  // loaded or unloaded.
  void remember_failure(size_t backend, std::string reason);

  // Why 'auto' passes this backend over; nullopt if it does not.
  std::optional<std::string> remembered_failure(size_t backend) const;

 private:
  struct Failure {
    std::string reason;
    uint64_t settings_generation;
    uint64_t catalog_generation;
  };

  struct Slot {
    std::atomic<Searcher*> searcher = nullptr;  // what `owner` holds
    std::atomic<bool> has_failed = false;       // whether there is a failure to look at
    Turnstile opening;
    // Guarded by mutex_.
    std::shared_ptr<Searcher> owner;
    std::optional<Error> open_error;  // of the last attempt
    std::optional<Failure> failure;
  };

  Engine& engine_;
  const ModelPtr model_;
  mutable ForkSafeMutex mutex_;
  std::array<Slot, Backends::kMost> slots_;  // in the order of Backends::all()
};

using ModelSearchersPtr = std::shared_ptr<ModelSearchers>;

}  // namespace glove
