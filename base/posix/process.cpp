#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/posix/posix.h"
#include "base/system_calls.h"

namespace glove::system_calls {
namespace {

uintptr_t page_bytes() {
  return static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
}

std::atomic<PageRepair> g_repair{nullptr};
struct sigaction g_previous_action;

void call_previous(int number, siginfo_t* info, void* context) {
  if ((g_previous_action.sa_flags & SA_SIGINFO) != 0) {
    g_previous_action.sa_sigaction(number, info, context);
  } else if (g_previous_action.sa_handler != SIG_DFL && g_previous_action.sa_handler != SIG_IGN) {
    g_previous_action.sa_handler(number);
  } else {
    // Restores the default: the access is repeated on return and ends the process as it would have without
    // us.
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);
    if (info->si_code <= 0) ::raise(number);  // sent by kill(), so no access will be repeated
  }
}

void on_bus_error(int number, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const PageRepair repair = g_repair.load(std::memory_order_acquire);
  const bool repaired = info->si_code > 0 && repair(reinterpret_cast<uintptr_t>(info->si_addr));
  errno = saved_errno;
  if (!repaired) call_previous(number, info, context);
}

}  // namespace

int64_t process_number() {
  return ::getpid();
}

void at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) {
  ::pthread_atfork(before, in_parent, in_child);
}

SignalMask block_signals() {
  sigset_t blocked, saved;
  sigfillset(&blocked);
  // A blocked SIGBUS would end the process before its handler (on_bus_error) could run.
  for (const int own : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&blocked, own);
  pthread_sigmask(SIG_SETMASK, &blocked, &saved);
  SignalMask mask{};
  static_assert(sizeof saved <= sizeof mask.bytes);
  std::memcpy(mask.bytes.data(), &saved, sizeof saved);
  return mask;
}

void restore_signals(const SignalMask& mask) {
  sigset_t saved;
  std::memcpy(&saved, mask.bytes.data(), sizeof saved);
  pthread_sigmask(SIG_SETMASK, &saved, nullptr);
}

void advise_huge_pages(void* address, size_t bytes) {
#if defined(MADV_HUGEPAGE)
  ::madvise(address, bytes, MADV_HUGEPAGE);
#else
  (void)address;
  (void)bytes;
#endif
}

void advise_access(const void* address, size_t bytes, Access access) {
  const uintptr_t page = page_bytes();
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t end = (begin + bytes) / page * page;
  if (first < end)
    ::madvise(reinterpret_cast<void*>(first), end - first,
              access == Access::kScattered ? MADV_RANDOM : MADV_NORMAL);
}

void* map_file(int descriptor, size_t bytes) {
  void* const address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  return address == MAP_FAILED ? nullptr : address;
}

void unmap_file(void* address, size_t bytes) {
  ::munmap(address, bytes);
}

// A handler that others install later is left in place; it is responsible for calling ours.
void handle_page_errors(PageRepair repair) {
  g_repair.store(repair, std::memory_order_release);
  struct sigaction current {};
  ::sigaction(SIGBUS, nullptr, &current);
  const bool ours = (current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == on_bus_error;
  static bool installed = false;
  const bool is_default = (current.sa_flags & SA_SIGINFO) == 0 && current.sa_handler == SIG_DFL;
  if (ours || (installed && !is_default)) return;
  g_previous_action = current;
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
  installed = true;
}

bool map_zeros(uintptr_t address, uintptr_t /*begin*/, uintptr_t /*end*/) {
  const uintptr_t page = page_bytes();
  return posix::map_zero_page(address / page * page, page);
}

std::vector<std::string> program_arguments(int count, char** arguments) {
  return {arguments, arguments + count};
}

int terminal_columns() {
  const char* const terminal = std::getenv("TERM");
  if (::isatty(STDERR_FILENO) == 0 || terminal == nullptr || std::string_view(terminal) == "dumb") return 0;
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void on_request_to_end(void (*stop)(int)) {
  ::signal(SIGINT, stop);
  ::signal(SIGTERM, stop);
  // nohup ignores SIGHUP, and it must stay ignored.
  if (::signal(SIGHUP, stop) == SIG_IGN) ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace glove::system_calls
