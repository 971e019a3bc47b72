// Launch files in TOML: the launches of one kernel, whether these fit it, and the lines of source that they
// name.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "glove_verify/launch.h"
#include "glove_verify/status.h"
#include "ptx/program.h"

namespace glove::verify {

// The launches of a file, at least one. Options (lockstep and the like) are the command line's affair.
Result<std::vector<Launch>> read_spec(const std::string& path);

// The kernels that a launch is for, by their places. An error if launch.kernel is no regular expression.
Result<std::vector<size_t>> matching_kernels(const Launch& launch, const Program& program);

// What is wrong in the text of a relation, and at which of its letters.
struct RelationError {
  size_t at = 0;
  std::string what;
};

// Reads the text of a relation, whose names are those of the launch's parameters.
std::optional<RelationError> read_relation(Relation* relation, const Launch& launch);
// Whether it holds in the launch's grid; nullopt if a parameter decides.
std::optional<bool> holds(const Relation& relation, const Launch& launch);

// Puts the parameters that the launch names by their index at their offsets, drops shared ones that the
// kernel lacks, with the relations that name them, takes its block from .maxntid if it has none, and reads
// the relations. An error if the kernel cannot have these blocks, lacks a parameter of the launch's own, or
// if a relation is wrong.
Status fit_launch(Launch* launch, const Kernel& kernel);

// Checks the parameters that the launches of a file share: one is wrong if no kernel that the file launches
// has it, as kernels with fewer parameters may stand beside others. Nothing is known if the kernel of a
// launch is not in this program.
Status check_shared_parameters(const std::vector<Launch>& launches, const Program& program);

// Finds the lines of source that launch files name. A comment marks the line at whose end it stands, or the
// first line of code below it:
//
//   // verify: lemma NAME
//   // verify: range NAME
//
// These are the marks in the sources that a program was compiled from.
class Marks {
 public:
  // Reads the sources at the paths that the program names or, where there is none, those of the same names
  // beside the PTX.
  explicit Marks(const Program& program);

  // Puts one lemma or range per marked line in the place of each that has a name. An error if no line has it.
  Status place(Launch* launch) const;

 private:
  void read(const std::string& source, const std::string& text);
  template <class Fact>
  Status place_all(std::vector<Fact>* facts, const std::string& kind, const std::string& launch_file) const;

  std::map<std::string, std::vector<MarkedLine>> lines_;  // by "lemma NAME" or "range NAME"
  std::vector<std::string> unread_;                       // sources that cannot be read
};

}  // namespace glove::verify
