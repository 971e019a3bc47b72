// How many threads are worth starting.
#pragma once

#include "base/system_calls.h"

namespace glove {

// Returns the number of cores that this process may use, by its affinity and the CPU quota of its cgroup. At
// least 1.
inline int usable_cores() {
  return system_calls::usable_cores();
}

// Interprets the "threads" option: `requested` if it is positive, otherwise usable_cores().
inline int thread_count(int requested) {
  return requested > 0 ? requested : usable_cores();
}

}  // namespace glove
