#include "gpu/search/segment_searcher.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "base/timer.h"
#include "gpu/layout/query_codes.h"
#include "model/quantize.h"

namespace glove::gpu {
namespace {

// A query may exclude up to this many rows beyond those that its mask hides.
constexpr size_t kMostUnmasked = 32;
// A mask is made in pieces of this many bytes, which stay in a core's cache until they are copied.
constexpr size_t kMaskPieceBytes = size_t{1} << 20;

bool same_excluded(const SearchRequest& a, const SearchRequest& b) {
  return a.query->excluded == b.query->excluded;
}

// Returns an upper bound of the similarity of a row with the query.
double upper_bound(const ModelPart& part, int64_t row, const QuantizedQuery& query) {
  const CodeLevel& level = part.level(8);
  const int8_t* codes = level.codes.data() + code_index(row, 0, part.dims);
  int32_t sum = 0;
  for (size_t j = 0; j < query.codes.size(); j += kTileComponents) {
    for (size_t i = 0; i < kTileComponents; ++i) sum += codes[i] * query.codes[j + i];
    codes += kTileRows * kTileComponents;
  }
  const auto place = static_cast<size_t>(row);
  return query.bound.estimate(static_cast<float>(sum), level.scales[place]) +
         query.bound.error(level.residuals[place]);
}

}  // namespace

SegmentSearcher::SegmentSearcher(std::shared_ptr<Arena> arena, ModelPtr model)
    : arena_(std::move(arena)), model_(std::move(model)) {
  const std::vector<int64_t> first_tiles = arena_->tiles_of(*model_);
  for (const ModelPart& part : model_->parts())
    placed_.push_back({first_tiles[placed_.size()] * kTileRows, &part});
  std::ranges::sort(placed_, {}, &Placed::first_row);
  const Placed& last = placed_.back();
  const int64_t tiles = last.first_row / kTileRows + tile_count(last.part->rows);
  part_ = arena_->first_tiles(tiles);
  has_foreign_tiles_ = tiles != tiles_of_parts(*model_);
}

// Replaces the device's candidates by those that a caller may have, with the model's ids and bounds.
void SegmentSearcher::take_candidates(SearchRequest& request) const {
  const Query& query = *request.query;
  QuantizedQuery quantized;  // for bounds that the device does not return
  std::vector<Neighbor> rows;
  rows.reserve(request.rows.size());
  for (const Neighbor& found : request.rows) {
    const auto after = std::ranges::upper_bound(placed_, int64_t{found.id}, {}, &Placed::first_row);
    if (after == placed_.begin()) continue;
    const auto& [first_row, part_there] = *(after - 1);
    const ModelPart& part = *part_there;
    const int64_t row = found.id - first_row;
    if (row >= part.rows) continue;
    const auto id = static_cast<int32_t>(part.first_row + row);
    if (std::ranges::binary_search(query.excluded, id)) continue;
    double bound = found.similarity;
    if (bound == kNoSimilarity) {
      if (quantized.codes.empty())
        quantized = quantize_query(query.vector, query.norm_squared, kTwoPlaneCode);
      bound = upper_bound(part, row, quantized);
    }
    rows.push_back({id, bound});
  }
  std::ranges::sort(rows, ranks_before);
  request.rows = std::move(rows);
}

Result<SegmentSearcher::MaskPtr> SegmentSearcher::mask_for(const std::vector<int32_t>& hidden,
                                                           const InterruptCheck& interrupted) {
  MaskPtr mask;
  if (!has_foreign_tiles_ && hidden.size() <= kMostUnmasked) return mask;
  {
    const Lock lock(mutex_);
    mask = mask_;
  }
  if (mask != nullptr && mask->hidden.size() <= hidden.size() &&
      hidden.size() - mask->hidden.size() <= kMostUnmasked &&
      (mask->hidden == hidden || std::ranges::includes(hidden, mask->hidden)))
    return mask;
  const auto work = [&]() -> Status {
    GLOVE_ASSIGN_OR_RETURN(mask, make_mask(hidden, interrupted));
    return {};
  };
  GLOVE_RETURN_IF_ERROR(arena_->device()->in_turn(interrupted, work));
  MaskPtr former = mask;  // freed when no lock is held
  const Lock lock(mutex_);
  std::swap(mask_, former);
  return mask;
}

// Writes the residuals of rows [first, first + residuals.size()) of part_ with these rows hidden.
void SegmentSearcher::fill_residuals(const std::vector<int32_t>& hidden, int64_t first,
                                     std::span<float> residuals) const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const int64_t last = first + static_cast<int64_t>(residuals.size());
  std::ranges::fill(residuals, kInfinity);
  for (const auto& [part_first, part] : placed_) {
    const int64_t begin = std::max(first, part_first);
    const int64_t end = std::min(last, part_first + part->rows);
    if (begin >= end) continue;
    const auto rows = static_cast<size_t>(end - begin);
    const std::span<const float> own =
        part->level(8).residuals.subspan(static_cast<size_t>(begin - part_first), rows);
    const auto to = residuals.subspan(static_cast<size_t>(begin - first), rows);
    std::ranges::copy(own, to.begin());
    const int64_t first_id = part->first_row + begin - part_first;
    for (auto row = std::ranges::lower_bound(hidden, first_id);
         row != hidden.end() && *row < first_id + (end - begin); ++row)
      to[static_cast<size_t>(*row - first_id)] = kInfinity;
  }
}

// Writes them straight to staging memory: an array of all rows would cost its page faults.
Status SegmentSearcher::copy_residuals(CopyRing& ring, const std::vector<int32_t>& hidden, std::byte* to,
                                       const InterruptCheck& interrupted) const {
  const auto step = static_cast<int64_t>(std::min(ring.block(0).size(), kMaskPieceBytes) / sizeof(float));
  int slot = 0;
  for (int64_t first = 0; first < part_.rows; first += step) {
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    GLOVE_RETURN_IF_ERROR(ring.wait(slot));
    const int64_t rows = std::min(step, part_.rows - first);
    auto* const staged = reinterpret_cast<float*>(ring.block(slot).data());
    fill_residuals(hidden, first, {staged, static_cast<size_t>(rows)});
    GLOVE_RETURN_IF_ERROR(ring.copy(slot, to + first * 4, rows * 4));
    slot = (slot + 1) % ring.slots();
  }
  return {};
}

Result<SegmentSearcher::MaskPtr> SegmentSearcher::make_mask(const std::vector<int32_t>& hidden,
                                                            const InterruptCheck& interrupted) {
  SharedDevice& device = *arena_->device();
  const int64_t bytes = part_.rows * static_cast<int64_t>(sizeof(float));
  GLOVE_ASSIGN_OR_RETURN(const int64_t room, device.room_for(part_.rows));
  if (bytes > room)
    return Error{ErrorCode::kOutOfMemory, "the deleted and changed rows of " + model_->path() + " need " +
                                              std::to_string(bytes) + " bytes of device memory"};
  GLOVE_ASSIGN_OR_RETURN(DeviceBlock block, device.device().allocate(bytes));
  GLOVE_ASSIGN_OR_RETURN(auto ring, device.device().take_ring());
  Status status = copy_residuals(*ring, hidden, block.data(), interrupted);
  Status copied = ring->wait_for_all();
  device.device().give_back_ring(std::move(ring));
  GLOVE_RETURN_IF_ERROR(std::move(status));
  GLOVE_RETURN_IF_ERROR(std::move(copied));
  return shared_on(arena_->device(), static_cast<const Mask*>(new Mask(device, hidden, std::move(block))));
}

// Searches for requests that exclude the same rows.
Status SegmentSearcher::search_alike(std::span<SearchRequest> requests, const InterruptCheck& interrupted) {
  const std::vector<int32_t>& hidden = requests.front().query->excluded;
  GLOVE_ASSIGN_OR_RETURN(const MaskPtr mask, mask_for(hidden, interrupted));
  DevicePart part = part_;
  if (mask != nullptr) part.level.residuals = reinterpret_cast<const float*>(mask->residuals.data());
  int64_t top_rows = 0;
  for (const SearchRequest& request : requests) top_rows = std::max(top_rows, request.k);
  top_rows += static_cast<int64_t>(hidden.size() - (mask != nullptr ? mask->hidden.size() : 0));
  GLOVE_RETURN_IF_ERROR(arena_->device()->run([&](Device& device) {
    return device.propose(part, requests, std::min(top_rows, part.rows), interrupted);
  }));
  for (SearchRequest& request : requests) {
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    const Timer timer;
    take_candidates(request);
    request.cost.select_us += timer.microseconds();
  }
  return {};
}

Status SegmentSearcher::search(std::span<SearchRequest> requests) {
  const SharedInterrupt shared(requests);
  while (!requests.empty()) {
    size_t alike = 1;
    while (alike < requests.size() && same_excluded(requests[0], requests[alike])) ++alike;
    GLOVE_RETURN_IF_ERROR(search_alike(requests.first(alike), shared.check()));
    requests = requests.subspan(alike);
  }
  return {};
}

Status SegmentSearcher::score_all(const Query&, std::span<double>, const InterruptCheck&, ScanCost&) {
  return {ErrorCode::kUnavailable, model_->path() + " has its vectors in a table, and not on the device"};
}

SearcherInfo SegmentSearcher::info() const {
  int64_t bytes = arena_->device_bytes();
  {
    const Lock lock(mutex_);
    if (mask_ != nullptr) bytes += mask_->residuals.bytes();
  }
  return arena_->device()->info(bytes);
}

}  // namespace glove::gpu
