// Finds the lines of source that launch files name. A comment marks the line at whose end it stands, or the
// first line of code below it:
//
//   // verify: lemma NAME
//   // verify: range NAME
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "glove_verify/launch.h"
#include "glove_verify/status.h"
#include "ptx/program.h"

namespace glove::verify {

// The marks in the sources that a program was compiled from.
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
