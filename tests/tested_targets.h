// The instruction sets with which tests compute.
#pragma once

#include <string_view>
#include <vector>

#include "cpu/cpu_backend.h"

namespace glove::test {

// All that this machine can run; under the thread sanitizer only the fastest, because they share all code
// that knows of threads.
inline std::vector<std::string_view> tested_targets() {
#if defined(__SANITIZE_THREAD__)
  return {cpu_targets().back()};
#else
  return cpu_targets();
#endif
}

}  // namespace glove::test
