// A device, or a way of using one, on which models can be opened.
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"
#include "model/model.h"
#include "search/searcher.h"

namespace glove {

// Returns true if the device is lost, cannot be used or lacks memory, so that another one may succeed.
inline bool is_device_failure(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kOutOfMemory;
}

class Analysis;  // analysis/analysis.h

// Thread-safe: any member may be called at any time, from any thread. There is one object per engine.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;  // the name in SQL: "cpu", "cuda"

  // Returns ok if this machine can use the backend, and otherwise why not. Cheap and lock-free after the
  // first call.
  virtual Status available() = 0;

  // Prepares the model for searching (maps or uploads it). The searcher keeps the model alive. If
  // `interrupted` stopped it, returns kInterrupted and keeps nothing.
  virtual Result<std::shared_ptr<Searcher>> open(const ModelPtr& model,
                                                 const InterruptCheck& interrupted) = 0;

  // Returns the analyses that run on this backend, or nullptr if they run on the CPU instead. Lives as long
  // as the backend.
  virtual Analysis* analysis() { return nullptr; }

  // Describes a model that is not open on this backend.
  virtual SearcherInfo info() const = 0;
};

}  // namespace glove
