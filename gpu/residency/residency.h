// Uploads a model to device memory and keeps it there.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/io_thread.h"
#include "base/mutex.h"
#include "base/status.h"
#include "gpu/device/device.h"
#include "gpu/layout/plan.h"
#include "gpu/residency/upload.h"
#include "model/model.h"

namespace glove::gpu {

// One model in the memory of one device. Thread-safe once created.
class ResidentModel {
 public:
  // Copies the 8-bit codes, their scales and residuals before it returns. If the vectors and norms fit into
  // `budget` (bytes) as well, upload_rest() will copy them, and with them the 4-bit codes if the model has
  // such codes and they and the packed rows fit too. Returns kOutOfMemory, with the numbers in the message,
  // if the device or the budget has too little room, and kInterrupted if `interrupted` stopped it. After an
  // error no device memory stays allocated.
  static Result<std::shared_ptr<ResidentModel>> upload(Device& device, ModelPtr model, int64_t budget,
                                                       const InterruptCheck& interrupted);

  // Cancels and joins the background upload, which stops at the next block boundary. REQUIRES: no search uses
  // parts(). When the process exits, background uploads are stopped before CUDA releases its memory.
  ~ResidentModel();
  ResidentModel(const ResidentModel&) = delete;
  ResidentModel& operator=(const ResidentModel&) = delete;

  // Copies vectors, norms and 4-bit codes, as far as they fit, on a background thread. Later calls do
  // nothing. Called after the first search, which would otherwise have to wait for it. A failure costs only
  // speed.
  void upload_rest();

  // Returns what a search may read now: each part of the model, with its vectors once all of them are
  // uploaded.
  std::span<const DevicePart> parts() const;
  // Whether the vectors are on the device or may still come there. REQUIRES: upload_rest() was called.
  bool expects_vectors() const { return exact_bytes_ != 0; }
  int64_t device_bytes() const;
  const ModelPtr& model() const { return model_; }

  // Waits until the background upload has finished. For tests and timings.
  void wait();

 private:
  ResidentModel(Device& device, ModelPtr model);
  Result<DeviceBlock> upload_block(std::vector<CopyTask> tasks, int64_t bytes,
                                   const InterruptCheck& interrupted);
  Status upload_levels(const InterruptCheck& interrupted);
  Status upload_exact_arrays();
  void upload_in_background();
  static void stop_all();

  Device& device_;
  ModelPtr model_;
  std::vector<MemoryPlan> plans_;  // one per part
  DeviceBlock scan_block_;
  std::vector<DevicePart> scan_parts_;  // without vectors
  // These belong to the background upload until exact_ready_ is set.
  bool with_coarse_ = false;  // whether exact_block_ includes the 4-bit codes and the packed rows
  DeviceBlock exact_block_;
  std::vector<DevicePart> exact_parts_;  // with vectors
  std::atomic<int64_t> exact_bytes_{0};  // of exact_block_, valid while it is being filled
  std::atomic<bool> cancelled_{false};
  std::once_flag rest_;
  Mutex join_mutex_;  // held while background_upload_ is joined
  std::atomic<bool> exact_ready_{false};
  IoThread background_upload_;
};

}  // namespace glove::gpu
