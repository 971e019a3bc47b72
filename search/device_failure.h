// Tells failures of a device from those that any other device would have, too.
#pragma once

#include "base/status.h"

namespace glove {

// Returns true if the device is lost, cannot be used or lacks memory, so that another one may succeed.
inline bool is_device_failure(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kOutOfMemory;
}

}  // namespace glove
