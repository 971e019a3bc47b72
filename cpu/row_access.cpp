#include "cpu/row_access.h"

#include <sys/mman.h>
#include <unistd.h>

namespace glove::cpu {

void RowAccess::expect(const Model& model, Pattern pattern) {
  if (model.source().descriptor < 0 || model.source().vectors.bytes == 0) return;
  if (pattern_.load(std::memory_order_relaxed) == pattern) return;
  pattern_.store(pattern, std::memory_order_relaxed);
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto rows = model.arrays().vectors;
  const auto first = (reinterpret_cast<uintptr_t>(rows.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(rows.data() + rows.size()) / page * page;
  if (first < end)  // advice only: nothing depends on its success
    madvise(reinterpret_cast<void*>(first), end - first,
            pattern == Pattern::kScattered ? MADV_RANDOM : MADV_NORMAL);
}

}  // namespace glove::cpu
