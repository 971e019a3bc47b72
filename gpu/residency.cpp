#include "gpu/residency.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "model/quantize.h"

namespace glove::gpu {
namespace {

// Lays out the arrays of a part in a block of device memory, one after another, each padded as planned.
class BlockFiller {
 public:
  explicit BlockFiller(const Model& model) : model_(model) {}

  // Reserves `planned` bytes for an array and queues its bytes. They are read from the array's file if it has
  // one, because reading through the map costs one page fault per page. Returns the array's offset in the
  // block.
  template <class T>
  int64_t add(std::span<const T> array, int64_t planned) {
    const auto bytes = std::as_bytes(array);
    CopyTask task;
    task.device_offset = end_;
    task.bytes = static_cast<int64_t>(bytes.size());
    if (const auto place = model_.place_in_file(bytes)) {
      task.descriptor = place->descriptor;
      task.offset = place->offset;
    } else {
      task.memory = bytes.data();
    }
    tasks_.push_back(task);
    return std::exchange(end_, end_ + planned);
  }

  // The same for one number per row, with `padding` for the rows that complete the last tile.
  int64_t add_padded(std::span<const float> array, std::span<const float> padding, int64_t planned) {
    const int64_t offset = add(array, planned);
    const size_t missing = (kTileRows - array.size() % kTileRows) % kTileRows;
    const auto bytes = std::as_bytes(padding.first(missing));
    tasks_.push_back({bytes.data(), -1, 0, offset + static_cast<int64_t>(array.size_bytes()),
                      static_cast<int64_t>(bytes.size())});
    return offset;
  }

  int64_t bytes() const { return end_; }
  std::vector<CopyTask> take_tasks() { return std::move(tasks_); }

 private:
  const Model& model_;
  std::vector<CopyTask> tasks_;
  int64_t end_ = 0;
};

// The models that may have a background upload. Never freed: threads may outlive static destruction.
struct BackgroundUploads {
  std::mutex mutex;
  std::set<ResidentModel*> models;
  bool exiting = false;
  pid_t process = getpid();
};

BackgroundUploads& background_uploads() {
  static BackgroundUploads* const instance = new BackgroundUploads;
  return *instance;
}

std::string megabytes(int64_t bytes) {
  return std::to_string((bytes + 999'999) / 1'000'000) + " MB";
}

}  // namespace

ResidentModel::ResidentModel(Device& device, ModelPtr model) : device_(device), model_(std::move(model)) {
  for (const ModelPart& part : model_->parts()) plans_.push_back(plan_memory(part.rows, part.dims));
}

ResidentModel::~ResidentModel() {
  cancelled_ = true;
  wait();
  const std::lock_guard lock(background_uploads().mutex);
  background_uploads().models.erase(this);
}

void ResidentModel::wait() {
  const std::lock_guard lock(join_mutex_);
  background_upload_.join();
}

// Runs at exit, before the handlers that CUDA registered when it started.
void ResidentModel::stop_all() {
  if (background_uploads().process != getpid()) return;  // a forked child has none of these threads
  const std::lock_guard lock(background_uploads().mutex);
  background_uploads().exiting = true;
  for (ResidentModel* model : background_uploads().models) model->cancelled_ = true;
  for (ResidentModel* model : background_uploads().models) model->wait();
}

Result<std::shared_ptr<ResidentModel>> ResidentModel::upload(Device& device, ModelPtr model, int64_t budget,
                                                             const InterruptCheck& interrupted) {
  std::shared_ptr<ResidentModel> resident(new ResidentModel(device, std::move(model)));
  int64_t scan_bytes = 0;
  int64_t exact_bytes = 0;
  for (const MemoryPlan& plan : resident->plans_) {
    scan_bytes += plan.scan_bytes();
    exact_bytes += plan.exact_bytes();
  }
  if (scan_bytes > budget)
    return Error{ErrorCode::kOutOfMemory, resident->model_->path() + " needs at least " +
                                              megabytes(scan_bytes) + " of device memory, and " +
                                              megabytes(std::max<int64_t>(budget, 0)) + " of " +
                                              device.info().name + " are there for it"};
  GLOVE_RETURN_IF_ERROR(resident->upload_levels(interrupted));
  if (scan_bytes + exact_bytes <= budget) resident->exact_bytes_ = exact_bytes;
  return resident;
}

void ResidentModel::upload_rest() {
  if (exact_bytes_ == 0) return;
  std::call_once(rest_, [this] {
    static const bool registered = std::atexit(stop_all) == 0;
    const std::lock_guard lock(background_uploads().mutex);
    if (!registered || background_uploads().exiting) return;
    background_uploads().models.insert(this);
    if (!background_upload_.start("glove-upload", [this] { upload_exact_arrays(); })) exact_bytes_ = 0;
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
  static constexpr std::array<float, kTileRows> kZeros = {};
  static constexpr auto kInfinities = [] {
    std::array<float, kTileRows> values{};
    values.fill(std::numeric_limits<float>::infinity());
    return values;
  }();
  struct LevelOffsets {
    int64_t codes, scales, residuals;
  };
  std::vector<LevelOffsets> offsets;
  BlockFiller filler(*model_);
  for (size_t i = 0; i < plans_.size(); ++i) {
    const CodeLevel& level = model_->parts()[i].level(8);
    const int64_t codes = filler.add(level.codes, plans_[i].codes);
    const int64_t scales = filler.add_padded(level.scales, kZeros, plans_[i].scales);
    const int64_t residuals = filler.add_padded(level.residuals, kInfinities, plans_[i].residuals);
    offsets.push_back({codes, scales, residuals});
  }
  GLOVE_ASSIGN_OR_RETURN(scan_block_, upload_block(filler.take_tasks(), filler.bytes(), interrupted));
  for (size_t i = 0; i < plans_.size(); ++i) {
    const ModelPart& part = model_->parts()[i];
    DevicePart& on_device = scan_parts_.emplace_back();
    on_device.first_row = part.first_row;
    on_device.rows = part.rows;
    on_device.dims = static_cast<int32_t>(part.dims);
    on_device.level = {part.level(8).bits,
                       reinterpret_cast<const int8_t*>(scan_block_.data() + offsets[i].codes),
                       reinterpret_cast<const float*>(scan_block_.data() + offsets[i].scales),
                       reinterpret_cast<const float*>(scan_block_.data() + offsets[i].residuals)};
  }
  return {};
}

// The body of the background upload. Starts with a short delay, because the host is reading rows for the
// first answer.
void ResidentModel::upload_exact_arrays() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  try {
    struct ExactOffsets {
      int64_t norms_squared, vectors;
    };
    std::vector<ExactOffsets> offsets;
    BlockFiller filler(*model_);
    for (size_t i = 0; i < plans_.size(); ++i) {
      const ModelPart& part = model_->parts()[i];
      const int64_t norms_squared = filler.add(part.norms_squared, plans_[i].norms_squared);
      offsets.push_back({norms_squared, filler.add(part.vectors, plans_[i].vectors)});
    }
    if (auto block = upload_block(filler.take_tasks(), filler.bytes(), {}); block.ok()) {
      exact_block_ = std::move(block).value();
      exact_parts_ = scan_parts_;
      for (size_t i = 0; i < plans_.size(); ++i) {
        const std::byte* const data = exact_block_.data();
        exact_parts_[i].norms_squared = reinterpret_cast<const double*>(data + offsets[i].norms_squared);
        exact_parts_[i].vectors = reinterpret_cast<const float*>(data + offsets[i].vectors);
      }
      exact_ready_.store(true, std::memory_order_release);
      return;
    }
  } catch (const std::exception&) {  // not enough memory for threads or tasks
  }
  exact_bytes_ = 0;  // the host continues to rescore
}

std::span<const DevicePart> ResidentModel::parts() const {
  return exact_ready_.load(std::memory_order_acquire) ? exact_parts_ : scan_parts_;
}

int64_t ResidentModel::device_bytes() const {
  return scan_block_.bytes() + exact_bytes_.load();
}

}  // namespace glove::gpu
