#include "base/io_thread.h"

#include <exception>
#include <utility>

#include "base/float_environment.h"
#include "base/require.h"
#include "base/system_calls.h"

namespace glove {

struct IoThread::Running {
  std::thread thread;
  decltype(system_calls::process_number()) process = system_calls::process_number();
  Mutex mutex;
  ConditionVariable ended;
  bool has_ended GLOVE_GUARDED_BY(mutex) = false;

  void end() {
    const Lock lock(mutex);
    has_ended = true;
    ended.notify_all();
  }
};

IoThread::IoThread() = default;

IoThread::~IoThread() {
  join();
}

bool IoThread::start(const char* name, std::function<void()> body) noexcept try {
  GLOVE_REQUIRE(!started());
  auto running = std::make_unique<Running>();
  const BlockedSignals blocked;
  running->thread = std::thread([work = std::move(body), own = running.get()] {
    const ScopedFloatEnvironment environment;
    work();
    own->end();
  });
  running_ = std::move(running);
  system_calls::name_thread(running_->thread, name);
  return true;
} catch (const std::exception&) {
  return false;
}

bool IoThread::wait_for(std::chrono::milliseconds most) {
  GLOVE_REQUIRE(started());
  const Lock lock(running_->mutex);
  if (!running_->has_ended) running_->ended.wait_for(running_->mutex, most);
  return running_->has_ended;
}

bool IoThread::is_lost() const {
  return running_->process != system_calls::process_number();
}

void IoThread::join() {
  if (!started()) return;
  if (is_lost())
    static_cast<void>(running_.release());  // nothing of it can be used
  else
    running_->thread.join();
  running_.reset();
}

}  // namespace glove
