// How the rows of a mapped model are about to be read, told to the kernel.
#pragma once

#include <atomic>

#include "base/fork_safe_mutex.h"
#include "model/model.h"

namespace glove::cpu {

// Of one model. A scan touches a few rows here and there: reading ahead of them would push the codes out of a
// memory that holds little more than those. A full pass wants the opposite. Thread-safe.
class RowAccess {
 public:
  enum class Pattern { kUnknown, kScattered, kSequential };

  // Does nothing when the last pattern was the same, or the model's rows are not mapped from a file.
  void expect(const Model& model, Pattern pattern);

 private:
  std::atomic<Pattern> pattern_ = Pattern::kUnknown;
};

}  // namespace glove::cpu
