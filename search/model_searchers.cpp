#include "search/model_searchers.h"

#include <utility>

#include "search/engine.h"

namespace glove {

ModelSearchers::Failure ModelSearchers::failure(std::string reason) const {
  return {std::move(reason), engine_.settings().generation(), engine_.catalog().generation()};
}

std::optional<std::string> ModelSearchers::remembered_failure(std::string_view backend) {
  const Failure now = failure("");
  const std::lock_guard lock(mutex_);
  const auto found = failures_.find(backend);
  if (found == failures_.end()) return std::nullopt;
  if (found->second.settings_generation == now.settings_generation &&
      found->second.catalog_generation == now.catalog_generation)
    return found->second.reason;
  failures_.erase(found);
  return std::nullopt;
}

// prepare and use, and the model's release if it was unloaded meanwhile.
Status ModelSearchers::use_prepared(Backend& backend, const InterruptCheck& interrupted,
                                    const std::function<Status(Backend&)>& use) {
  Status status = backend.prepare(model_, interrupted);
  if (status.ok()) status = use(backend);
  if (retired_) backend.release(*model_);
  return status;
}

Status ModelSearchers::use_named(Backend& backend, const InterruptCheck& interrupted,
                                 const std::function<Status(Backend&)>& use) {
  const std::string name = "backend '" + std::string(backend.name()) + "'";
  if (Status status = backend.available(); !status.ok())
    return Status(status.error().code, name + " is not available: " + status.error().message);
  Status status = use_prepared(backend, interrupted, use);
  if (status.ok() || status.error().code == ErrorCode::kInterrupted) return status;
  return Status(status.error().code, name + ": " + status.error().message);
}

Status ModelSearchers::use_first_that_works(const InterruptCheck& interrupted,
                                            const std::function<Status(Backend&)>& use) {
  std::string reasons;
  ErrorCode code = ErrorCode::kUnavailable;
  for (const auto& backend : engine_.backends().all()) {
    const std::string name(backend->name());
    std::string reason;
    if (const auto remembered = remembered_failure(name)) {
      reason = *remembered;
    } else if (const Status available = backend->available(); !available.ok()) {
      reason = available.error().message;
      // Without a device every search would say the same.
      engine_.log().write_once(name, "backend '" + name + "' is not available: " + reason);
    } else {
      Status status = use_prepared(*backend, interrupted, use);
      if (status.ok() || status.error().code == ErrorCode::kInterrupted ||
          status.error().code == ErrorCode::kInvalidArgument)
        return status;
      code = status.error().code;
      reason = status.error().message;
      {
        const std::lock_guard lock(mutex_);
        failures_.insert_or_assign(name, failure(reason));
      }
      engine_.log().write("backend '" + name + "' cannot search the model " + model_->path() + ": " + reason);
    }
    reasons += (reasons.empty() ? "" : "; ") + name + ": " + reason;
  }
  if (reasons.empty()) reasons = "none is registered";
  return Status(code, "no backend can search the model " + model_->path() + " (" + reasons + ")");
}

Status ModelSearchers::with_backend(std::string_view requested, const InterruptCheck& interrupted,
                                    const std::function<Status(Backend&)>& use) {
  Backend* backend = nullptr;
  if (requested.empty() || requested == "auto") {
    GLOVE_ASSIGN_OR_RETURN(backend, engine_.settings().backend());
    if (backend == nullptr) return use_first_that_works(interrupted, use);
  } else {
    backend = engine_.backends().find(requested);
  }
  if (backend == nullptr)
    return Status(ErrorCode::kInvalidArgument, "there is no backend '" + std::string(requested) +
                                                   "'; the backends are: " + engine_.backends().choices());
  return use_named(*backend, interrupted, use);
}

void ModelSearchers::retire() {
  retired_ = true;
  for (const auto& backend : engine_.backends().all()) backend->release(*model_);
}

}  // namespace glove
