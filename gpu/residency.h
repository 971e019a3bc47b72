// Moving a model into device memory and keeping it there.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/io_thread.h"
#include "base/status.h"
#include "gpu/device.h"
#include "gpu/plan.h"
#include "gpu/upload.h"
#include "model/model.h"

namespace glove::gpu {

// One model in the memory of one device. Thread-safe once made.
class ResidentModel {
 public:
  // Copies codes, scales and residuals before it returns. upload_rest() brings the vectors and norms, if they
  // fit into `budget` (bytes) as well. kOutOfMemory if the device or the budget has no room, and the message
  // has the numbers; kInterrupted if `interrupted` said so; nothing stays behind.
  static Result<std::shared_ptr<ResidentModel>> upload(Device& device, ModelPtr model, int64_t budget,
                                                       const InterruptCheck& interrupted);

  // Waits for the thread behind, which stops at its next block. REQUIRES: no search uses view(). When the
  // process exits, the threads behind are stopped before CUDA takes its memory down.
  ~ResidentModel();
  ResidentModel(const ResidentModel&) = delete;
  ResidentModel& operator=(const ResidentModel&) = delete;

  // Copies vectors and norms, if they fit, on a thread of its own; the second call does nothing. Called after
  // the first search, which would otherwise wait for it. A failure costs nothing but speed.
  void upload_rest();

  // What a search may read now.
  DeviceModel view() const;
  int64_t device_bytes() const;
  const ModelPtr& model() const { return model_; }

  // Waits until the thread behind is done; for tests and timings.
  void wait();

 private:
  ResidentModel(Device& device, ModelPtr model);
  Result<DeviceBlock> upload_block(std::vector<CopyTask> tasks, int64_t bytes,
                                   const InterruptCheck& interrupted);
  std::vector<CopyTask> scan_tasks() const;
  std::vector<CopyTask> exact_tasks() const;
  void upload_exact_arrays();
  static void stop_all();

  Device& device_;
  ModelPtr model_;
  MemoryPlan plan_;
  DeviceBlock scan_block_;
  DeviceBlock exact_block_;
  std::atomic<int64_t> exact_bytes_{0};  // exact_block_ itself belongs to the thread behind
  std::atomic<bool> cancelled_{false};
  std::once_flag rest_;
  std::mutex join_mutex_;  // held while behind_ is joined
  std::atomic<bool> exact_ready_{false};
  IoThread behind_;
};

}  // namespace glove::gpu
