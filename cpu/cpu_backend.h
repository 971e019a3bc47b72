// The CPU backend: a certified scan of the int8 codes on every core that the process may use.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "search/backend.h"

namespace glove {

class Settings;

struct CpuBackendOptions {
  // A name of cpu_targets(), or empty: $GLOVE_CPU_TARGET, or the fastest that this machine runs.
  std::string target;
  // Threads of a scan, the calling one included; 0: the setting "threads".
  int threads = 0;
  // Outlives the backend; nullptr: the setting is 0, all cores.
  Settings* settings = nullptr;
};

// Never null. An unknown target, or one that this machine lacks, is an error of available() and
// open(), and its message lists the targets that would do. Starts no thread: the first
// scan that is worth several does.
std::unique_ptr<Backend> make_cpu_backend(const CpuBackendOptions& options = {});

// The instruction sets that this build has kernels for and this machine runs, slowest first:
// "scalar" and some of "sse4", "avx2", "avx512", "avx512vnni", or of "neon", "neondotprod".
std::vector<std::string_view> cpu_targets();

// The target that `backend` runs, empty if it has none because of a bad name.
// REQUIRES: `backend` came from make_cpu_backend.
std::string_view cpu_target_of(const Backend& backend);

}  // namespace glove
