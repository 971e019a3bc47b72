// Verdicts for programs: JSON, and SARIF 2.1.0 for viewers of code reviews.
#pragma once

#include <string>
#include <vector>

#include "report/finding.h"

namespace glove::verify {

// {"verdicts": [{"file", "kernel", "verdict", "exit_code", "shape", "seconds", "warp_instructions", "paths",
// "findings", "assumptions", "not_reached"}]}; README.md describes the fields.
std::string json_of(const std::vector<Verdict>& verdicts);
// A log with one run, and one result per finding. `all_read`: whether every file and kernel asked for was
// found.
std::string sarif_of(const std::vector<Verdict>& verdicts, bool all_read);

}  // namespace glove::verify
