// How many threads are worth starting.
#pragma once

namespace glove {

// The cores that this process may use: its affinity, and the CPU quota of its cgroup. At least 1.
int usable_cores();

// What "threads" means in every option: `requested` if it is positive, else usable_cores().
inline int thread_count(int requested) {
  return requested > 0 ? requested : usable_cores();
}

}  // namespace glove
