// What only programs need.
#include <dlfcn.h>

#include <string>

#include "base/concat.h"
#include "base/file.h"
#include "base/posix/posix.h"
#include "base/system_calls.h"

namespace glove::system_calls {

Result<void*> function_beside_program(const char* name, const char* function) {
  const std::string path = concat(directory_of(posix::program_path()), "/", name, posix::kLibrarySuffix);
  void* const loaded = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const address = loaded == nullptr ? nullptr : ::dlsym(loaded, function);
  if (address != nullptr) return address;
  return Error{ErrorCode::kUnavailable, concat("cannot load the library beside this program: ", ::dlerror())};
}

}  // namespace glove::system_calls
