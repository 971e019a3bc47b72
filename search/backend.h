// A device, or a way to use one, that models can be opened on.
#pragma once

#include <memory>
#include <string_view>

#include "base/cancel.h"
#include "base/status.h"
#include "model/model.h"
#include "search/searcher.h"

namespace glove {

class Analysis;  // analysis/analysis.h

// Thread-safe: any member may be called at any time, from any thread. One object per engine.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;  // "cpu", "cuda": the SQL value

  // Ok if this machine can use it; otherwise why not. Cheap, and without a lock, after the first call.
  virtual Status available() = 0;

  // Makes the model ready to search (maps, uploads). The searcher keeps the model alive. kInterrupted, and
  // nothing is kept, if `interrupted` stopped it.
  virtual Result<std::shared_ptr<Searcher>> open(const ModelPtr& model,
                                                 const InterruptCheck& interrupted) = 0;

  // What the backend computes for the toolbox; nullptr if it leaves that to the CPU. Lives as long as the
  // backend.
  virtual Analysis* analysis() { return nullptr; }

  // What to say of a model that is not open here.
  virtual SearcherInfo info() const = 0;
};

}  // namespace glove
