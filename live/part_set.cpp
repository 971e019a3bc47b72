#include "live/part_set.h"

#include <algorithm>
#include <utility>

namespace glove::live {
namespace {

using Segments = std::vector<SegmentPtr>;

ModelPtr model_of(const std::shared_ptr<const Segments>& segments) {
  std::vector<ModelPart> parts;
  int64_t rows = 0;
  for (const SegmentPtr& segment : *segments) {
    ModelPart part;
    part.first_row = rows;
    part.rows = segment->rows();
    part.dims = segment->dims();
    part.levels = {segment->level()};
    rows += part.rows;
    parts.push_back(std::move(part));
  }
  Model::Source source;
  source.path = "a live index";
  return std::make_shared<const Model>(std::move(parts), Vocabulary(), std::move(source), segments);
}

}  // namespace

PartSet::PartSet(Engine& engine, Segments segments)
    : segments_(std::make_shared<const Segments>(std::move(segments))),
      searchers_(std::make_shared<ModelSearchers>(engine, model_of(segments_))) {}

int64_t PartSet::id_of(int32_t row) const {
  const auto [segment, row_of_segment] = place_of(row);
  return segments()[segment]->ids()[static_cast<size_t>(row_of_segment)];
}

std::pair<size_t, int64_t> PartSet::place_of(int32_t row) const {
  const ModelPart& part = model().part_of(row);
  return {static_cast<size_t>(&part - model().parts().data()), row - part.first_row};
}

}  // namespace glove::live
