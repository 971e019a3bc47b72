// How a caller watches, and stops, the reading of a file.
#pragma once

#include <cstdint>
#include <functional>

namespace glove {

// Called now and then while a file is read, from the calling thread only. Returns false to
// stop, and the reader then fails with kInterrupted.
using ProgressCallback = std::function<bool(int64_t bytes_done, int64_t bytes_total)>;

}  // namespace glove
