#include "model/model.h"

#include <algorithm>
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

Model::Model(std::vector<ModelPart> parts, const Vocabulary& vocabulary, Source source,
             std::shared_ptr<const void> owner)
    : parts_(std::move(parts)),
      vocabulary_(vocabulary),
      source_(std::move(source)),
      owner_(std::move(owner)),
      id_(next_model_id()) {}

const ModelPart& Model::later_part_of(int64_t row) const {
  const auto after = std::upper_bound(parts_.begin(), parts_.end(), row,
                                      [](int64_t id, const ModelPart& part) { return id < part.first_row; });
  return *(after - 1);
}

std::optional<FilePlace> Model::place_in_file(std::span<const std::byte> bytes) const {
  for (const auto& map : source_.maps)
    if (const auto offset = map->offset_of(bytes)) return FilePlace{map->file().descriptor(), *offset};
  return std::nullopt;
}

Status Model::health(const InterruptCheck& interrupted) const {
  for (const auto& map : source_.maps) GLOVE_RETURN_IF_ERROR(map->health(interrupted));
  return {};
}

}  // namespace glove
