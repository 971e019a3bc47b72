#include "gpu/residency/background_upload.h"

#include <unistd.h>

#include <cstdlib>
#include <set>

namespace glove::gpu {
namespace {

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

}  // namespace glove::gpu
