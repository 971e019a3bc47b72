// Launch specs in TOML: the launches of one kernel, checked in beside it.
#pragma once

#include <string>
#include <vector>

#include "glove_verify/launch.h"
#include "glove_verify/status.h"

namespace glove::verify {

// The launches of a file, at least one. Options (lockstep and the like) are the command line's affair.
Result<std::vector<Launch>> read_spec(const std::string& path);

}  // namespace glove::verify
