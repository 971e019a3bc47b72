// Launch specs in TOML: the launches of one kernel, checked in beside it.
#pragma once

#include <string>
#include <vector>

#include "launch/spec.h"

namespace glove::verify {

// One `[[launch]]` of a file. Options that a launch sets (lockstep and the like) are the command line's
// affair.
struct SpecFile {
  std::vector<Launch> launches;
};

// Returns false and sets `error`, one sentence with the file and the line, if the file does not say what it
// must.
bool read_spec(const std::string& path, SpecFile* spec, std::string* error);

}  // namespace glove::verify
