// A loaded model and its searchers: one per backend that it has been opened on.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"
#include "base/turnstile.h"
#include "lists/recall_audit.h"
#include "model/model.h"
#include "search/backends.h"

namespace glove {

class Engine;

// Owns the searchers and frees them on destruction. Thread-safe. The engine must outlive it.
class ModelSearchers {
 public:
  ModelSearchers(Engine& engine, ModelPtr model) : engine_(engine), model_(std::move(model)) {}

  Engine& engine() const { return engine_; }
  const ModelPtr& model() const { return model_; }
  // Of the approximate searches of the model.
  RecallAudit& audit() { return audit_; }

  // Returns the searcher of the backend at this position of Backends::all(), and opens it if necessary: one
  // thread opens while the others wait, each polling its own `interrupted`. Takes no lock once the searcher
  // is open. The searcher lives at least as long as this object.
  Result<Searcher*> open(size_t backend, const InterruptCheck& interrupted);

  // Returns the model's state on this backend.
  SearcherInfo info(size_t backend) const;

  // Remembers that a backend failed, so that 'auto' skips it until a setting changes or a model is loaded or
  // unloaded.
  void remember_failure(size_t backend, std::string reason);

  // Returns why 'auto' skips this backend; nullopt if it does not.
  std::optional<std::string> remembered_failure(size_t backend) const;

 private:
  struct Failure {
    std::string reason;
    uint64_t settings_generation;
    uint64_t catalog_generation;
  };

  struct Slot {
    std::atomic<Searcher*> searcher = nullptr;  // the searcher that `owner` holds
    std::atomic<bool> has_failed = false;       // whether a failure is remembered
    Turnstile opening;
  };

  // What the mutex guards of a backend.
  struct Outcome {
    std::shared_ptr<Searcher> owner;
    std::optional<Error> open_error;  // from the last attempt
    std::optional<Failure> failure;
  };

  Engine& engine_;
  const ModelPtr model_;
  RecallAudit audit_;
  mutable ForkSafeMutex mutex_;
  std::array<Slot, Backends::kMost> slots_;  // in the order of Backends::all(), as the next
  std::array<Outcome, Backends::kMost> outcomes_ GLOVE_GUARDED_BY(mutex_);
};

// Shared by the catalogue and by the queries that use the model.
using ModelSearchersPtr = std::shared_ptr<ModelSearchers>;

}  // namespace glove
