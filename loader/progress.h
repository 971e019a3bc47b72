// How long-running work reports its progress.
#pragma once

#include <cstdint>
#include <functional>

namespace glove {

// Called from time to time while a file is read, only on the calling thread. It only reports; an
// InterruptCheck stops the work.
using ProgressCallback = std::function<void(int64_t bytes_done, int64_t bytes_total)>;

}  // namespace glove
