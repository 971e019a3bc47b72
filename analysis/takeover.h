// Which backends compute for the toolbox, and what happens if a device fails.
#pragma once

#include <string>

#include "analysis/analysis.h"
#include "base/status.h"
#include "search/backend.h"
#include "search/engine.h"

namespace glove {

// The backends of one piece of work. They live as long as the engine.
struct AnalysisBackends {
  Backend* first = nullptr;     // offers the toolbox
  Backend* fallback = nullptr;  // under 'auto', if the first is not the CPU: takes over if the first fails
};

// Returns work(analysis) for the analysis of the first backend. If its device fails, the fallback does the
// work, and the log says why.
//   what     completes "cannot" in the log
//   backend  is set to the name of the backend that was asked last
template <class Work>
auto with_takeover(Engine& engine, const AnalysisBackends& backends, const std::string& what,
                   std::string& backend, const Work& work) -> decltype(work(*backends.first->analysis())) {
  backend = backends.first->name();
  auto result = work(*backends.first->analysis());
  if (result.ok() || backends.fallback == nullptr || !is_device_failure(result.error())) return result;
  engine.log().write("backend '" + backend + "' cannot " + what + ": " + result.error().message);
  backend = backends.fallback->name();
  return work(*backends.fallback->analysis());
}

}  // namespace glove
