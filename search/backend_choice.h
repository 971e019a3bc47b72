// Which backend answers: the rules of 'auto', and what is remembered of backends that failed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/model.h"
#include "search/backend.h"

namespace glove {

// Runs `use` with a backend that is available and has prepared the model; `interrupted` stops the preparing.
//   requested = a registered name: that one, or an error with its reason.
//   requested = "auto" (or empty): the backend that the setting 'backend' names; if that is 'auto' too, the
//     first registered one that is available, can hold the model and whose `use` succeeds.
// Under 'auto' a failure of prepare or use is logged once and remembered for this model, so that the backend
// is not tried again until a setting changes or a model is loaded or unloaded. A backend that is not
// available is asked again each time, and its reason logged once a process. An interrupt and an invalid
// argument are the caller's, not the backend's, and are returned as they are.
Status with_backend(const ModelPtr& model, std::string_view requested, const InterruptCheck& interrupted,
                    const std::function<Status(Backend&)>& use);

// Why 'auto' passes this backend over for this model; nullopt if it does not.
std::optional<std::string> remembered_failure(std::string_view backend, const Model& model);

// To be called when the catalog drops a model: frees it on every backend, now, and once more after each
// search that still uses it.
void retire_model(const Model& model);

}  // namespace glove
