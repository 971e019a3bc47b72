#include "gpu/residency/arena.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <exception>
#include <limits>
#include <set>
#include <thread>
#include <utility>

#include "base/require.h"
#include "gpu/residency/model_slice.h"
#include "lists/derived_level.h"
#include "model/quantize.h"
#include "search/candidates.h"

namespace glove::gpu {
namespace {

// Room for more segments: a quarter of those that are there, and at least this many bytes.
constexpr int64_t kSpareShare = 4;
constexpr int64_t kLeastSpareBytes = int64_t{4} << 20;
// One tile of this many that a scan reads may belong to segments that the index no longer has.
constexpr int64_t kMostForeign = 4;
// Fewer bytes than this are copied before another thread could help.
constexpr int64_t kBytesWorthThreads = int64_t{2} << 20;

// What zero rows have: the scale 0 and an infinite residual.
constexpr std::array<float, kTileRows> kZeroScales = {};
constexpr auto kZeroResiduals = [] {
  std::array<float, kTileRows> residuals{};
  residuals.fill(std::numeric_limits<float>::infinity());
  return residuals;
}();

// Lists what is copied of a model to the slots of a block. Arrays are read from their file if they have one,
// because reading them through the map costs a page fault per page.
class CopyTasks {
 public:
  explicit CopyTasks(const Model& model) : model_(model) {}

  template <class T>
  void add(std::span<const T> array, int64_t to) {
    CopyTask task;
    task.device_offset = to;
    task.bytes = static_cast<int64_t>(array.size_bytes());
    if (const auto place = model_.place_in_file(std::as_bytes(array))) {
      task.descriptor = place->descriptor;
      task.offset = place->offset;
    } else {
      task.memory = std::as_bytes(array).data();
    }
    tasks_.push_back(task);
  }

  // Puts a level into tiles `first_tile` and following, with zero rows to complete the last one.
  void add_level(const CodeLevel& level, const LevelSlots& to, int64_t first_tile) {
    const int64_t tile_bytes =
        static_cast<int64_t>(level.codes.size()) / tile_count(static_cast<int64_t>(level.scales.size()));
    add(level.codes, to.codes.at + first_tile * tile_bytes);
    add_padded(level.scales, to.scales.at + first_tile * kTileRows * 4, kZeroScales);
    add_padded(level.residuals, to.residuals.at + first_tile * kTileRows * 4, kZeroResiduals);
    if (!to.is_shifted) return;
    add_padded(level.along, to.along.at + first_tile * kTileRows * 4, kZeroScales);
    add_padded(level.lengths, to.lengths.at + first_tile * kTileRows * 4, kZeroScales);
  }

  std::vector<CopyTask> take() { return std::move(tasks_); }

 private:
  void add_padded(std::span<const float> rows, int64_t to, std::span<const float> zero_rows) {
    add(rows, to);
    if (rows.size() % kTileRows == 0) return;
    const auto missing = std::as_bytes(zero_rows.subspan(rows.size() % kTileRows));
    tasks_.push_back({missing.data(), -1, 0, to + static_cast<int64_t>(rows.size_bytes()),
                      static_cast<int64_t>(missing.size())});
  }

  const Model& model_;
  std::vector<CopyTask> tasks_;
};

// Those that may have a thread. Never freed: threads may outlive static destruction.
struct BackgroundUploads {
  Mutex mutex;
  std::set<BackgroundUpload*> running GLOVE_GUARDED_BY(mutex);
  bool exiting GLOVE_GUARDED_BY(mutex) = false;
  pid_t process = getpid();
};

BackgroundUploads& background_uploads() {
  static BackgroundUploads* const instance = new BackgroundUploads;
  return *instance;
}

}  // namespace

BackgroundUpload::~BackgroundUpload() {
  cancelled_ = true;
  wait();
  const Lock lock(background_uploads().mutex);
  background_uploads().running.erase(this);
}

void BackgroundUpload::wait() {
  const Lock lock(join_mutex_);
  thread_.join();
}

// Runs at exit, before the handlers that CUDA registered when it started.
void BackgroundUpload::stop_all() {
  if (background_uploads().process != getpid()) return;  // a forked child has none of these threads
  const Lock lock(background_uploads().mutex);
  background_uploads().exiting = true;
  for (BackgroundUpload* upload : background_uploads().running) upload->cancelled_ = true;
  for (BackgroundUpload* upload : background_uploads().running) upload->wait();
}

void BackgroundUpload::start(const std::function<void()>& work, const std::function<void()>& refused) {
  std::call_once(once_, [&] {
    static const bool registered = std::atexit(stop_all) == 0;
    const Lock lock(background_uploads().mutex);
    const bool may_start = registered && !background_uploads().exiting;
    if (may_start) background_uploads().running.insert(this);
    if (!may_start || !thread_.start("glove-upload", work)) refused();
  });
}

int64_t tiles_of_parts(const Model& model) {
  int64_t tiles = 0;
  for (const ModelPart& part : model.parts()) tiles += tile_count(part.rows);
  return tiles;
}

Arena::Arena(std::shared_ptr<SharedDevice> device, int64_t dims, std::vector<Stretch> stretches,
             int64_t scan_bytes)
    : device_(std::move(device)), dims_(dims), scan_bytes_(scan_bytes), stretches_(std::move(stretches)) {
  device_->count_bytes(scan_bytes_);
}

Arena::~Arena() {
  device_->count_bytes(-scan_bytes_ - exact_bytes_.exchange(0));
}

Result<std::shared_ptr<Arena>> Arena::make(const std::shared_ptr<SharedDevice>& device, const ModelPtr& model,
                                           int64_t room, const InterruptCheck& interrupted) {
  BlockLayout layout;
  std::vector<Stretch> stretches;
  const auto lay_out = [&](const std::vector<int64_t>& tiles) {
    layout = {};
    stretches.clear();
    for (const int64_t count : tiles)
      stretches.push_back(
          {add_level(layout, 8, count * kTileRows, model->dims(), model->is_shifted()), count});
  };
  const bool grows = !has_vectors(*model);
  if (grows) {
    const int64_t tiles = tiles_of_parts(*model);
    const int64_t tile_bytes =
        code_bytes(kTileRows, model->dims()) + kTileRows * (model->is_shifted() ? 16 : 8);
    lay_out({tiles + std::max(tiles / kSpareShare, kLeastSpareBytes / tile_bytes)});
    if (layout.bytes() > room) lay_out({tiles});
  } else {
    std::vector<int64_t> tiles;
    for (const ModelPart& part : model->parts()) tiles.push_back(tile_count(part.rows));
    lay_out(tiles);
  }
  if (layout.bytes() > room)
    return Error{ErrorCode::kOutOfMemory, model->path() + " needs at least " + megabytes(layout.bytes()) +
                                              " of device memory, and " +
                                              megabytes(std::max<int64_t>(room, 0)) + " of " +
                                              device->device().info().name + " are there for it"};
  const std::shared_ptr<Arena> arena =
      shared_on(device, new Arena(device, model->dims(), std::move(stretches), layout.bytes()));
  GLOVE_RETURN_IF_ERROR(arena->add(model, interrupted));
  if (!grows) arena->plan_rest(room);
  return arena;
}

std::optional<Arena::Place> Arena::find(const ModelPart& part) const {
  const int8_t* const codes = part.level(8).codes.data();
  const auto found = std::ranges::find_if(
      places_, [&](const Place& place) { return place.codes == codes && place.rows == part.rows; });
  return found == places_.end() ? std::nullopt : std::optional(*found);
}

bool Arena::suits(const Model& model) const {
  if (model.dims() != dims_) return false;
  int64_t here = 0;
  int64_t missing = 0;
  for (const ModelPart& part : model.parts())
    (find(part).has_value() ? here : missing) += tile_count(part.rows);
  const int64_t end = stretches_.front().end + missing;
  return here > 0 && end <= stretches_.front().tiles && end - here - missing <= end / kMostForeign;
}

Status Arena::add(const ModelPtr& model, const InterruptCheck& interrupted) {
  CopyTasks tasks(*model);
  std::vector<Stretch> stretches = stretches_;
  std::vector<Place> places = places_;
  for (const ModelPart& part : model->parts()) {
    if (find(part).has_value()) continue;
    const int64_t tiles = tile_count(part.rows);
    // Parts of a model with vectors fill one stretch after another.
    const auto stretch =
        std::ranges::find_if(stretches, [&](const Stretch& each) { return each.end + tiles <= each.tiles; });
    tasks.add_level(part.level(8), stretch->level, stretch->end);
    places.push_back({part.level(8).codes.data(), part.rows, stretch->end});
    stretch->end += tiles;
  }
  if (places.size() == places_.size()) return {};
  models_.reserve(models_.size() + 1);
  GLOVE_RETURN_IF_ERROR(copy(tasks.take(), *model, scan_block_, scan_bytes_, interrupted));
  models_.push_back(model);
  places_.swap(places);
  stretches_.swap(stretches);
  return {};
}

// Copies the tasks to a block, which it allocates unless it is there. Reads while it allocates, because both
// take long.
Status Arena::copy(std::vector<CopyTask> tasks, const Model& model, DeviceBlock& block, int64_t bytes,
                   const InterruptCheck& interrupted) {
  int64_t task_bytes = 0;
  for (const CopyTask& task : tasks) task_bytes += task.bytes;
  const int threads = task_bytes < kBytesWorthThreads ? 0 : upload_threads();
  Device& device = device_->device();
  GLOVE_ASSIGN_OR_RETURN(const auto upload, Upload::start(device, std::move(tasks), threads, model.path(),
                                                          background_.cancelled()));
  if (block.bytes() == 0) {
    GLOVE_ASSIGN_OR_RETURN(block, device.allocate(bytes));
  }
  return upload->copy_to(block.data(), interrupted);
}

std::vector<int64_t> Arena::tiles_of(const Model& model) const {
  GLOVE_REQUIRE(!places_.empty());
  std::vector<int64_t> tiles;
  for (const ModelPart& part : model.parts()) tiles.push_back(find(part).value().first_tile);
  return tiles;
}

DevicePart Arena::part_of(const Stretch& stretch, int64_t rows) const {
  DevicePart part;
  part.rows = rows;
  part.dims = static_cast<int32_t>(dims_);
  part.level = stretch.level.in(scan_block_.data());
  return part;
}

// Decides what upload_rest() copies, and counts it. REQUIRES: the parts are here.
void Arena::plan_rest(int64_t room) {
  if (model()->is_shifted()) coding_ = device_coding(*model());
  room -= scan_bytes_;
  int64_t exact_bytes = 0;
  int64_t coarse_bytes = 0;
  const int64_t coarse_from = device_->device().info().coarse_from;
  bool uses_nibbles = true;
  for (const ModelPart& part : model()->parts()) {
    scan_parts_.push_back(part_of(stretches_[scan_parts_.size()], part.rows));
    scan_parts_.back().first_row = part.first_row;
    if (model()->is_shifted()) scan_parts_.back().coding = &coding_;
    const MemoryPlan plan = plan_memory(part.rows, part.dims);
    exact_bytes += plan.exact_bytes;
    coarse_bytes += plan.coarse_bytes;
    uses_nibbles = uses_nibbles && (part.has_level(4) || part.derives_level4) &&
                   coarse_worthwhile(part.rows, part.dims, 1, coarse_from);
  }
  if (exact_bytes > room || model()->is_shifted()) return;
  with_coarse_ = uses_nibbles && exact_bytes + coarse_bytes <= room;
  exact_bytes_ = exact_bytes + (with_coarse_ ? coarse_bytes : 0);
  device_->count_bytes(exact_bytes_);
}

void Arena::upload_rest() {
  if (exact_bytes_ == 0) return;
  background_.start([this] { upload_in_background(); },
                    [this] { device_->count_bytes(-exact_bytes_.exchange(0)); });
}

// Copies the arrays that spare the host the rescoring and, if they fit, those of the 4-bit scan.
Status Arena::upload_exact_arrays() {
  BlockLayout layout;
  std::vector<ExactSlots> slots;
  std::deque<DerivedLevel4> derived;  // until it is copied
  CopyTasks tasks(*model());
  for (const ModelPart& part : model()->parts()) {
    slots.push_back(add_exact_arrays(layout, part.rows, part.dims, with_coarse_));
    tasks.add(part.norms_squared, slots.back().norms_squared.at);
    tasks.add(part.vectors, slots.back().vectors.at);
    if (!with_coarse_) continue;
    if (!part.has_level(4)) {
      GLOVE_ASSIGN_OR_RETURN(derived.emplace_back(),
                             derive_level4(part, 0, [&] { return background_.cancelled().load(); }));
    }
    tasks.add_level(part.has_level(4) ? part.level(4) : derived.back().level(), slots.back().coarse, 0);
  }
  GLOVE_RETURN_IF_ERROR(copy(tasks.take(), *model(), exact_block_, layout.bytes(), {}));
  std::byte* const block = exact_block_.data();
  exact_parts_ = scan_parts_;
  for (size_t i = 0; i < slots.size(); ++i) {
    DevicePart& part = exact_parts_[i];
    part.norms_squared = slots[i].norms_squared.in(block);
    part.vectors = slots[i].vectors.in(block);
    if (!with_coarse_) continue;
    GLOVE_RETURN_IF_ERROR(device_->device().pack_rows(part, slots[i].packed_rows.in(block)));
    part.coarse = slots[i].coarse.in(block);
    part.packed_rows = slots[i].packed_rows.in(block);
  }
  return {};
}

// The body of the background upload. Starts with a short delay, because the host is reading rows for the
// first answer.
void Arena::upload_in_background() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  try {
    if (upload_exact_arrays().ok()) {
      exact_ready_.store(true, std::memory_order_release);
      return;
    }
  } catch (const std::exception&) {  // not enough memory for threads or tasks
  }
  exact_block_ = DeviceBlock();
  device_->count_bytes(-exact_bytes_.exchange(0));  // the host continues to rescore
}

}  // namespace glove::gpu
