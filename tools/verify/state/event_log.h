// What the paths of the blocks did at places in global memory that some thread may wait for, and their waits.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "memory/access.h"

namespace glove::verify {

// Bytes in a buffer of global memory.
struct MemorySpan {
  SymbolId object = 0;  // 0: shared memory, or not known
  Interval bytes;
  bool somewhere = false;  // in these bytes, and not all of them
  bool operator==(const MemorySpan&) const = default;
  auto key() const { return std::tuple(object, bytes.lo, bytes.hi, somewhere); }
};

// What lets a thread out of a loop in which it waits.
struct WaitCause {
  enum Kind : uint8_t {
    kNumber,   // the span holds at least so much, or exactly so much
    kAlways,   // the loop itself brings it
    kUnclear,  // something that depends on the span
  } kind = kUnclear;
  MemorySpan span;  // object 0: not known
  uint64_t number = 0;
  bool exactly = false;
  bool operator==(const WaitCause&) const = default;
};

// A change that is certain to happen on its path, or a wait.
struct ProgressEvent {
  enum Kind : uint8_t { kAdd, kStore, kOther, kWait } kind = kOther;
  bool certain = true;       // of a wait
  bool whole_block = false;  // of a wait: all threads of the block wait
  uint32_t before = 0;       // the path's event before it; 0: none
  uint32_t wait_before = 0;  // the path's last wait before it
  uint32_t block = 0;
  uint32_t thread = 0;
  uint32_t epoch = 0;
  uint32_t instruction = 0;
  MemorySpan span;
  uint64_t number = 0;            // that is added or stored
  uint64_t limit = ~uint64_t{0};  // a counter begins anew behind this number
  std::vector<WaitCause> causes;
  std::vector<uint32_t> after;  // the path's waits that have ended before
};

// A change that may or may not happen.
struct PossibleChange {
  MemorySpan span;
  bool adds = false;
  bool operator<(const PossibleChange& other) const {
    return std::pair(span.key(), adds) < std::pair(other.span.key(), other.adds);
  }
};

// The events of a run. Event 0 stands for none.
struct EventLog {
  struct End {
    uint32_t last;                // event of a path
    std::set<PredicateId> facts;  // that hold on it and are the same for all blocks
  };
  std::vector<ProgressEvent> events = std::vector<ProgressEvent>(1);
  std::set<PossibleChange> possible;
  std::map<uint32_t, std::vector<End>> ends;             // by block
  std::vector<std::pair<uint32_t, uint32_t>> instances;  // (a, b): path b goes on exactly as path a did
  bool complete = true;                                  // no path has ended with a defect
};

}  // namespace glove::verify
