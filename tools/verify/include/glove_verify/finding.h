// What glove-verify has to say about a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glove::verify {

// A line of the source.
struct SourceLine {
  std::string file;
  int line = 0;
  int column = 0;
};

// Where an instruction comes from: the innermost source line first, then the calls that were inlined.
struct Site {
  int ptx_line = 0;
  std::vector<SourceLine> chain;
};

// "file.cu:12", the innermost line that is not one of CUDA's headers; the PTX line where there is no source;
// empty if the site is none.
std::string name_of(const Site& site);
// Where that line stands in the chain. REQUIRES: the chain is not empty.
size_t own_line(const Site& site);

// What an access does to memory.
enum class AccessKind : uint8_t { kRead, kWrite, kAtomic };

// One thread's access to memory.
struct Access {
  AccessKind kind = AccessKind::kRead;
  bool asynchronous = false;  // a copy by cp.async, or what wgmma reads
  uint32_t block = 0;
  uint32_t thread = 0;
  Site site;
};

// What is wrong, or could not be decided.
enum class FindingKind {
  kRace,
  kSameValueRace,   // stores of equal values
  kMissingAcquire,  // a race that one fence behind what the reader has seen would end
  kDeadlock,
  kCount,
  kRecycling,
  kArriveOnly,
  kDivergence,
  kUndefinedRead,
  kBounds,
  kUnproved,
  kUnsupported,
};

// One defect, or one thing that could not be proved.
struct Finding {
  FindingKind kind = FindingKind::kUnproved;
  bool definite = false;  // happens in every run; else: for some contents of memory or parameters
  bool allowed = false;   // the caller takes it for no defect
  std::string message = {};
  bool has_example = false;  // the message ends with data or parameters for which it goes wrong
  Site site = {};
  Site other = {};                    // of the other thread; ptx_line 0: none
  std::vector<Access> accesses = {};  // of a race, both; else empty
  std::vector<std::string> explanation = {};
};

// As reports print it.
std::string_view name_of(FindingKind kind);
// "proved", "DEFECT", "could not prove" or "unsupported".
std::string_view name_of_exit_code(int code);
// "unsafe-recycling": as SARIF and options call it; and the reverse.
std::string rule_of(FindingKind kind);
std::optional<FindingKind> kind_of_rule(std::string_view rule);
// Whether --allow may take it for no defect.
bool may_be_allowed(FindingKind kind);
// A defect, and not merely something that could not be proved.
bool is_defect(FindingKind kind);

// The same, unless the caller has allowed it.
inline bool is_defect(const Finding& finding) {
  return is_defect(finding.kind) && !finding.allowed;
}

// The result for one launch of one kernel.
struct Verdict {
  std::string file;  // with the PTX
  std::string kernel;
  std::string shape;  // block, grid, what is fixed
  std::vector<Finding> findings;
  std::vector<std::string> assumptions;
  std::vector<std::string> uncovered;  // synchronising and memory instructions that no path reached
  bool every_grid = false;  // proved for all grids along the axes of the launch's, not for that one alone
  bool out_of_time = false;
  bool sampled = false;  // the data were random numbers, so that this is a test and no proof
  size_t paths = 0;
  size_t steps = 0;       // warp instructions
  double seconds = 0;     // of processor time, Z3's among it
  int exit_code() const;  // 0 proved, 1 defect, 2 could not prove, 3 unsupported
  // name_of_exit_code, or "no defect found" where that would be "proved" and the data were a sample.
  std::string_view name() const;
};

}  // namespace glove::verify
