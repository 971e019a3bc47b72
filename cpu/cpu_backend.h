// The CPU backend: a certified scan of the codes on every core that the process may use.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/search/level.h"
#include "search/backend.h"

namespace glove {

class Settings;

// Which kernels the backend uses, and how.
struct CpuBackendOptions {
  // A name from cpu_targets(). Empty means $GLOVE_CPU_TARGET or, if that is not set, the fastest target of
  // this machine.
  std::string target;
  // The threads of a scan, including the calling one. 0 means the setting "threads".
  int threads = 0;
  // Must outlive the backend. With nullptr the setting counts as 0: all cores.
  Settings* settings = nullptr;
  // $GLOVE_CPU_FIRST_LEVEL ("coarsest" or "codes8") replaces kFastest.
  FirstLevel first_level = FirstLevel::kFastest;

  // Returns the number of threads of a scan now, at least 1, or the error of the setting.
  Result<int> thread_count() const;
};

// Never returns null. If the target is unknown or this machine cannot run it, available() and open() return
// an error that lists the usable targets. Starts no thread: the first scan that benefits from several does.
std::unique_ptr<Backend> make_cpu_backend(const CpuBackendOptions& options = {});

// Returns the instruction sets that this build has kernels for and this machine can run, slowest first:
// "scalar" and some of "sse4", "avx2", "avx512", "avx512vnni" and "amx", or of "neon" and "neondotprod".
std::vector<std::string_view> cpu_targets();

}  // namespace glove
