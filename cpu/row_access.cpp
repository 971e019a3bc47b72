#include "cpu/row_access.h"

#include <sys/mman.h>
#include <unistd.h>

namespace glove::cpu {

void RowAccess::expect(const Model& model, Pattern pattern) {
  if (model.source().descriptor < 0 || model.source().vectors.bytes == 0) return;
  {
    const std::lock_guard lock(mutex_);
    const auto [known, fresh] = patterns_.try_emplace(model.id(), pattern);
    if (!fresh && known->second == pattern) return;
    known->second = pattern;
  }
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto rows = model.arrays().vectors;
  const auto first = (reinterpret_cast<uintptr_t>(rows.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(rows.data() + rows.size()) / page * page;
  if (first < end)  // advice only: nothing depends on its success
    madvise(reinterpret_cast<void*>(first), end - first,
            pattern == Pattern::kScattered ? MADV_RANDOM : MADV_NORMAL);
}

void RowAccess::forget(const Model& model) {
  const std::lock_guard lock(mutex_);
  patterns_.erase(model.id());
}

}  // namespace glove::cpu
