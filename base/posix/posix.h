// What Linux, macOS and WebAssembly do differently, of what base/posix/ implements for all of them.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace glove::posix {

inline int64_t nanoseconds(const struct timespec& time) {
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// When the content and the inode of a file last changed, in nanoseconds since 1970.
int64_t modified_at(const struct stat& info);
int64_t changed_at(const struct stat& info);

// Copies the access control list of `from` to `to`, or removes it if `from` has none, because `to` may have
// inherited one from its directory. Returns false if that is not possible.
bool copy_access_control_list(const std::string& from, int to);

// Maps a page of zeros over the page at `address`. May be called by a signal handler.
bool map_zero_page(uintptr_t address, size_t bytes);

// What the names of libraries end with.
extern const char* const kLibrarySuffix;

// Returns the path of the running program, or "" if the system does not tell it.
std::string program_path();

}  // namespace glove::posix
