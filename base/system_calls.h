// What each operating system does in its own way. system_calls_linux.cpp and system_calls_macos.cpp implement
// it. Besides them only cpu/kernels/kernels.cpp asks for the system, to find out what the processor can do.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

namespace glove::system_calls {

// Returns a number that no other living thread of the process has.
uint32_t thread_number();

// Names a thread for debuggers and top(1), where the system lets one thread name another. At most 15 bytes.
void name_thread(std::thread& thread, const char* name);

// Returns the number of cores that this process may use, by its affinity and quota. At least 1.
int usable_cores();

// Fills a buffer with random bytes. Returns false if the system has none.
bool fill_randomly(void* buffer, size_t bytes);

// Copies bytes between files without a buffer, as copy_file_range(2) does, and moves both offsets. Returns
// the number of bytes, or -1 if the system cannot.
ssize_t copy_file_range(int from, off_t* from_offset, int to, off_t* to_offset, size_t bytes);

// Opens a file without a name in a directory for reading and writing. Returns -1 and sets errno if the system
// cannot.
int open_unnamed(const std::string& directory, mode_t mode);

// Returns a path by which linkat(2) can give an open unnamed file a name.
std::string linkable_path(int descriptor);

// Reserves space for a range of a file, and starts writing a range to the disk. Both are hints.
void reserve(int descriptor, off_t offset, off_t bytes);
void start_flush(int descriptor, off_t offset, off_t bytes);

// Copies the access control list of `from` to `to`, or removes it if `from` has none, because `to` may have
// inherited one from its directory. Returns false if that is not possible.
bool copy_access_control_list(const std::string& from, int to);

// Maps a page of zeros over the page at `address`. May be called by a signal handler.
bool map_zero_page(uintptr_t address, size_t bytes);

// Keeps the library that contains `address` mapped until the process ends, also after dlclose(). On Linux the
// linker has marked the library so.
void keep_mapped(const void* address);

// When the content and the inode of a file last changed, in nanoseconds since 1970.
int64_t modified_at(const struct stat& info);
int64_t changed_at(const struct stat& info);

}  // namespace glove::system_calls
