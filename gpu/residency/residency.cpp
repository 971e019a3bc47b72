#include "gpu/residency/residency.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "gpu/device/memory_error.h"
#include "gpu/residency/copy_tasks.h"

namespace glove::gpu {
namespace {

// Lays out the arrays of a model's parts in a block of device memory, one after another, each with the space
// that was planned for it. Each add returns where its array begins.
class BlockFiller {
 public:
  explicit BlockFiller(const Model& model) : tasks_(model) {}

  template <class T>
  int64_t add(std::span<const T> array, int64_t planned) {
    tasks_.add(array, end_);
    return add_empty(planned);
  }

  struct LevelOffsets {
    int64_t codes, scales, residuals;
  };
  LevelOffsets add_level(const CodeLevel& level, int64_t codes, int64_t scales, int64_t residuals) {
    LevelOffsets offsets{};
    offsets.codes = add(level.codes, codes);
    tasks_.add_scales(level.scales, end_);
    offsets.scales = add_empty(scales);
    tasks_.add_residuals(level.residuals, end_);
    offsets.residuals = add_empty(residuals);
    return offsets;
  }

  // Reserves `planned` bytes that the device fills.
  int64_t add_empty(int64_t planned) { return std::exchange(end_, end_ + planned); }

  int64_t bytes() const { return end_; }
  std::vector<CopyTask> take_tasks() { return tasks_.take(); }

 private:
  CopyTasks tasks_;
  int64_t end_ = 0;
};

// The models that may have a background upload. Never freed: threads may outlive static destruction.
struct BackgroundUploads {
  Mutex mutex;
  std::set<ResidentModel*> models GLOVE_GUARDED_BY(mutex);
  bool exiting GLOVE_GUARDED_BY(mutex) = false;
  pid_t process = getpid();
};

BackgroundUploads& background_uploads() {
  static BackgroundUploads* const instance = new BackgroundUploads;
  return *instance;
}

DeviceLevel level_at(int bits, const std::byte* block, const BlockFiller::LevelOffsets& offsets) {
  return {bits, reinterpret_cast<const int8_t*>(block + offsets.codes),
          reinterpret_cast<const float*>(block + offsets.scales),
          reinterpret_cast<const float*>(block + offsets.residuals)};
}

}  // namespace

ResidentModel::ResidentModel(Device& device, ModelPtr model) : device_(device), model_(std::move(model)) {
  for (const ModelPart& part : model_->parts()) plans_.push_back(plan_memory(part.rows, part.dims));
}

ResidentModel::~ResidentModel() {
  cancelled_ = true;
  wait();
  const Lock lock(background_uploads().mutex);
  background_uploads().models.erase(this);
}

void ResidentModel::wait() {
  const Lock lock(join_mutex_);
  background_upload_.join();
}

// Runs at exit, before the handlers that CUDA registered when it started.
void ResidentModel::stop_all() {
  if (background_uploads().process != getpid()) return;  // a forked child has none of these threads
  const Lock lock(background_uploads().mutex);
  background_uploads().exiting = true;
  for (ResidentModel* model : background_uploads().models) model->cancelled_ = true;
  for (ResidentModel* model : background_uploads().models) model->wait();
}

Result<std::shared_ptr<ResidentModel>> ResidentModel::upload(Device& device, ModelPtr model, int64_t budget,
                                                             const InterruptCheck& interrupted) {
  std::shared_ptr<ResidentModel> resident(new ResidentModel(device, std::move(model)));
  int64_t scan_bytes = 0;
  int64_t exact_bytes = 0;
  int64_t coarse_bytes = 0;
  for (const MemoryPlan& plan : resident->plans_) {
    scan_bytes += plan.scan_bytes();
    exact_bytes += plan.exact_bytes();
    coarse_bytes += plan.coarse_bytes();
  }
  if (scan_bytes > budget)
    return no_room_error(resident->model_->path(), scan_bytes, budget, device.info().name);
  GLOVE_RETURN_IF_ERROR(resident->upload_levels(interrupted));
  if (scan_bytes + exact_bytes > budget) return resident;
  const auto uses_nibbles = [&device](const ModelPart& part) {
    return part.has_level(4) && coarse_worthwhile(part.rows, part.dims, 1, device.info().coarse_from);
  };
  resident->with_coarse_ = scan_bytes + exact_bytes + coarse_bytes <= budget &&
                           std::ranges::all_of(resident->model_->parts(), uses_nibbles);
  resident->exact_bytes_ = exact_bytes + (resident->with_coarse_ ? coarse_bytes : 0);
  return resident;
}

void ResidentModel::upload_rest() {
  if (exact_bytes_ == 0) return;
  std::call_once(rest_, [this] {
    static const bool registered = std::atexit(stop_all) == 0;
    const Lock lock(background_uploads().mutex);
    const bool may_start = registered && !background_uploads().exiting;
    if (may_start) background_uploads().models.insert(this);
    if (!may_start || !background_upload_.start("glove-upload", [this] { upload_in_background(); }))
      exact_bytes_ = 0;
  });
}

// Allocates a block of device memory and copies the tasks to it. Reads while it allocates, because both take
// long.
Result<DeviceBlock> ResidentModel::upload_block(std::vector<CopyTask> tasks, int64_t bytes,
                                                const InterruptCheck& interrupted) {
  DeviceBlock block;  // destroyed after the upload on every path
  GLOVE_ASSIGN_OR_RETURN(
      const std::unique_ptr<Upload> upload,
      Upload::start(device_, std::move(tasks), upload_threads(), model_->source().path, cancelled_));
  GLOVE_ASSIGN_OR_RETURN(block, device_.allocate(bytes));
  GLOVE_RETURN_IF_ERROR(upload->copy_to(block.data(), interrupted));
  return block;
}

// Copies what a scan reads of each part.
Status ResidentModel::upload_levels(const InterruptCheck& interrupted) {
  std::vector<BlockFiller::LevelOffsets> offsets;
  BlockFiller filler(*model_);
  for (size_t i = 0; i < plans_.size(); ++i)
    offsets.push_back(filler.add_level(model_->parts()[i].level(8), plans_[i].codes, plans_[i].scales,
                                       plans_[i].residuals));
  GLOVE_ASSIGN_OR_RETURN(scan_block_, upload_block(filler.take_tasks(), filler.bytes(), interrupted));
  for (size_t i = 0; i < plans_.size(); ++i) {
    const ModelPart& part = model_->parts()[i];
    DevicePart& on_device = scan_parts_.emplace_back();
    on_device.first_row = part.first_row;
    on_device.rows = part.rows;
    on_device.dims = static_cast<int32_t>(part.dims);
    on_device.level = level_at(8, scan_block_.data(), offsets[i]);
  }
  return {};
}

// Copies the arrays that spare the host the rescoring and, if they fit, those of the 4-bit scan.
Status ResidentModel::upload_exact_arrays() {
  struct ExactOffsets {
    int64_t norms_squared, vectors, packed_rows;
    BlockFiller::LevelOffsets coarse;
  };
  std::vector<ExactOffsets> offsets;
  BlockFiller filler(*model_);
  for (size_t i = 0; i < plans_.size(); ++i) {
    const ModelPart& part = model_->parts()[i];
    const MemoryPlan& plan = plans_[i];
    ExactOffsets& at = offsets.emplace_back();
    at.norms_squared = filler.add(part.norms_squared, plan.norms_squared);
    at.vectors = filler.add(part.vectors, plan.vectors);
    if (!with_coarse_) continue;
    at.coarse = filler.add_level(part.level(4), plan.coarse_codes, plan.coarse_scales, plan.coarse_residuals);
    at.packed_rows = filler.add_empty(plan.packed_rows);
  }
  GLOVE_ASSIGN_OR_RETURN(exact_block_, upload_block(filler.take_tasks(), filler.bytes(), {}));
  exact_parts_ = scan_parts_;
  std::byte* const data = exact_block_.data();
  for (size_t i = 0; i < plans_.size(); ++i) {
    DevicePart& part = exact_parts_[i];
    part.norms_squared = reinterpret_cast<const double*>(data + offsets[i].norms_squared);
    part.vectors = reinterpret_cast<const float*>(data + offsets[i].vectors);
    if (!with_coarse_) continue;
    GLOVE_RETURN_IF_ERROR(device_.pack_rows(part, data + offsets[i].packed_rows));
    part.coarse = level_at(4, data, offsets[i].coarse);
    part.packed_rows = data + offsets[i].packed_rows;
  }
  return {};
}

// The body of the background upload. Starts with a short delay, because the host is reading rows for the
// first answer.
void ResidentModel::upload_in_background() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  try {
    if (upload_exact_arrays().ok()) {
      exact_ready_.store(true, std::memory_order_release);
      return;
    }
  } catch (const std::exception&) {  // not enough memory for threads or tasks
  }
  exact_block_ = DeviceBlock();
  exact_bytes_ = 0;  // the host continues to rescore
}

std::span<const DevicePart> ResidentModel::parts() const {
  return exact_ready_.load(std::memory_order_acquire) ? exact_parts_ : scan_parts_;
}

int64_t ResidentModel::device_bytes() const {
  return scan_block_.bytes() + exact_bytes_.load();
}

}  // namespace glove::gpu
