// Allocations that fail: of SQLite, of C and of C++, for programs that load the extension.
//
// The program must link failing_allocator.cpp, which takes the place of malloc() and its relatives or, under
// a sanitizer, which has a malloc() of its own, of operator new.
#pragma once

#include <cstdint>
#include <vector>

namespace glove::testing {

enum class Allocations {
  kSqlite,   // what SQLite's methods allocate, for the extension as well
  kThread,   // those, and everything else that the calling thread allocates
  kProcess,  // everything
};

// Puts methods that can fail between SQLite and its own, and switches its lookaside memory off, so that every
// allocation reaches them. Must be called before SQLite is used; later calls do nothing. Returns false if
// SQLite refuses.
bool install_failing_allocator();

// How many allocations of SQLite are live.
long live_sqlite_allocations();

// From its construction until finish() or its destruction: `succeed` allocations of the kind succeed, and
// then one fails, or each. One object at a time.
class FailingAllocations {
 public:
  FailingAllocations(Allocations kind, long succeed, bool for_good = false);
  ~FailingAllocations() { finish(); }
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  void finish();
  // After finish(): whether an allocation failed, and how many there were.
  bool failed() const { return failed_; }
  long count() const { return count_; }
  // Collects a number per allocation that is the same for equal stacks of calls, as deep as 12 functions.
  void collect_stacks(std::vector<uint64_t>& stacks);

 private:
  bool failed_ = false;
  long count_ = 0;
};

// While it lives, allocations of this thread neither fail nor count: for what a test does in a callback.
class AllocationsOfTheTest {
 public:
  AllocationsOfTheTest();
  ~AllocationsOfTheTest();
  AllocationsOfTheTest(const AllocationsOfTheTest&) = delete;
  AllocationsOfTheTest& operator=(const AllocationsOfTheTest&) = delete;

 private:
  bool before_;
};

}  // namespace glove::testing
