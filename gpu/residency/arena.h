// Device memory for the parts of a model, or for the segments of a live index (live/segment.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/io_thread.h"
#include "base/mutex.h"
#include "base/status.h"
#include "gpu/layout/plan.h"
#include "gpu/layout/query_codes.h"
#include "gpu/residency/shared_device.h"
#include "gpu/residency/upload.h"
#include "model/model.h"

namespace glove::gpu {

// A thread that uploads what searches can do without for now. When the process exits, all of these are
// cancelled and joined before CUDA releases its memory. Thread-safe.
class BackgroundUpload {
 public:
  BackgroundUpload() = default;
  // Cancels the work and waits for it.
  ~BackgroundUpload();

  // Runs one of these at the first call, and does nothing later: `work`, which must not throw, on a thread of
  // its own, or `refused` on the calling thread if the system has no more threads or the process is exiting.
  void start(const std::function<void()>& work, const std::function<void()>& refused);

  // Set once the work must stop.
  const std::atomic<bool>& cancelled() const { return cancelled_; }

  // Waits until the work has ended, if it was started.
  void wait();

 private:
  static void stop_all();

  std::atomic<bool> cancelled_{false};
  std::once_flag once_;
  Mutex join_mutex_;  // held while thread_ is joined
  IoThread thread_;
};

// Returns how many tiles the parts of a model have, each padded to whole tiles.
int64_t tiles_of_parts(const Model& model);

// Holds parts of models in the memory of one device, each in whole tiles, and keeps the models alive. The
// arena of a model with vectors never grows, and each part is searched by a launch of its own. That of a live
// index, whose model has no vectors, takes more segments: a sync adds its own by one small copy, and one scan
// reads them all as if they were one part. A part is recognised by the address of its codes and their number.
//
// Searches may use an arena at any time: what they read never changes. The memory that it has or will have
// counts as used by models until its destruction begins.
class Arena {
 public:
  // Copies the parts' 8-bit codes, scales and residuals. If the vectors and norms fit into `room` (bytes) as
  // well, upload_rest() will copy them, and with them the 4-bit codes if the model has such codes and they
  // and the packed rows fit too; not if the codes are shifted, because devices compute cosines only. Without
  // vectors, the arena has room for a quarter more if that fits. Returns kOutOfMemory, with the numbers in
  // the message, if the device or `room` is too small, and kInterrupted if `interrupted` stopped it. After an
  // error no device memory stays allocated. REQUIRES: the caller is within device->in_turn().
  static Result<std::shared_ptr<Arena>> make(const std::shared_ptr<SharedDevice>& device,
                                             const ModelPtr& model, int64_t room,
                                             const InterruptCheck& interrupted);

  // Waits until the background upload has stopped, at the next block boundary. REQUIRES: no search uses it.
  ~Arena();

  const std::shared_ptr<SharedDevice>& device() const { return device_; }
  int64_t device_bytes() const { return scan_bytes_ + exact_bytes_.load(); }

  // Of a model with vectors:

  const ModelPtr& model() const { return models_.front(); }

  // Copies vectors, norms and 4-bit codes, as far as they fit, on a background thread. Later calls do
  // nothing. Called after the first search, which would otherwise have to wait for it. A failure costs only
  // speed.
  void upload_rest();

  // Returns what a search may read now: each part of the model, with its vectors once all of them are
  // uploaded.
  std::span<const DevicePart> parts() const {
    return exact_ready_.load(std::memory_order_acquire) ? exact_parts_ : scan_parts_;
  }
  // Whether the vectors are on the device or may still come there. REQUIRES: upload_rest() was called.
  bool expects_vectors() const { return exact_bytes_ != 0; }

  // Waits until the background upload has finished. For tests and timings.
  void wait() { background_.wait(); }

  // Of a live index. REQUIRES: the caller is within device()->in_turn().

  // Whether it can hold the parts of this model and is worth it: part of the model is here, the rest fits
  // behind it, and at most a quarter of what a scan would then read belongs to other models.
  bool suits(const Model& model) const;

  // Copies the parts of the model that are not here yet. After an error none of them is.
  Status add(const ModelPtr& model, const InterruptCheck& interrupted);

  // Returns the first tile of each part of a model. REQUIRES: it was added.
  std::vector<int64_t> tiles_of(const Model& model) const;

  // Returns the first `tiles` tiles as one part, whose rows include padding.
  DevicePart first_tiles(int64_t tiles) const { return part_of(stretches_.front(), tiles * kTileRows); }

 private:
  // Consecutive tiles that a launch reads as one part.
  struct Stretch {
    LevelSlots level;
    int64_t tiles = 0;
    int64_t end = 0;  // tiles that are filled
  };
  struct Place {
    const int8_t* codes;
    int64_t rows;
    int64_t first_tile;  // of its stretch
  };

  Arena(std::shared_ptr<SharedDevice> device, int64_t dims, std::vector<Stretch> stretches,
        int64_t scan_bytes);
  std::optional<Place> find(const ModelPart& part) const;
  DevicePart part_of(const Stretch& stretch, int64_t rows) const;
  Status copy(std::vector<CopyTask> tasks, const Model& model, DeviceBlock& block, int64_t bytes,
              const InterruptCheck& interrupted);
  void plan_rest(int64_t room);
  Status upload_exact_arrays();
  void upload_in_background();

  const std::shared_ptr<SharedDevice> device_;
  const int64_t dims_;
  const int64_t scan_bytes_;  // of scan_block_
  DeviceBlock scan_block_;
  std::vector<Stretch> stretches_;
  std::vector<Place> places_;
  std::vector<ModelPtr> models_;        // keep the codes' addresses from being used for anything else
  DeviceCoding coding_;                 // of a model with vectors, if its codes are shifted
  std::vector<DevicePart> scan_parts_;  // without vectors
  // These belong to the background upload until exact_ready_ is set.
  bool with_coarse_ = false;  // whether exact_block_ includes the 4-bit codes and the packed rows
  DeviceBlock exact_block_;
  std::vector<DevicePart> exact_parts_;  // with vectors
  std::atomic<int64_t> exact_bytes_{0};  // of exact_block_, valid while it is being filled
  std::atomic<bool> exact_ready_{false};
  BackgroundUpload background_;  // the first to be destroyed
};

}  // namespace glove::gpu
