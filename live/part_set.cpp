// The segments of a live index as one model, and which of its rows a statement sees.
#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "base/require.h"
#include "live/live_search.h"
#include "search/engine.h"

namespace glove::live {
namespace {

using Segments = std::vector<SegmentPtr>;

// What the model of a set refers to.
struct ModelOwner {
  Segments segments;
  IndexRecallPtr recall;
  std::vector<PlaneLevel> planes;  // of each segment in lists
};

ModelPtr model_of(const std::shared_ptr<ModelOwner>& owner) {
  std::vector<ModelPart> parts;
  int64_t rows = 0;
  owner->planes.reserve(owner->segments.size());
  for (const SegmentPtr& segment : owner->segments) {
    ModelPart part;
    part.first_row = rows;
    part.rows = segment->rows();
    part.dims = segment->dims();
    part.levels = {segment->level()};
    if (segment->planes() != nullptr) {
      part.planes = &owner->planes.emplace_back(segment->planes()->level());
      if (owner->recall != nullptr) owner->planes.back().recall = &owner->recall->table();
    }
    rows += part.rows;
    parts.push_back(std::move(part));
  }
  Model::Source source;
  source.path = "a live index";
  source.coding = owner->segments.front()->coding();
  return std::make_shared<const Model>(std::move(parts), Vocabulary(), std::move(source), owner);
}

struct SharedSets {
  ForkSafeMutex mutex;
  std::vector<std::pair<Engine*, std::weak_ptr<const PartSet>>> sets GLOVE_GUARDED_BY(mutex);
};

}  // namespace

PartSet::PartSet(Engine& engine, Segments segments, IndexRecallPtr recall) : recall_(std::move(recall)) {
  GLOVE_REQUIRE(!segments.empty());
  const auto owner = std::make_shared<ModelOwner>(ModelOwner{std::move(segments), recall_, {}});
  segments_ = std::shared_ptr<const Segments>(owner, &owner->segments);
  searchers_ = std::make_shared<ModelSearchers>(engine, model_of(owner));
}

PartSetPtr find_part_set(Engine& engine, const std::vector<SegmentPtr>& segments,
                         const IndexRecallPtr& recall, bool whole) {
  std::vector<PartSetPtr> held;  // released when no lock is held
  const Lock lock(never_freed<SharedSets>().mutex);
  held.reserve(never_freed<SharedSets>().sets.size());
  for (const auto& [owner, set] : never_freed<SharedSets>().sets) {
    held.push_back(set.lock());
    if (owner != &engine || held.back() == nullptr || held.back()->recall() != recall) continue;
    const Segments& found = held.back()->segments();
    if (found.size() < segments.size() || (whole && found.size() > segments.size())) continue;
    if (std::equal(segments.begin(), segments.end(), found.begin())) return held.back();
  }
  return nullptr;
}

PartSetPtr share_part_set(Engine& engine, const std::vector<SegmentPtr>& segments,
                          const IndexRecallPtr& recall) {
  if (PartSetPtr found = find_part_set(engine, segments, recall, true)) return found;
  auto fresh = std::make_shared<const PartSet>(engine, segments, recall);
  const Lock lock(never_freed<SharedSets>().mutex);
  std::erase_if(never_freed<SharedSets>().sets, [](const auto& entry) { return entry.second.expired(); });
  never_freed<SharedSets>().sets.emplace_back(&engine, fresh);
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
  GLOVE_REQUIRE(row >= 0 && row < model().words());
  const ModelPart& part = model().part_of(row);
  return {static_cast<size_t>(&part - model().parts().data()), row - part.first_row};
}

bool PartSet::has_outlines() const {
  return std::ranges::any_of(segments(), [](const SegmentPtr& segment) { return segment->is_outline(); });
}

void hide_row(IndexState& state, int32_t row) {
  const auto place = std::lower_bound(state.hidden.begin(), state.hidden.end(), row);
  if (place == state.hidden.end() || *place != row) state.hidden.insert(place, row);
  if (state.found_gone) state.found_gone(row);
}

std::optional<int32_t> row_of(const IndexState& state, int64_t id) {
  for (size_t i = 0; state.parts != nullptr && i < state.parts->segments().size(); ++i) {
    const std::span<const int64_t> ids = state.parts->segments()[i]->ids();
    const auto at = std::ranges::lower_bound(ids, id);
    if (at == ids.end() || *at != id) continue;
    const auto row = static_cast<int32_t>(state.parts->first_row(i) + (at - ids.begin()));
    if (!std::ranges::binary_search(state.hidden, row)) return row;
  }
  return std::nullopt;
}

Admissible from_id(const Admissible& among, int64_t id, const IndexState& state) {
  Admissible rest{among.keys, nullptr, id};
  if (state.parts == nullptr) return rest;
  const auto mask = std::make_shared<RowMask>(state.parts->model());
  for (size_t i = 0; i < state.parts->segments().size(); ++i) {
    const std::span<const int64_t> ids = state.parts->segments()[i]->ids();
    const int64_t first = state.parts->first_row(i);
    mask->admit_range(first + (std::ranges::lower_bound(ids, id) - ids.begin()), first + std::ssize(ids),
                      among.rows.get());
  }
  mask->complete(state.parts->model());
  rest.rows = mask;
  return rest;
}

}  // namespace glove::live
