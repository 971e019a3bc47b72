#include "gpu/residency/segment_arena.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "gpu/device/memory_error.h"
#include "gpu/layout/plan.h"
#include "gpu/residency/copy_tasks.h"
#include "gpu/residency/upload.h"
#include "model/quantize.h"

namespace glove::gpu {
namespace {

// Room for more segments: a quarter of those that are there, and at least this many bytes.
constexpr int64_t kSpareShare = 4;
constexpr int64_t kLeastSpareBytes = int64_t{4} << 20;
// One tile of this many that a scan reads may belong to segments that the index no longer has.
constexpr int64_t kMostForeign = 4;
// Fewer bytes than this are copied before another thread could help.
constexpr int64_t kBytesWorthThreads = int64_t{2} << 20;

}  // namespace

ArenaPlan plan_arena(int64_t tiles, int64_t dims) {
  const int64_t rows = tiles * kTileRows;
  ArenaPlan plan;
  plan.tiles = tiles;
  plan.scales_at = MemoryPlan::aligned(code_bytes(rows, dims));
  plan.residuals_at = plan.scales_at + MemoryPlan::aligned(rows * 4);
  plan.bytes = plan.residuals_at + MemoryPlan::aligned(rows * 4);
  return plan;
}

int64_t tiles_of_parts(const Model& model) {
  int64_t tiles = 0;
  for (const ModelPart& part : model.parts()) tiles += tile_count(part.rows);
  return tiles;
}

Result<std::shared_ptr<SegmentArena>> SegmentArena::make(std::shared_ptr<SharedDevice> device,
                                                         const Model& model, int64_t room) {
  const int64_t tiles = tiles_of_parts(model);
  const int64_t tile_bytes = code_bytes(kTileRows, model.dims()) + kTileRows * 8;
  const int64_t spare = std::max(tiles / kSpareShare, kLeastSpareBytes / tile_bytes);
  ArenaPlan plan = plan_arena(tiles + spare, model.dims());
  if (plan.bytes > room) plan = plan_arena(tiles, model.dims());
  if (plan.bytes > room) return no_room_error(model.path(), plan.bytes, room, device->device().info().name);
  GLOVE_ASSIGN_OR_RETURN(CountedBlock block, CountedBlock::allocate(std::move(device), plan.bytes));
  return std::make_shared<SegmentArena>(model.dims(), plan, std::move(block));
}

SegmentArena::SegmentArena(int64_t dims, const ArenaPlan& plan, CountedBlock block)
    : dims_(dims), plan_(plan), block_(std::move(block)) {}

std::optional<SegmentArena::Place> SegmentArena::find(const ModelPart& part) const {
  const int8_t* const codes = part.level(8).codes.data();
  const auto found = std::ranges::find_if(
      places_, [&](const Place& place) { return place.codes == codes && place.rows == part.rows; });
  return found == places_.end() ? std::nullopt : std::optional(*found);
}

bool SegmentArena::suits(const Model& model) const {
  if (model.dims() != dims_) return false;
  int64_t here = 0;
  int64_t missing = 0;
  for (const ModelPart& part : model.parts())
    (find(part).has_value() ? here : missing) += tile_count(part.rows);
  const int64_t end = end_ + missing;
  return here > 0 && end <= plan_.tiles && end - here - missing <= end / kMostForeign;
}

Status SegmentArena::add(const ModelPtr& model, const InterruptCheck& interrupted) {
  CopyTasks tasks(*model);
  std::vector<Place> added;
  int64_t end = end_;
  int64_t bytes = 0;
  for (const ModelPart& part : model->parts()) {
    if (find(part).has_value()) continue;
    const CodeLevel& level = part.level(8);
    const int64_t row = end * kTileRows;
    tasks.add(level.codes, code_bytes(row, dims_));
    tasks.add_scales(level.scales, plan_.scales_at + row * 4);
    tasks.add_residuals(level.residuals, plan_.residuals_at + row * 4);
    bytes += static_cast<int64_t>(level.codes.size());
    added.push_back({level.codes.data(), part.rows, end});
    end += tile_count(part.rows);
  }
  if (added.empty()) return {};
  models_.reserve(models_.size() + 1);
  places_.reserve(places_.size() + added.size());
  const std::atomic<bool> cancelled{false};
  GLOVE_ASSIGN_OR_RETURN(const auto upload, Upload::start(device()->device(), tasks.take(),
                                                          bytes < kBytesWorthThreads ? 0 : upload_threads(),
                                                          model->path(), cancelled));
  GLOVE_RETURN_IF_ERROR(upload->copy_to(block_.data(), interrupted));
  models_.push_back(model);
  places_.insert(places_.end(), added.begin(), added.end());
  end_ = end;
  return {};
}

std::vector<int64_t> SegmentArena::tiles_of(const Model& model) const {
  std::vector<int64_t> tiles;
  for (const ModelPart& part : model.parts()) tiles.push_back(find(part).value().first_tile);
  return tiles;
}

DevicePart SegmentArena::part(int64_t tiles) const {
  DevicePart part;
  part.rows = tiles * kTileRows;
  part.dims = static_cast<int32_t>(dims_);
  part.level.codes = reinterpret_cast<const int8_t*>(block_.data());
  part.level.scales = reinterpret_cast<const float*>(block_.data() + plan_.scales_at);
  part.level.residuals = reinterpret_cast<const float*>(block_.data() + plan_.residuals_at);
  return part;
}

}  // namespace glove::gpu
