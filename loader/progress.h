// What long work tells about itself.
#pragma once

#include <cstdint>
#include <functional>

namespace glove {

// Called now and then while a file is read, on the calling thread only. It only reports: an InterruptCheck
// stops the work.
using ProgressCallback = std::function<void(int64_t bytes_done, int64_t bytes_total)>;

}  // namespace glove
