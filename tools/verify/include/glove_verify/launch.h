// How a kernel is launched: what the command line or a .launch.toml file fixes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "glove_verify/finding.h"

namespace glove::verify {

// Bytes of shared memory, static and dynamic, that a block can have on any GPU.
constexpr uint64_t kMostBlockShared = 227 * 1024;

// Blocks that a cluster can have; more than 8 are not portable.
constexpr uint64_t kMostClusterBlocks = 16;

// What a launch says of one parameter, or of a part of one.
struct ParameterValue {
  uint64_t offset = 0;          // of the kernel's parameters; with an index, of that one
  std::optional<size_t> index;  // the parameter, counted from 0; verify() puts it into `offset`
  uint64_t bytes = 0;           // of the value; 0: as many as the parameter has
  uint64_t value = 0;           // of a number
  std::string name;             // of a number that may be any, as relations call it; else empty
  bool is_signed = false;       // that number
  bool is_buffer = false;
  std::string buffer;         // its name
  uint64_t buffer_bytes = 0;  // 0: unknown
  bool zeroed = false;
  bool distinct_pointers = false;  // the pointers that it holds are declared to point to buffers of their own
  std::string distinct;  // the numbers that it holds, which are declared to be distinct; empty: nothing is
  // They grow from the buffer's beginning, or do not shrink, and none is negative; this is declared, too.
  bool sorted = false, increasing = false;
  uint64_t every = 4;  // bytes from one of these to the next
  int line = 0;        // of the launch file
  bool own = false;    // the launch's alone, and not what several launches of the file share
};

// The source line that a declared fact is about. A launch file may give its name in a comment instead, in
// place of which read_launches() puts the lines of that name.
struct MarkedLine {
  std::string name;
  std::string file;  // the end of its path
  int line = 0;
  int declared_at = 0;  // line of the launch file
};

// A fact about the program that is declared and not proved: accesses of these lines do not meet.
struct Lemma {
  MarkedLine at;
  std::string reason;
};

// A fact about the data that is declared and not proved: what a load of this line returns lies in the range.
struct DataRange {
  MarkedLine at;
  int64_t least = 0;
  int64_t most = 0;
  std::string reason;
};

// A relation between parameters and the sizes of block and grid that is declared and not proved, such as
// "w >= 32 * grid_x". Only the text is to be given; verify() reads it.
struct Relation {
  // A size of the grid, or bytes of the kernel's parameters.
  struct Unknown {
    std::optional<size_t> axis = {};
    uint64_t offset = 0;
    unsigned bytes = 4;
    bool is_signed = false;
  };
  struct Product {
    int64_t factor = 1;
    std::vector<Unknown> unknowns;  // two of 32 bits, or one, or none
  };

  std::string text;
  int line = 0;                                // of the launch file; 0: none
  int column = 0;                              // of the text's first letter
  std::vector<Product> left = {}, right = {};  // sums
  std::string compare = {};
};

// One launch of a kernel. What is not fixed may have any value.
struct Launch {
  std::string file;  // that it comes from
  std::string name;
  std::string kernel;                           // a regular expression for the kernel's name
  std::array<uint32_t, 3> block = {0, 0, 0};    // 0: from .maxntid
  std::array<uint32_t, 3> grid = {1, 1, 1};     // of one block: of one cluster
  std::array<uint32_t, 3> cluster = {0, 0, 0};  // blocks of a cluster; 0: from .reqnctapercluster, or none
  std::optional<uint64_t> dynamic_shared;
  bool constants = false;  // constant memory is declared to hold its initial values
  std::vector<ParameterValue> parameters;
  std::vector<Lemma> lemmas;
  std::vector<DataRange> ranges;
  std::vector<Relation> relations;
};

// What a run looks for, and for how long.
struct Options {
  bool shared_only = false;
  bool lockstep = false;
  bool strict_barriers = false;
  bool strict_exits = false;  // a thread that has left the kernel is missed at barriers
  bool allow_undefined = false;
  bool volatile_shared_strong = false;
  bool volatile_global_strong = true;
  double time_limit = 60;                 // seconds of processor time
  uint64_t memory_limit = 0;              // bytes of the process; 0: three quarters of the machine's memory
  std::vector<FindingKind> allowed = {};  // that are no defects
  size_t most_steps = SIZE_MAX;  // warp instructions; ends a search at the same place on every machine
  size_t most_findings = 64;
  // Instead of any data: numbers that this seed decides in memory that nobody writes and in 32-bit parameters
  // that the launch leaves open.
  std::optional<uint64_t> data_seed;
  bool every_grid = false;     // tries to prove the kernel for all grids first, however small the grid
  bool solver = true;          // asks Z3 what it cannot decide itself, if the build has it
  bool name_all_data = false;  // also what arithmetic in floats makes of data, to see equal values
};

}  // namespace glove::verify
