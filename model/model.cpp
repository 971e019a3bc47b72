#include "model/model.h"

#include <atomic>
#include <utility>

#include "model/mapped_file.h"

namespace glove {
namespace {

uint64_t next_model_id() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Model::Model(const ModelArrays& arrays, Source source, std::shared_ptr<const void> owner)
    : arrays_(arrays), source_(std::move(source)), owner_(std::move(owner)), id_(next_model_id()) {}

Status Model::health() const {
  return source_.map ? source_.map->health() : Status();
}

}  // namespace glove
