#include "base/mutex.h"

#include <vector>

#include "base/system_calls.h"

namespace glove {
namespace {

// All existing mutexes. Those of static objects unregister when the process ends.
struct Registry {
  Mutex mutex;  // locked before any of `mutexes`, and during a fork
  std::vector<ForkSafeMutex*> mutexes GLOVE_GUARDED_BY(mutex);
};

// Not checked: the lock is held from one function to the other, over the fork.
void lock_all() GLOVE_NOT_CHECKED {
  never_freed<Registry>().mutex.lock();
  for (ForkSafeMutex* const mutex : never_freed<Registry>().mutexes) mutex->lock();
}

void unlock_all() GLOVE_NOT_CHECKED {
  for (ForkSafeMutex* const mutex : never_freed<Registry>().mutexes) mutex->unlock();
  never_freed<Registry>().mutex.unlock();
}

}  // namespace

ForkSafeMutex::ForkSafeMutex() {
  static const bool registered = [] {
    system_calls::at_fork(lock_all, unlock_all, unlock_all);
    return true;
  }();
  (void)registered;
  const Lock lock(never_freed<Registry>().mutex);
  never_freed<Registry>().mutexes.push_back(this);
}

ForkSafeMutex::~ForkSafeMutex() {
  const Lock lock(never_freed<Registry>().mutex);
  std::erase(never_freed<Registry>().mutexes, this);
}

}  // namespace glove
