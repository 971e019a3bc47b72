#include "search/backend_choice.h"

#include <map>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#include "base/log.h"
#include "search/catalog.h"
#include "search/settings.h"

namespace glove {
namespace {

// A failure counts only while nothing has changed that could mend it.
struct Failure {
  std::string reason;
  uint64_t settings_generation;
  uint64_t catalog_generation;
};

struct Memory {
  std::mutex mutex;
  std::map<std::pair<std::string, uint64_t>, Failure, std::less<>> failures;  // by backend and Model::id
  std::set<uint64_t> retired;                                                 // Model::id
  std::set<std::string> unavailable;  // backends whose absence was logged
};

Memory& memory() {
  static Memory* const instance = new Memory;  // never freed: searches may outlive static destruction
  return *instance;
}

void remember_failure(const Backend& backend, const Model& model, const std::string& reason) {
  Failure failure{reason, settings_generation(), Catalog::instance().generation()};
  Memory& remembered = memory();
  const std::lock_guard lock(remembered.mutex);
  remembered.failures.insert_or_assign({std::string(backend.name()), model.id()}, std::move(failure));
}

// Once a process: without a device every search would say the same.
void log_unavailable(const std::string& backend, const std::string& reason) {
  Memory& remembered = memory();
  {
    const std::lock_guard lock(remembered.mutex);
    if (!remembered.unavailable.insert(backend).second) return;
  }
  log_message("backend '" + backend + "' is not available: " + reason);
}

bool is_retired(const Model& model) {
  Memory& remembered = memory();
  const std::lock_guard lock(remembered.mutex);
  return remembered.retired.count(model.id()) != 0;
}

// prepare and use, and the model's release if it was unloaded meanwhile.
Status prepare_and_use(Backend& backend, const ModelPtr& model, const InterruptCheck& interrupted,
                       const std::function<Status(Backend&)>& use) {
  Status status = backend.prepare(model, interrupted);
  if (status.ok()) status = use(backend);
  if (is_retired(*model)) backend.release(*model);
  return status;
}

Status use_named(const ModelPtr& model, std::string_view name, const InterruptCheck& interrupted,
                 const std::function<Status(Backend&)>& use) {
  std::string names = "auto";
  for (const auto& backend : registered_backends()) {
    names += ", " + std::string(backend->name());
    if (backend->name() != name) continue;
    if (Status status = backend->available(); !status.ok())
      return Status(status.error().code,
                    "backend '" + std::string(name) + "' is not available: " + status.error().message);
    Status status = prepare_and_use(*backend, model, interrupted, use);
    if (status.ok() || status.error().code == ErrorCode::kInterrupted) return status;
    return Status(status.error().code, "backend '" + std::string(name) + "': " + status.error().message);
  }
  return Status(ErrorCode::kInvalidArgument,
                "there is no backend '" + std::string(name) + "'; the backends are: " + names);
}

Status use_first_that_works(const ModelPtr& model, const InterruptCheck& interrupted,
                            const std::function<Status(Backend&)>& use) {
  std::string reasons;
  ErrorCode code = ErrorCode::kUnavailable;
  for (const auto& backend : registered_backends()) {
    const std::string name(backend->name());
    std::string reason;
    if (const auto remembered = remembered_failure(name, *model)) {
      reason = *remembered;
    } else if (const Status available = backend->available(); !available.ok()) {
      reason = available.error().message;
      log_unavailable(name, reason);
    } else {
      Status status = prepare_and_use(*backend, model, interrupted, use);
      if (status.ok() || status.error().code == ErrorCode::kInterrupted ||
          status.error().code == ErrorCode::kInvalidArgument)
        return status;
      code = status.error().code;
      reason = status.error().message;
      remember_failure(*backend, *model, reason);
      log_message("backend '" + name + "' cannot search the model " + model->path() + ": " + reason);
    }
    reasons += (reasons.empty() ? "" : "; ") + name + ": " + reason;
  }
  if (reasons.empty()) reasons = "none is registered";
  return Status(code, "no backend can search the model " + model->path() + " (" + reasons + ")");
}

}  // namespace

Status with_backend(const ModelPtr& model, std::string_view requested, const InterruptCheck& interrupted,
                    const std::function<Status(Backend&)>& use) {
  std::string name(requested);
  if (name.empty() || name == "auto") {
    GLOVE_ASSIGN_OR_RETURN(name, get_setting("backend"));
  }
  return name == "auto" ? use_first_that_works(model, interrupted, use)
                        : use_named(model, name, interrupted, use);
}

std::optional<std::string> remembered_failure(std::string_view backend, const Model& model) {
  const uint64_t settings = settings_generation();
  const uint64_t catalog = Catalog::instance().generation();
  Memory& remembered = memory();
  const std::lock_guard lock(remembered.mutex);
  const auto found = remembered.failures.find(std::pair(std::string(backend), model.id()));
  if (found == remembered.failures.end()) return std::nullopt;
  if (found->second.settings_generation == settings && found->second.catalog_generation == catalog)
    return found->second.reason;
  remembered.failures.erase(found);
  return std::nullopt;
}

void retire_model(const Model& model) {
  try {
    Memory& remembered = memory();
    const std::lock_guard lock(remembered.mutex);
    remembered.retired.insert(model.id());
    for (const auto& backend : registered_backends())
      remembered.failures.erase({std::string(backend->name()), model.id()});
  } catch (const std::bad_alloc&) {  // then a search that still runs keeps its part until the process ends
  }
  for (const auto& backend : registered_backends()) backend->release(model);
}

}  // namespace glove
