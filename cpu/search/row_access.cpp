#include "cpu/search/row_access.h"

#include <sys/mman.h>
#include <unistd.h>

namespace glove::cpu {

void RowAccess::expect(const Model& model, Pattern pattern) {
  if (model.source().maps.empty()) return;
  if (pattern_.load(std::memory_order_relaxed) == pattern) return;
  pattern_.store(pattern, std::memory_order_relaxed);
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (const ModelPart& part : model.parts()) {
    if (!model.place_in_file(std::as_bytes(part.vectors))) continue;
    const auto first = (reinterpret_cast<uintptr_t>(part.vectors.data()) + page - 1) / page * page;
    const auto end = reinterpret_cast<uintptr_t>(part.vectors.data() + part.vectors.size()) / page * page;
    if (first < end)  // advice only: nothing depends on its success
      madvise(reinterpret_cast<void*>(first), end - first,
              pattern == Pattern::kScattered ? MADV_RANDOM : MADV_NORMAL);
  }
}

}  // namespace glove::cpu
