// Any file as a launch file must be read, or end in an error with a message.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "launch/launch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int file = memfd_create("launch", 0);
  if (file < 0 || ftruncate(file, 0) != 0) std::abort();
  if (size > 0 && pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  const auto launches = glove::verify::read_spec("/proc/self/fd/" + std::to_string(file));
  if (!launches.ok() && launches.error().message.empty()) std::abort();
  return 0;
}
