#include "gpu/device/memory_error.h"

#include <algorithm>

namespace glove::gpu {

std::string megabytes(int64_t bytes) {
  return std::to_string((bytes + 999'999) / 1'000'000) + " MB";
}

Error no_room_error(const std::string& path, int64_t bytes, int64_t room, const std::string& device) {
  return {ErrorCode::kOutOfMemory, path + " needs at least " + megabytes(bytes) + " of device memory, and " +
                                       megabytes(std::max<int64_t>(room, 0)) + " of " + device +
                                       " are there for it"};
}

}  // namespace glove::gpu
