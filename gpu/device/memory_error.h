// Messages about device memory.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace glove::gpu {

// Returns "12 MB", rounded up.
std::string megabytes(int64_t bytes);

// The error of a model that needs `bytes` bytes of a device on which it may have `room`, which may be
// negative.
//   path    the model's
//   device  the device's name
Error no_room_error(const std::string& path, int64_t bytes, int64_t room, const std::string& device);

}  // namespace glove::gpu
