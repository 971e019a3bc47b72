// Tells the operating system how the rows of a mapped model will be read.
#pragma once

#include <atomic>

#include "base/fork_safe_mutex.h"
#include "model/model.h"

namespace glove::cpu {

// The access pattern of one model. A scan reads a few scattered rows, and read-ahead for them would evict the
// codes if memory holds little more than those; a full pass benefits from read-ahead. Thread-safe.
class RowAccess {
 public:
  enum class Pattern { kUnknown, kScattered, kSequential };

  // Does nothing if the last pattern was the same or if the model's rows are not mapped from a file.
  void expect(const Model& model, Pattern pattern);

 private:
  std::atomic<Pattern> pattern_ = Pattern::kUnknown;
};

}  // namespace glove::cpu
