#include "tests/sql/failing_allocator.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <sqlite3.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

namespace glove::testing {
namespace {

sqlite3_mem_methods sqlite_methods;
std::atomic<long> live{0};

// What fails now. `next` counts the allocations of the kind; the one that has the number `failing` fails.
struct Plan {
  std::atomic<bool> active{false};
  Allocations kind = Allocations::kSqlite;
  bool for_good = false;
  long failing = 0;
  std::atomic<long> next{0};
  std::atomic<bool> failed{false};
  std::vector<uint64_t>* stacks = nullptr;
};
Plan plan;

thread_local bool of_the_plan = false;  // this thread made the plan
thread_local bool of_the_test = false;

void note_stack() {
  static std::mutex mutex;
  const AllocationsOfTheTest own;
  void* frames[12];
  const int depth = backtrace(frames, 12);
  uint64_t stack = 0;
  for (int i = 0; i < depth; ++i)
    stack = (stack ^ reinterpret_cast<uintptr_t>(frames[i])) * 0x9E3779B97F4A7C15u;
  const std::lock_guard lock(mutex);
  plan.stacks->push_back(stack);
}

bool fails() {
  if (plan.stacks != nullptr) note_stack();
  const long number = plan.next.fetch_add(1, std::memory_order_relaxed);
  if (plan.for_good ? number < plan.failing : number != plan.failing) return false;
  plan.failed = true;
  return true;
}

bool sqlite_fails() {
  return plan.active && !of_the_test && plan.kind == Allocations::kSqlite && fails();
}

// For every other allocation, those by which SQLite's own methods get memory included.
bool system_fails() {
  if (!plan.active.load(std::memory_order_acquire) || of_the_test || plan.kind == Allocations::kSqlite)
    return false;
  return (plan.kind == Allocations::kProcess || of_the_plan) && fails();
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kReplacesMalloc = false;
#else
constexpr bool kReplacesMalloc = true;
#endif

bool method_fails() {
  return sqlite_fails() || (!kReplacesMalloc && system_fails());
}

void* failing_malloc(int size) {
  if (method_fails()) return nullptr;
  void* const memory = sqlite_methods.xMalloc(size);
  if (memory != nullptr) ++live;
  return memory;
}

void* failing_realloc(void* memory, int size) {
  return method_fails() ? nullptr : sqlite_methods.xRealloc(memory, size);
}

void counting_free(void* memory) {
  if (memory != nullptr) --live;
  sqlite_methods.xFree(memory);
}

}  // namespace

bool install_failing_allocator() {
  static const bool installed = [] {
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_methods) != SQLITE_OK) return false;
    sqlite3_mem_methods methods = sqlite_methods;
    methods.xMalloc = failing_malloc;
    methods.xRealloc = failing_realloc;
    methods.xFree = counting_free;
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK &&
           sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) == SQLITE_OK && sqlite3_initialize() == SQLITE_OK;
  }();
  return installed;
}

long live_sqlite_allocations() {
  return live;
}

FailingAllocations::FailingAllocations(Allocations kind, long succeed, bool for_good) {
  plan.kind = kind;
  plan.for_good = for_good;
  plan.failing = succeed;
  plan.next = 0;
  plan.failed = false;
  of_the_plan = true;
  plan.active.store(true, std::memory_order_release);
}

void FailingAllocations::finish() {
  if (!of_the_plan) return;
  plan.active = false;
  plan.stacks = nullptr;
  of_the_plan = false;
  failed_ = plan.failed;
  count_ = plan.next;
}

void FailingAllocations::collect_stacks(std::vector<uint64_t>& stacks) {
  const AllocationsOfTheTest own;
  void* frame = nullptr;
  backtrace(&frame, 1);  // loads a library the first time
  plan.stacks = &stacks;
}

AllocationsOfTheTest::AllocationsOfTheTest() : before_(std::exchange(of_the_test, true)) {}

AllocationsOfTheTest::~AllocationsOfTheTest() {
  of_the_test = before_;
}

// Where the thread-local variables of a library get memory at their first use, glibc's loader ends the
// process if there is none, which no library can prevent. It takes that from malloc() and realloc(), whose
// `caller` then is in the loader; a thread that cannot start for want of memory comes by calloc(), and is an
// ordinary error.
bool of_the_loader([[maybe_unused]] const void* caller) {
#ifdef __GLIBC__
  Dl_info place{};
  return dladdr(caller, &place) != 0 && std::strstr(place.dli_fname, "/ld-linux") != nullptr;
#else
  return false;
#endif
}

bool allocation_fails(const void* caller = nullptr) {
  return system_fails() && !(caller != nullptr && of_the_loader(caller));
}

}  // namespace glove::testing

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

// A sanitizer's forms do not call these, so that all are needed.
namespace glove::testing {

void* memory_of(size_t size, size_t alignment = alignof(std::max_align_t)) noexcept {
  void* memory = nullptr;
  return !allocation_fails() && posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

void* checked(void* memory) {
  return memory != nullptr ? memory : throw std::bad_alloc();
}

}  // namespace glove::testing

using glove::testing::checked;
using glove::testing::memory_of;
using Alignment = std::align_val_t;
using Nothrow = std::nothrow_t;

// clang-format off
void* operator new(size_t size) { return checked(memory_of(size)); }
void* operator new[](size_t size) { return checked(memory_of(size)); }
void* operator new(size_t size, const Nothrow&) noexcept { return memory_of(size); }
void* operator new[](size_t size, const Nothrow&) noexcept { return memory_of(size); }
void* operator new(size_t size, Alignment to) { return checked(memory_of(size, static_cast<size_t>(to))); }
void* operator new[](size_t size, Alignment to) { return checked(memory_of(size, static_cast<size_t>(to))); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const Nothrow&) noexcept { std::free(memory); }
void operator delete[](void* memory, const Nothrow&) noexcept { std::free(memory); }
void operator delete(void* memory, Alignment) noexcept { std::free(memory); }
void operator delete[](void* memory, Alignment) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, Alignment) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, Alignment) noexcept { std::free(memory); }
// clang-format on

#else

// Take the place of the C library's for SQLite, for the extension and for C++'s operator new in either.
// NOLINTBEGIN(bugprone-reserved-identifier): glibc's names
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) noexcept {
  return glove::testing::allocation_fails(__builtin_return_address(0)) ? nullptr : __libc_malloc(size);
}
void* calloc(size_t count, size_t size) noexcept {
  return glove::testing::allocation_fails() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) noexcept {
  return glove::testing::allocation_fails(__builtin_return_address(0)) ? nullptr
                                                                       : __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return glove::testing::allocation_fails() ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  void* const made = glove::testing::allocation_fails() ? nullptr : __libc_memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}
}
// NOLINTEND(bugprone-reserved-identifier)

#endif
