#include "search/backend.h"

#include <array>
#include <atomic>
#include <mutex>

namespace glove {
namespace {

// Slots never move, so a span that someone holds stays valid while another backend is added.
struct Registry {
  std::mutex mutex;
  std::array<std::unique_ptr<Backend>, 8> slots;
  std::atomic<size_t> used = 0;
};

Registry& registry() {
  static Registry* const instance = new Registry;  // never freed: searches may outlive static destruction
  return *instance;
}

}  // namespace

void register_backend(std::unique_ptr<Backend> backend) {
  Registry& backends = registry();
  const std::lock_guard lock(backends.mutex);
  const size_t used = backends.used.load(std::memory_order_relaxed);
  for (size_t i = 0; i < used; ++i)
    if (backends.slots[i]->name() == backend->name()) return;
  if (used == backends.slots.size()) return;
  backends.slots[used] = std::move(backend);
  backends.used.store(used + 1, std::memory_order_release);
}

std::span<const std::unique_ptr<Backend>> registered_backends() {
  Registry& backends = registry();
  return {backends.slots.data(), backends.used.load(std::memory_order_acquire)};
}

}  // namespace glove
