#include "search/backends.h"

#include <utility>

namespace glove {

void Backends::add(std::unique_ptr<Backend> backend) {
  const Lock lock(adding_);
  const size_t used = used_.load(std::memory_order_relaxed);
  if (used == kMost || find(backend->name()) != nullptr) return;
  slots_[used] = std::move(backend);
  used_.store(used + 1, std::memory_order_release);
}

std::span<const std::unique_ptr<Backend>> Backends::all() const {
  return {slots_.data(), used_.load(std::memory_order_acquire)};
}

Backend* Backends::find(std::string_view name) const {
  for (const auto& backend : all())
    if (backend->name() == name) return backend.get();
  return nullptr;
}

std::string Backends::choices() const {
  std::string names = "auto";
  for (const auto& backend : all()) names += ", " + std::string(backend->name());
  return names;
}

}  // namespace glove
