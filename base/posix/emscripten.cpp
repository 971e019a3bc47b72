#include <unistd.h>

#include "base/concat.h"
#include "base/posix/posix.h"
#include "base/system_calls.h"

// A WebAssembly module has one thread and no access control lists, and its files lie in memory or belong to a
// browser's origin.
namespace glove::system_calls {

uint32_t thread_number() {
  return 1;
}

int usable_cores() {
  return 1;
}

bool fill_randomly(void* buffer, size_t bytes) {
  return ::getentropy(buffer, bytes) == 0;
}

void keep_mapped(const void* /*address*/) {}

Result<void*> library_function(const std::string& path, const char* /*function*/) {
  return make_error(ErrorCode::kUnavailable, "cannot load the library '", path,
                    "': WebAssembly has no libraries");
}

}  // namespace glove::system_calls

namespace glove::posix {

bool copy_access_control_list(const std::string& /*from*/, int /*to*/) {
  return true;
}

bool map_zero_page(uintptr_t /*address*/, size_t /*bytes*/) {
  return false;
}

int64_t modified_at(const struct stat& info) {
  return nanoseconds(info.st_mtim);
}

int64_t changed_at(const struct stat& info) {
  return nanoseconds(info.st_ctim);
}

}  // namespace glove::posix
