// A loaded model and the backends that search it: the rules of 'auto', and what is remembered of backends
// that failed.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/fork_safe_mutex.h"
#include "base/status.h"
#include "model/model.h"
#include "search/backend.h"

namespace glove {

class Engine;

// Thread-safe. The engine outlives it.
class ModelSearchers {
 public:
  ModelSearchers(Engine& engine, ModelPtr model) : engine_(engine), model_(std::move(model)) {}
  ModelSearchers(const ModelSearchers&) = delete;
  ModelSearchers& operator=(const ModelSearchers&) = delete;

  Engine& engine() const { return engine_; }
  const ModelPtr& model() const { return model_; }

  // Runs `use` with a backend that is available and has prepared the model; `interrupted` stops the
  // preparing.
  //   requested = a registered name: that one, or an error with its reason.
  //   requested = "auto" (or empty): the backend that the setting 'backend' names; if that is 'auto' too, the
  //     first registered one that is available, can hold the model and whose `use` succeeds.
  // Under 'auto' a failure of prepare or use is logged once and remembered, so that the backend is not tried
  // again until a setting changes or a model is loaded or unloaded. A backend that is not available is asked
  // again each time, and its reason logged once per engine. An interrupt and an invalid argument are the
  // caller's, not the backend's, and are returned as they are.
  Status with_backend(std::string_view requested, const InterruptCheck& interrupted,
                      const std::function<Status(Backend&)>& use);

  // Why 'auto' passes this backend over; nullopt if it does not.
  std::optional<std::string> remembered_failure(std::string_view backend);

  // To be called when the catalogue drops the model: frees it on every backend, now, and once more after each
  // search that still uses it.
  void retire();

 private:
  // A failure counts only while nothing has changed that could mend it.
  struct Failure {
    std::string reason;
    uint64_t settings_generation;
    uint64_t catalog_generation;
  };

  Failure failure(std::string reason) const;
  Status use_prepared(Backend& backend, const InterruptCheck& interrupted,
                      const std::function<Status(Backend&)>& use);
  Status use_named(Backend& backend, const InterruptCheck& interrupted,
                   const std::function<Status(Backend&)>& use);
  Status use_first_that_works(const InterruptCheck& interrupted, const std::function<Status(Backend&)>& use);

  Engine& engine_;
  const ModelPtr model_;
  std::atomic<bool> retired_ = false;
  ForkSafeMutex mutex_;                                   // guards failures_
  std::map<std::string, Failure, std::less<>> failures_;  // by backend
};

using ModelSearchersPtr = std::shared_ptr<ModelSearchers>;

}  // namespace glove
