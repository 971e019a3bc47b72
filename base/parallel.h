// A loop cut into one contiguous piece a thread.
#pragma once

#include <cstdint>
#include <functional>

namespace glove {

// Calls body(first, last) for disjoint pieces that cover [0, count), on up to `threads` threads
// (0 = usable_cores()), the caller's among them, and returns when all are done. `body` must not throw.
// If the system gives no more threads, the caller does their share.
void run_in_parallel(int threads, int64_t count, const std::function<void(int64_t, int64_t)>& body);

}  // namespace glove
