#include "model/model.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "base/float_environment.h"
#include "model/exact_dot.h"
#include "model/limits.h"
#include "model/mapped_file.h"
#include "model/shifted_codes.h"

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
  const auto after = std::ranges::upper_bound(parts_, row, {}, &ModelPart::first_row);
  return *(after - 1);
}

RowMetric Model::metric() const {
  return metric_of(source_.coding);
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

ModelPtr with_counts(const ModelPtr& model, std::vector<double> counts) {
  Model::Source source = model->source();
  source.counts = std::make_shared<const std::vector<double>>(std::move(counts));
  return std::make_shared<const Model>(std::vector(model->parts().begin(), model->parts().end()),
                                       model->vocabulary(), std::move(source), model);
}

WordVector find_word(const Model& model, std::string_view word, std::vector<float>& made) {
  const Subwords* const subwords = model.source().subwords.get();
  const Vocabulary& words = model.vocabulary();
  const std::optional<int32_t> id = subwords == nullptr ? words.find(word) : words.find_exact(word);
  if (id) return {id, model.vector(*id), model.norm_squared(*id)};
  if (subwords == nullptr || static_cast<int64_t>(word.size()) > kMaxWordBytes) return {};
  const ScopedFloatEnvironment environment;
  made.resize(static_cast<size_t>(model.dims()));
  if (!subwords->make_vector(word, nullptr, made)) return {};
  const double norm_squared = exact_dot(made.data(), made.data(), model.dims());
  return std::isfinite(norm_squared) ? WordVector{std::nullopt, made.data(), norm_squared} : WordVector();
}

}  // namespace glove
