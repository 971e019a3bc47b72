// How many threads are worth starting.
#pragma once

namespace glove {

// The cores that this process may use: its affinity, and the CPU quota of its cgroup. At least 1.
int usable_cores();

}  // namespace glove
