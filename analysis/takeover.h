// Which backends compute for the toolbox, and what happens if a device fails.
#pragma once

#include <string>

#include "analysis/analysis.h"
#include "base/status.h"
#include "search/backend.h"
#include "search/engine.h"

namespace glove {

struct AnalysisBackends {
  Backend* first = nullptr;     // offers the toolbox
  Backend* fallback = nullptr;  // under 'auto', if the first is not the CPU: takes over if the first fails
};

// Returns work(analysis) for the analysis of the first backend. If that backend cannot do the work, because
// it is not available or lacks memory, the fallback does it, and the log says why.
//   what     completes "cannot" in the log
//   backend  is set to the name of the backend that was asked last
template <class Work>
auto with_takeover(Engine& engine, const AnalysisBackends& backends, const std::string& what,
                   std::string& backend, const Work& work) -> decltype(work(*backends.first->analysis())) {
  backend = backends.first->name();
  auto result = work(*backends.first->analysis());
  if (result.ok() || backends.fallback == nullptr ||
      (result.error().code != ErrorCode::kUnavailable && result.error().code != ErrorCode::kOutOfMemory))
    return result;
  engine.log().write("backend '" + backend + "' cannot " + what + ": " + result.error().message);
  backend = backends.fallback->name();
  return work(*backends.fallback->analysis());
}

}  // namespace glove
