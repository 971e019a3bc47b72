#include "gpu/residency.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <set>
#include <system_error>

#include "loader/quantize.h"

namespace glove::cuda {
namespace {

// Reads or copies a part of a task into staging memory.
Status fill(const CopyTask& task, int64_t begin, int64_t bytes, std::byte* out, const std::string& path) {
  if (task.memory != nullptr) {
    std::memcpy(out, task.memory + begin, static_cast<size_t>(bytes));
    return {};
  }
  int64_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(task.descriptor, out + done, static_cast<size_t>(bytes - done),
                              static_cast<off_t>(task.offset + begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return {ErrorCode::kIo, path + ": reading at byte " + std::to_string(task.offset + begin + done) +
                                  " failed: " + std::generic_category().message(errno)};
    if (got == 0)
      return {ErrorCode::kIo, path + ": the file ends at byte " + std::to_string(task.offset + begin + done) +
                                  ", before the end of its arrays; was it truncated?"};
    done += got;
  }
  return {};
}

// The tasks as one line of bytes that threads cut pieces from.
class Work {
 public:
  Work(std::span<const CopyTask> tasks, const std::atomic<bool>& cancelled)
      : tasks_(tasks), cancelled_(cancelled) {}

  // The next piece of at most `limit` bytes, of which the first are small, so that the bus need not wait
  // until a large one is read; false when nothing is left or the work was stopped.
  bool next(int64_t limit, const CopyTask** task, int64_t* begin, int64_t* bytes) {
    const std::lock_guard lock(mutex_);
    while (position_ < tasks_.size() && offset_ == tasks_[position_].bytes) {
      ++position_;
      offset_ = 0;
    }
    if (position_ == tasks_.size() || !error_.ok() || cancelled_.load()) return false;
    if (piece_ < limit) piece_ += piece_ / 8;
    limit = std::min(limit, piece_);
    *task = &tasks_[position_];
    *begin = offset_;
    *bytes = std::min(limit, (*task)->bytes - offset_);
    offset_ += *bytes;
    return true;
  }

  void fail(Status status) {
    const std::lock_guard lock(mutex_);
    if (error_.ok()) error_ = std::move(status);
  }

  Status result() {
    const std::lock_guard lock(mutex_);
    if (error_.ok() && cancelled_.load())
      return {ErrorCode::kInterrupted, "the upload to the device was stopped"};
    return error_;
  }

 private:
  std::span<const CopyTask> tasks_;
  const std::atomic<bool>& cancelled_;
  std::mutex mutex_;
  size_t position_ = 0;
  int64_t offset_ = 0;
  int64_t piece_ = int64_t{256} << 10;
  Status error_;
};

Status pump(CopyLane& lane, Work& work, const std::string& path) {
  while (true) {
    GLOVE_ASSIGN_OR_RETURN(const std::span<std::byte> buffer, lane.next_buffer());
    const CopyTask* task = nullptr;
    int64_t begin = 0;
    int64_t bytes = 0;
    if (!work.next(static_cast<int64_t>(buffer.size()), &task, &begin, &bytes)) break;
    GLOVE_RETURN_IF_ERROR(fill(*task, begin, bytes, buffer.data(), path));
    GLOVE_RETURN_IF_ERROR(lane.copy(task->device_address + begin, bytes));
  }
  return {};
}

void run_lane(CopyLane& lane, Work& work, const std::string& path) {
  Status status = pump(lane, work, path);
  Status finished = lane.finish();  // also after an error: nobody may free what a copy still writes
  if (!status.ok()) work.fail(std::move(status));
  if (!finished.ok()) work.fail(std::move(finished));
}

// A task for an array of the model: from its file if it has one, for reading through the map costs a fault a
// page.
CopyTask array_task(const Model& model, const FileExtent& extent, const void* memory, int64_t bytes,
                    std::byte* device_address) {
  CopyTask task;
  task.device_address = device_address;
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

int upload_threads() {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores - 2, 2, 12);
}

Status copy_to_device(Device& device, std::span<const CopyTask> tasks, int threads, const std::string& path,
                      const std::atomic<bool>& cancelled) {
  GLOVE_ASSIGN_OR_RETURN(auto lanes, device.take_lanes(threads));
  Work work(tasks, cancelled);
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < lanes.size(); ++i) {
    try {
      helpers.emplace_back([&, lane = lanes[i].get()] { run_lane(*lane, work, path); });
    } catch (const std::system_error&) {
      break;  // fewer threads then
    }
  }
  run_lane(*lanes[0], work, path);
  for (std::thread& helper : helpers) helper.join();
  device.give_back_lanes(std::move(lanes));
  return work.result();
}

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
  if (behind_.joinable()) behind_.join();
}

// At exit, before the handlers that CUDA registered when it started.
void ResidentModel::stop_all() {
  if (behind().process != getpid()) return;  // a forked child has none of the threads
  const std::lock_guard lock(behind().mutex);
  behind().exiting = true;
  for (ResidentModel* model : behind().models) model->cancelled_ = true;
  for (ResidentModel* model : behind().models) model->wait();
}

Result<std::shared_ptr<ResidentModel>> ResidentModel::upload(Device& device, ModelPtr model, int64_t budget) {
  std::shared_ptr<ResidentModel> resident(new ResidentModel(device, std::move(model)));
  const MemoryPlan& plan = resident->plan_;
  if (plan.scan_bytes() > budget)
    return Error{ErrorCode::kOutOfMemory, resident->model_->path() + " needs at least " +
                                              megabytes(plan.scan_bytes()) + " of device memory, and " +
                                              megabytes(std::max<int64_t>(budget, 0)) + " of " +
                                              device.info().name + " are there for it"};
  GLOVE_ASSIGN_OR_RETURN(resident->scan_block_, device.allocate(plan.scan_bytes()));
  GLOVE_RETURN_IF_ERROR(resident->upload_scan_arrays());
  if (plan.scan_bytes() + plan.exact_bytes() <= budget) resident->exact_bytes_ = plan.exact_bytes();
  return resident;
}

void ResidentModel::upload_rest() {
  if (exact_bytes_ == 0) return;
  std::call_once(rest_, [this] {
    static const bool registered = std::atexit(stop_all) == 0;
    const std::lock_guard lock(behind().mutex);
    if (!registered || behind().exiting) return;
    try {
      behind().models.insert(this);
      behind_ = std::thread([this] { upload_exact_arrays(); });
    } catch (const std::system_error&) {
      exact_bytes_ = 0;
    }
  });
}

Status ResidentModel::upload_scan_arrays() {
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
  std::byte* codes = scan_block_.data();
  std::byte* scales = codes + plan_.codes;
  std::byte* residuals = scales + plan_.scales;
  const CopyTask tasks[] = {
      array_task(*model_, source.codes, arrays.codes.data(), code_bytes(arrays.words, arrays.dims), codes),
      array_task(*model_, source.scales, arrays.scales.data(), row_bytes, scales),
      array_task(*model_, source.residuals, arrays.residuals.data(), row_bytes, residuals),
      {reinterpret_cast<const std::byte*>(kZeros.data()), -1, 0, scales + row_bytes, padding},
      {reinterpret_cast<const std::byte*>(kInfinities.data()), -1, 0, residuals + row_bytes, padding},
  };
  return copy_to_device(device_, tasks, upload_threads(), source.path, cancelled_);
}

void ResidentModel::upload_exact_arrays() {
  auto allocated = device_.allocate(plan_.exact_bytes());  // here, for it takes milliseconds
  if (!allocated.ok()) {
    exact_bytes_ = 0;
    return;
  }
  exact_block_ = std::move(allocated).value();
  const ModelArrays& arrays = model_->arrays();
  const Model::Source& source = model_->source();
  std::byte* norms = exact_block_.data();
  const CopyTask tasks[] = {
      array_task(*model_, source.norms_squared, arrays.norms_squared.data(), arrays.words * 8, norms),
      array_task(*model_, source.vectors, arrays.vectors.data(), arrays.words * arrays.dims * 4,
                 norms + plan_.norms_squared),
  };
  try {
    exact_ready_ = copy_to_device(device_, tasks, upload_threads(), source.path, cancelled_).ok();
  } catch (const std::bad_alloc&) {  // then the host goes on rescoring
  }
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

}  // namespace glove::cuda
