// Libraries that are opened at run time.
#include <dlfcn.h>

#include <string>

#include "base/concat.h"
#include "base/file.h"
#include "base/posix/posix.h"
#include "base/system_calls.h"

namespace glove::system_calls {

std::string library_of(const void* address) {
  Dl_info library{};
  return ::dladdr(address, &library) != 0 && library.dli_fname != nullptr ? library.dli_fname : "";
}

Result<void*> library_function(const std::string& path, const char* function) {
  void* const loaded = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const address = loaded == nullptr ? nullptr : ::dlsym(loaded, function);
  if (address != nullptr) return address;
  return make_error(ErrorCode::kUnavailable, "cannot load the library '", path, "': ", ::dlerror());
}

Result<void*> function_beside_program(const char* name, const char* function) {
  return library_function(concat(directory_of(posix::program_path()), "/", name, posix::kLibrarySuffix),
                          function);
}

}  // namespace glove::system_calls
