#include "base/fork_safe_mutex.h"

#include <pthread.h>

#include <vector>

namespace glove {
namespace {

// All existing mutexes. Never freed, because mutexes of static objects unregister when the process ends.
struct Registry {
  std::mutex mutex;  // locked before any of `mutexes`, and during a fork
  std::vector<ForkSafeMutex*> mutexes;
};

Registry& registry() {
  static Registry* const instance = new Registry;
  return *instance;
}

void lock_all() {
  registry().mutex.lock();
  for (ForkSafeMutex* const mutex : registry().mutexes) mutex->lock();
}

void unlock_all() {
  for (ForkSafeMutex* const mutex : registry().mutexes) mutex->unlock();
  registry().mutex.unlock();
}

}  // namespace

ForkSafeMutex::ForkSafeMutex() {
  static const int registered = pthread_atfork(lock_all, unlock_all, unlock_all);
  (void)registered;
  const std::lock_guard lock(registry().mutex);
  registry().mutexes.push_back(this);
}

ForkSafeMutex::~ForkSafeMutex() {
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().mutexes, this);
}

}  // namespace glove
