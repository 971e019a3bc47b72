// What each operating system does in its own way: threads, memory, the process and its terminal. The build
// takes the implementation from base/posix/ (Linux, macOS and WebAssembly) or base/windows/; no other folder
// asks for the system.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/status.h"

namespace glove::system_calls {

// Returns a number that no other living process has; a forked child has another one than its parent.
int64_t process_number();

// Calls the functions before each fork(), and after it in the parent and in the child, where the system has
// fork(). Each may be null.
void at_fork(void (*before)(), void (*in_parent)(), void (*in_child)());

// Returns a number that no other living thread of the process has.
uint32_t thread_number();

// Names a thread for debuggers and top(1), where the system lets one thread name another. At most 15 bytes.
void name_thread(std::thread& thread, const char* name);

// The signals that a thread has blocked, as the system stores them.
struct SignalMask {
  alignas(8) std::array<unsigned char, 128> bytes;
};

// Blocks all signals of the calling thread, except those that it raises by its own actions. Returns the mask
// of before, for restore_signals(). Both do nothing where threads are not interrupted by signals.
SignalMask block_signals();
void restore_signals(const SignalMask& mask);

// Returns the number of cores that this process may use, by its affinity and quota. At least 1.
int usable_cores();

// Asks for the tile registers of AMX, which the system saves for a process only on request. Returns false
// where it does not know them.
bool allow_amx();

// Fills a buffer with random bytes. Returns false if the system has none.
bool fill_randomly(void* buffer, size_t bytes);

// Advises the system to use huge pages for memory that begins at a multiple of their size.
void advise_huge_pages(void* address, size_t bytes);

// Advises the system how bytes of a mapped file will be read: scattered, so that reading ahead is of no use,
// or in any other way. Affects whole pages inside the range only.
enum class Access { kNormal, kScattered };
void advise_access(const void* address, size_t bytes, Access access);

// Maps an open file of `bytes` bytes for reading. Returns null and sets errno if the system cannot.
void* map_file(int descriptor, size_t bytes);
void unmap_file(void* address, size_t bytes);

// Calls `repair` with the address when a page of a mapped file cannot be read. If it returns true the read is
// repeated, otherwise the error goes to the handler that was installed before. `repair` may run on any thread
// in the middle of any function (a signal handler), so it may only use atomics and map_zeros(). May be called
// again: installs the handler again if the host has restored the system's default.
using PageRepair = bool (*)(uintptr_t address);
void handle_page_errors(PageRepair repair);

// Replaces the page at `address` of a mapped file with zeros, or the whole map [begin, end) where the system
// does not replace single pages. Returns false if that is not possible.
bool map_zeros(uintptr_t address, uintptr_t begin, uintptr_t end);

// Keeps the library that contains `address` mapped until the process ends, also after it has been closed. On
// Linux the linker has marked the library so.
void keep_mapped(const void* address);

// Returns the arguments of the program in UTF-8, the program's name first.
std::vector<std::string> program_arguments(int count, char** arguments);

// Returns the number of columns of the terminal that shows standard error, or 0 if it cannot redraw a line.
int terminal_columns();

// Calls `stop` when the user or the system asks the program to end, and turns the signal for a file that is
// too large into an error of the write.
void on_request_to_end(void (*stop)(int));

// Returns the path of the library or program that contains `address`, or "" if the system does
// not tell it.
std::string library_of(const void* address);

// Converts words from an encoding of the C library, such as "gbk", to UTF-8, and appends them to `bytes` and
// their ends to `ends`. Each byte that the encoding has no character for becomes FF, which is not valid
// UTF-8.
Status recode(const std::string& encoding, std::span<const std::string_view> words, std::string& bytes,
              std::vector<size_t>& ends);

// Loads a library for the rest of the process, and returns the address of a function in it. A name without a
// folder is looked for where the system's libraries are (on Windows not in the current folder, nor in
// %PATH%).
Result<void*> library_function(const std::string& path, const char* function);

// The same for the library "NAME.so" (or what the system calls it) in the folder that the running program
// lies in.
Result<void*> function_beside_program(const char* name, const char* function);

}  // namespace glove::system_calls

namespace glove {

// Keeps the host's signal handlers off the library's threads. Hold one while starting a thread, which
// inherits the mask. Signals that a thread raises by its own actions stay unblocked.
class BlockedSignals {
 public:
  BlockedSignals() = default;
  ~BlockedSignals() { system_calls::restore_signals(saved_); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  const system_calls::SignalMask saved_ = system_calls::block_signals();
};

}  // namespace glove
