// How each operating system names, opens and replaces files. base/posix/ and base/windows/ implement it.
// Paths are UTF-8 on Windows, and plain bytes elsewhere. A function that fails returns -1, false or nullopt,
// and sets errno.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace glove::system_calls {

// What an open file or the file at a path is.
struct FileStatus {
  enum class Kind { kRegular, kDirectory, kPipe, kOther };
  Kind kind = Kind::kOther;
  int64_t bytes = 0;
  int64_t modified = 0;  // when the content last changed, in nanoseconds since 1970
  int64_t changed = 0;   // the same for the content or anything else, such as a name
  int64_t names = 0;     // how many paths lead to it
  uint64_t device = 0;   // of a path: these two tell the file from every other one
  uint64_t number = 0;
  uint32_t mode = 0;  // these three as POSIX has them; 0 elsewhere
  uint32_t owner = 0;
  uint32_t group = 0;
};

// Follows symbolic links.
std::optional<FileStatus> status_of(const std::string& path);
std::optional<FileStatus> status_of(int descriptor);
bool is_readable(const std::string& path);
bool is_link(const std::string& path);

// Returns the path without links and dots, of a file or folder that exists.
std::optional<std::string> resolved_path(const std::string& path);

// The characters that separate the parts of a path; the first one is used to join them.
extern const std::string_view kPathSeparators;
// Returns the number of bytes of the root that a path begins with: "/", or "C:\" on Windows; 0 for a relative
// path.
size_t root_bytes(std::string_view path);

// Returns the folder for temporary files, and the value of an environment variable in the encoding of paths.
std::string temporary_folder();
std::optional<std::string> environment(const char* name);

// Returns the system's reason for an error: "No such file or directory".
std::string error_text(int error);

// Opens a file for reading. A pipe without a writer is opened at once.
int open_for_reading(const std::string& path);
// Creates a file that does not exist, for reading and writing.
int create_new(const std::string& path, mode_t mode);
// Opens a file without a name in a directory for reading and writing.
int open_unnamed(const std::string& directory, mode_t mode);
// Whether give_name() can give an unnamed file a name, which requires /proc on Linux.
bool can_be_named(int descriptor);
bool give_name(int descriptor, const std::string& path);
void close(int descriptor);

// Returns the number of bytes that were read or written, which may be fewer than `bytes`; 0 at the end of the
// file.
int64_t read_at(int descriptor, void* into, size_t bytes, int64_t offset);
int64_t write_at(int descriptor, const void* from, size_t bytes, int64_t offset);
bool resize(int descriptor, int64_t bytes);
bool flush_to_disk(int descriptor);

// Copies bytes between files without a buffer, and moves both offsets. Returns the number of bytes, or -1 if
// the system cannot.
int64_t copy_range(int from, int64_t* from_offset, int to, int64_t* to_offset, size_t bytes);

// Reserves space for a range of a file, and starts writing a range to the disk. Both are hints.
void reserve(int descriptor, int64_t offset, int64_t bytes);
void start_flush(int descriptor, int64_t offset, int64_t bytes);

// Gives an open file the mode and the access control list of the file at `path`, whose status is `of`, and as
// much of its owner and group as this process may set. If the group cannot be kept, the group gets no more
// rights than others have. On Windows a file has the rights that its folder gives to new files, and this does
// nothing.
bool take_over_attributes(const std::string& path, const FileStatus& of, int descriptor);

// Removes a name of a file, which may be open.
bool remove(const std::string& path);
// Moves a file into the place of another one in a single step. Windows does not replace a file that is mapped
// or open: there the old one is renamed first, and removed when nothing uses it, or by the next replacement
// in its folder.
bool replace(const std::string& from, const std::string& to);
// Makes a replacement in a directory survive a power failure.
bool flush_directory(const std::string& directory);

}  // namespace glove::system_calls
