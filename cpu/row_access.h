// How the rows of a mapped model are about to be read, told to the kernel.
#pragma once

#include <cstdint>
#include <map>

#include "base/fork_safe_mutex.h"
#include "model/model.h"

namespace glove::cpu {

// A scan touches a few rows here and there: reading ahead of them would push the codes out of a memory that
// holds little more than those. A full pass wants the opposite. Thread-safe.
class RowAccess {
 public:
  enum class Pattern { kScattered, kSequential };

  // Does nothing when the model's last pattern was the same, or its rows are not mapped from a file.
  void expect(const Model& model, Pattern pattern);
  void forget(const Model& model);

 private:
  ForkSafeMutex mutex_;
  std::map<uint64_t, Pattern> patterns_;  // by Model::id
};

}  // namespace glove::cpu
