#include "base/mutex.h"

#include <vector>

#include "base/system_calls.h"

namespace glove {
namespace {

// All existing mutexes. Never freed, because mutexes of static objects unregister when the process ends.
struct Registry {
  Mutex mutex;  // locked before any of `mutexes`, and during a fork
  std::vector<ForkSafeMutex*> mutexes GLOVE_GUARDED_BY(mutex);
};

Registry& registry() {
  static Registry* const instance = new Registry;
  return *instance;
}

// Not checked: the lock is held from one function to the other, over the fork.
void lock_all() GLOVE_NOT_CHECKED {
  registry().mutex.lock();
  for (ForkSafeMutex* const mutex : registry().mutexes) mutex->lock();
}

void unlock_all() GLOVE_NOT_CHECKED {
  for (ForkSafeMutex* const mutex : registry().mutexes) mutex->unlock();
  registry().mutex.unlock();
}

}  // namespace

ForkSafeMutex::ForkSafeMutex() {
  static const bool registered = [] {
    system_calls::at_fork(lock_all, unlock_all, unlock_all);
    return true;
  }();
  (void)registered;
  const Lock lock(registry().mutex);
  registry().mutexes.push_back(this);
}

ForkSafeMutex::~ForkSafeMutex() {
  const Lock lock(registry().mutex);
  std::erase(registry().mutexes, this);
}

}  // namespace glove
