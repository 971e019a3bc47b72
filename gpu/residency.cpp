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

#include "model/quantize.h"

namespace glove::gpu {
namespace {

// A task for an array of the model: from its file if it has one, for reading through the map costs a fault a
// page.
CopyTask array_task(const Model& model, const FileExtent& extent, const void* memory, int64_t bytes,
                    int64_t device_offset) {
  CopyTask task;
  task.device_offset = device_offset;
  task.bytes = bytes;
  if (model.source().descriptor >= 0 && extent.bytes == bytes) {
    task.descriptor = model.source().descriptor;
    task.offset = extent.offset;
  } else {
    task.memory = static_cast<const std::byte*>(memory);
  }
  return task;
}

// The models whose thread behind may run. Never freed: threads may outlive static destruction.
struct Behind {
  std::mutex mutex;
  std::set<ResidentModel*> models;
  bool exiting = false;
  pid_t process = getpid();
};

Behind& behind() {
  static Behind* const instance = new Behind;
  return *instance;
}

std::string megabytes(int64_t bytes) {
  return std::to_string((bytes + 999'999) / 1'000'000) + " MB";
}

}  // namespace

ResidentModel::ResidentModel(Device& device, ModelPtr model)
    : device_(device), model_(std::move(model)), plan_(plan_memory(model_->words(), model_->dims())) {}

ResidentModel::~ResidentModel() {
  cancelled_ = true;
  wait();
  const std::lock_guard lock(behind().mutex);
  behind().models.erase(this);
}

void ResidentModel::wait() {
  const std::lock_guard lock(join_mutex_);
  behind_.join();
}

// At exit, before the handlers that CUDA registered when it started.
void ResidentModel::stop_all() {
  if (behind().process != getpid()) return;  // a forked child has none of the threads
  const std::lock_guard lock(behind().mutex);
  behind().exiting = true;
  for (ResidentModel* model : behind().models) model->cancelled_ = true;
  for (ResidentModel* model : behind().models) model->wait();
}

Result<std::shared_ptr<ResidentModel>> ResidentModel::upload(Device& device, ModelPtr model, int64_t budget,
                                                             const InterruptCheck& interrupted) {
  std::shared_ptr<ResidentModel> resident(new ResidentModel(device, std::move(model)));
  const MemoryPlan& plan = resident->plan_;
  if (plan.scan_bytes() > budget)
    return Error{ErrorCode::kOutOfMemory, resident->model_->path() + " needs at least " +
                                              megabytes(plan.scan_bytes()) + " of device memory, and " +
                                              megabytes(std::max<int64_t>(budget, 0)) + " of " +
                                              device.info().name + " are there for it"};
  GLOVE_ASSIGN_OR_RETURN(resident->scan_block_,
                         resident->upload_block(resident->scan_tasks(), plan.scan_bytes(), interrupted));
  if (plan.scan_bytes() + plan.exact_bytes() <= budget) resident->exact_bytes_ = plan.exact_bytes();
  return resident;
}

void ResidentModel::upload_rest() {
  if (exact_bytes_ == 0) return;
  std::call_once(rest_, [this] {
    static const bool registered = std::atexit(stop_all) == 0;
    const std::lock_guard lock(behind().mutex);
    if (!registered || behind().exiting) return;
    behind().models.insert(this);
    if (!behind_.start("glove-upload", [this] { upload_exact_arrays(); })) exact_bytes_ = 0;
  });
}

// Allocates a block of device memory and copies the tasks to it. Reads while it allocates: both take long.
Result<DeviceBlock> ResidentModel::upload_block(std::vector<CopyTask> tasks, int64_t bytes,
                                                const InterruptCheck& interrupted) {
  DeviceBlock block;  // outlives the upload, whatever ends it
  GLOVE_ASSIGN_OR_RETURN(
      const std::unique_ptr<Upload> upload,
      Upload::start(device_, std::move(tasks), upload_threads(), model_->source().path, cancelled_));
  GLOVE_ASSIGN_OR_RETURN(block, device_.allocate(bytes));
  GLOVE_RETURN_IF_ERROR(upload->copy_to(block.data(), interrupted));
  return block;
}

std::vector<CopyTask> ResidentModel::scan_tasks() const {
  static constexpr std::array<float, kTileRows> kZeros = {};
  static constexpr auto kInfinities = [] {
    std::array<float, kTileRows> values{};
    values.fill(std::numeric_limits<float>::infinity());
    return values;
  }();
  const ModelArrays& arrays = model_->arrays();
  const Model::Source& source = model_->source();
  const int64_t row_bytes = arrays.words * 4;
  const int64_t padding = tile_count(arrays.words) * kTileRows * 4 - row_bytes;
  const int64_t scales = plan_.codes;
  const int64_t residuals = scales + plan_.scales;
  return {
      array_task(*model_, source.codes, arrays.codes.data(), code_bytes(arrays.words, arrays.dims), 0),
      array_task(*model_, source.scales, arrays.scales.data(), row_bytes, scales),
      array_task(*model_, source.residuals, arrays.residuals.data(), row_bytes, residuals),
      {reinterpret_cast<const std::byte*>(kZeros.data()), -1, 0, scales + row_bytes, padding},
      {reinterpret_cast<const std::byte*>(kInfinities.data()), -1, 0, residuals + row_bytes, padding},
  };
}

std::vector<CopyTask> ResidentModel::exact_tasks() const {
  const ModelArrays& arrays = model_->arrays();
  const Model::Source& source = model_->source();
  return {
      array_task(*model_, source.norms_squared, arrays.norms_squared.data(), arrays.words * 8, 0),
      array_task(*model_, source.vectors, arrays.vectors.data(), arrays.words * arrays.dims * 4,
                 plan_.norms_squared),
  };
}

// What the thread behind does. It leaves a moment to the host, which reads rows for the first answer.
void ResidentModel::upload_exact_arrays() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  try {
    if (auto block = upload_block(exact_tasks(), plan_.exact_bytes(), {}); block.ok()) {
      exact_block_ = std::move(block).value();
      exact_ready_.store(true, std::memory_order_release);
      return;
    }
  } catch (const std::exception&) {  // no memory for threads or tasks
  }
  exact_bytes_ = 0;  // then the host goes on rescoring
}

DeviceModel ResidentModel::view() const {
  DeviceModel view;
  view.words = model_->words();
  view.dims = model_->dims();
  const std::byte* codes = scan_block_.data();
  view.codes = reinterpret_cast<const int8_t*>(codes);
  view.scales = reinterpret_cast<const float*>(codes + plan_.codes);
  view.residuals = reinterpret_cast<const float*>(codes + plan_.codes + plan_.scales);
  if (exact_ready_.load(std::memory_order_acquire)) {
    view.norms_squared = reinterpret_cast<const double*>(exact_block_.data());
    view.vectors = reinterpret_cast<const float*>(exact_block_.data() + plan_.norms_squared);
  }
  return view;
}

int64_t ResidentModel::device_bytes() const {
  return scan_block_.bytes() + exact_bytes_.load();
}

}  // namespace glove::gpu
