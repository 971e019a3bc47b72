// What a run finds and assumes, and when it ends.
#pragma once

#include <set>
#include <string>

#include "glove_verify/finding.h"
#include "state/learned.h"
#include "state/setup.h"

namespace glove::verify {

// Why no more instructions are run. Whoever calls what may end looks at it first.
enum class Ended : uint8_t {
  kNot,
  kPath,     // with a defect, or unproved
  kCovered,  // the path goes on as another one did
  kRun,      // nothing more can be said about the kernel
  kAgain,    // what was taken to be so turned out not to be: the run begins again
};

// Collects findings and assumptions. After the end, nothing is added.
class Reporter {
 public:
  Reporter(const Setup& setup, Effort& effort) : setup_(setup), effort_(effort) {}

  // Adds a finding, once per kind and places. state: whose path decides it; null: none does. Returns the
  // finding, or null if it is known. The run ends with the last one that is asked for.
  Finding* find(FindingKind kind, bool definite, const Instruction& in, const Instruction* other,
                std::string message, const BlockState* state);
  // Ends the path, or the run.
  void unproved(const Instruction& in, const std::string& reason, const BlockState* state);
  void unsupported(const Instruction& in, const std::string& reason);
  void end_path(bool covered = false);
  void begin_again();
  // One more step of the search. Returns false if it has ended, or ends here for want of time.
  bool tick();
  Ended why_ended() const { return ended_; }
  bool ended() const { return ended_ != Ended::kNot; }
  // The next path begins.
  void go_on() { ended_ = Ended::kNot; }

  void assume(const std::string& what);
  void reach(int pc) { effort_.executed[static_cast<size_t>(pc)] = true; }
  // The verdict so far.
  Verdict verdict() const;

 private:
  void add_uncovered(Verdict& verdict) const;

  const Setup& setup_;
  Effort& effort_;
  Ended ended_ = Ended::kNot;
  bool out_of_time_ = false;
  std::vector<Finding> findings_;
  std::set<std::string> found_;  // to say each thing once
  std::set<std::string> assumptions_;
};

}  // namespace glove::verify
