#include "live/part_set.h"

#include <utility>

#include "base/fork_safe_mutex.h"

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

struct SharedSets {
  ForkSafeMutex mutex;
  std::vector<std::pair<Engine*, std::weak_ptr<const PartSet>>> sets GLOVE_GUARDED_BY(mutex);
};

SharedSets& shared_sets() {
  static SharedSets* const instance = new SharedSets;  // never freed: connections may outlive statics
  return *instance;
}

}  // namespace

PartSet::PartSet(Engine& engine, Segments segments)
    : segments_(std::make_shared<const Segments>(std::move(segments))),
      searchers_(std::make_shared<ModelSearchers>(engine, model_of(segments_))) {}

PartSetPtr find_part_set(Engine& engine, const std::vector<SegmentPtr>& segments) {
  std::vector<PartSetPtr> held;  // released when no lock is held
  const Lock lock(shared_sets().mutex);
  held.reserve(shared_sets().sets.size());
  for (const auto& [owner, set] : shared_sets().sets) {
    held.push_back(set.lock());
    if (owner == &engine && held.back() != nullptr && held.back()->segments() == segments) return held.back();
  }
  return nullptr;
}

PartSetPtr share_part_set(Engine& engine, const std::vector<SegmentPtr>& segments) {
  if (PartSetPtr found = find_part_set(engine, segments)) return found;
  auto fresh = std::make_shared<const PartSet>(engine, segments);
  const Lock lock(shared_sets().mutex);
  std::erase_if(shared_sets().sets, [](const auto& entry) { return entry.second.expired(); });
  shared_sets().sets.emplace_back(&engine, fresh);
  return fresh;
}

Result<RowMaskPtr> admissible_rows(const KeySet& keys, const PartSet& set,
                                   const InterruptCheck& interrupted) {
  auto mask = std::make_shared<RowMask>(set.model());
  for (size_t segment = 0; segment < set.segments().size(); ++segment)
    GLOVE_RETURN_IF_ERROR(
        mask->admit(keys, set.segments()[segment]->ids(), set.first_row(segment), interrupted));
  mask->complete(set.model());
  return RowMaskPtr(std::move(mask));
}

int64_t PartSet::id_of(int32_t row) const {
  const auto [segment, row_of_segment] = place_of(row);
  return segments()[segment]->ids()[static_cast<size_t>(row_of_segment)];
}

std::pair<size_t, int64_t> PartSet::place_of(int32_t row) const {
  const ModelPart& part = model().part_of(row);
  return {static_cast<size_t>(&part - model().parts().data()), row - part.first_row};
}

}  // namespace glove::live
