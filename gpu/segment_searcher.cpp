#include "gpu/segment_searcher.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/timer.h"
#include "gpu/query_codes.h"
#include "gpu/upload.h"
#include "model/quantize.h"

namespace glove::gpu {
namespace {

// A query may exclude so many rows more than a mask hides.
constexpr size_t kMostUnmasked = 32;
// A mask of fewer bytes than this is copied before another thread could help.
constexpr int64_t kBytesWorthThreads = int64_t{4} << 20;

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

SegmentSearcher::SegmentSearcher(std::shared_ptr<SegmentArena> arena, ModelPtr model)
    : arena_(std::move(arena)), model_(std::move(model)), first_tiles_(arena_->tiles_of(*model_)) {
  parts_in_order_.resize(first_tiles_.size());
  std::iota(parts_in_order_.begin(), parts_in_order_.end(), size_t{0});
  std::ranges::sort(parts_in_order_, {}, [this](size_t part) { return first_tiles_[part]; });
  const size_t last = parts_in_order_.back();
  const int64_t tiles = first_tiles_[last] + tile_count(model_->parts()[last].rows);
  part_ = arena_->part(tiles);
  has_foreign_tiles_ = tiles != tiles_of_parts(*model_);
}

// Returns the part of the model that has this tile, or the one before it.
size_t SegmentSearcher::part_at(int64_t tile) const {
  const auto after =
      std::ranges::upper_bound(parts_in_order_, tile, {}, [this](size_t part) { return first_tiles_[part]; });
  return after == parts_in_order_.begin() ? *after : *(after - 1);
}

// Replaces the device's candidates by those that a caller may have, with the model's ids and bounds.
void SegmentSearcher::take_candidates(SearchRequest& request) const {
  const Query& query = *request.query;
  const QuantizedQuery quantized = quantize_query(query.vector, query.norm_squared, kTwoPlaneCode);
  std::vector<Neighbor> rows;
  rows.reserve(request.rows.size());
  for (const Neighbor& found : request.rows) {
    const size_t at = part_at(found.id / kTileRows);
    const ModelPart& part = model_->parts()[at];
    const int64_t row = found.id - first_tiles_[at] * kTileRows;
    if (row < 0 || row >= part.rows) continue;
    const auto id = static_cast<int32_t>(part.first_row + row);
    if (std::ranges::binary_search(query.excluded, id)) continue;
    rows.push_back({id, upper_bound(part, row, quantized)});
  }
  std::ranges::sort(rows, ranks_before);
  request.rows = std::move(rows);
}

Result<SegmentSearcher::MaskPtr> SegmentSearcher::mask_for(const std::vector<int32_t>& hidden,
                                                           const InterruptCheck& interrupted) {
  MaskPtr mask;
  {
    const std::lock_guard lock(mutex_);
    mask = mask_;
  }
  if (mask == nullptr && !has_foreign_tiles_ && hidden.size() <= kMostUnmasked) return mask;
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
  const std::lock_guard lock(mutex_);
  std::swap(mask_, former);
  return mask;
}

Result<SegmentSearcher::MaskPtr> SegmentSearcher::make_mask(const std::vector<int32_t>& hidden,
                                                            const InterruptCheck& interrupted) {
  const auto rows = static_cast<size_t>(part_.rows);
  const auto residuals = std::make_unique_for_overwrite<float[]>(rows);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float* end = residuals.get();
  auto next_hidden = hidden.begin();
  for (const size_t at : parts_in_order_) {
    const ModelPart& part = model_->parts()[at];
    float* const begin = residuals.get() + first_tiles_[at] * kTileRows;
    std::fill(end, begin, kInfinity);
    end = std::ranges::copy(part.level(8).residuals, begin).out;
    next_hidden = std::ranges::lower_bound(hidden, static_cast<int32_t>(part.first_row));
    for (; next_hidden != hidden.end() && *next_hidden < part.first_row + part.rows; ++next_hidden)
      begin[*next_hidden - part.first_row] = kInfinity;
  }
  std::fill(end, residuals.get() + rows, kInfinity);

  SharedDevice& device = *arena_->device();
  const auto bytes = static_cast<int64_t>(rows * sizeof(float));
  GLOVE_ASSIGN_OR_RETURN(const int64_t room, device.room_for(part_.rows));
  if (bytes > room)
    return Error{ErrorCode::kOutOfMemory, "the deleted and changed rows of " + model_->path() + " need " +
                                              std::to_string(bytes) + " bytes of device memory"};
  GLOVE_ASSIGN_OR_RETURN(CountedBlock block, CountedBlock::allocate(arena_->device(), bytes));
  const std::atomic<bool> cancelled{false};
  CopyTask task;
  task.memory = reinterpret_cast<const std::byte*>(residuals.get());
  task.bytes = bytes;
  GLOVE_ASSIGN_OR_RETURN(const auto upload, Upload::start(device.device(), {task},
                                                          bytes < kBytesWorthThreads ? 0 : upload_threads(),
                                                          model_->path(), cancelled));
  GLOVE_RETURN_IF_ERROR(upload->copy_to(block.data(), interrupted));
  return std::make_shared<const Mask>(Mask{hidden, std::move(block)});
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
  Device& device = arena_->device()->device();
  if (Status status = device.propose(part, requests, std::min(top_rows, part.rows), interrupted);
      !status.ok()) {
    arena_->device()->note_error(status.error());
    return status;
  }
  for (SearchRequest& request : requests) {
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    const Timer timer;
    take_candidates(request);
    request.cost.select_us += timer.microseconds();
  }
  return {};
}

Status SegmentSearcher::search(std::span<SearchRequest> requests) {
  GLOVE_RETURN_IF_ERROR(arena_->device()->available());
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
    const std::lock_guard lock(mutex_);
    if (mask_ != nullptr) bytes += mask_->residuals.bytes();
  }
  return arena_->device()->info(bytes);
}

}  // namespace glove::gpu
