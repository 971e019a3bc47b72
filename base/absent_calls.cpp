// What Linux alone does of base/system_calls.h and base/file_calls.h: the other systems cannot, or it is only
// a hint. macOS lets a thread name only itself.
#include <cerrno>

#include "base/concat.h"
#include "base/file_calls.h"
#include "base/system_calls.h"

namespace glove::system_calls {

void name_thread(std::thread& /*thread*/, const char* /*name*/) {}

bool allow_amx() {
  return false;
}

int64_t copy_range(int /*from*/, int64_t* /*from_offset*/, int /*to*/, int64_t* /*to_offset*/,
                   size_t /*bytes*/) {
  errno = ENOSYS;
  return -1;
}

int open_unnamed(const std::string& /*directory*/, mode_t /*mode*/) {
  errno = ENOSYS;
  return -1;
}

bool can_be_named(int /*descriptor*/) {
  return false;
}

bool give_name(int /*descriptor*/, const std::string& /*path*/) {
  errno = ENOSYS;
  return false;
}

void reserve(int /*descriptor*/, int64_t /*offset*/, int64_t /*bytes*/) {}

Status recode(const std::string& encoding, std::span<const std::string_view> /*words*/,
              std::string& /*bytes*/, std::vector<size_t>& /*ends*/) {
  return make_error(ErrorCode::kUnavailable, "words are converted from '", encoding,
                    "' on Linux only; convert the file to UTF-8 first");
}

void start_flush(int /*descriptor*/, int64_t /*offset*/, int64_t /*bytes*/) {}

}  // namespace glove::system_calls
